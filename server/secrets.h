// The secrets that an operator has named: from references in the configuration to values, and from
// values and patterns to a scanner.
#ifndef HOLDFAST_SERVER_SECRETS_H_
#define HOLDFAST_SERVER_SECRETS_H_

#include "server/config.h"
#include "server/secret.h"
#include "session/secrets/secret_scan.h"

#include "absl/status/statusor.h"

#include <memory>
#include <string>
#include <vector>

namespace holdfast {

// Why `text` is no reference to a secret, empty if it is one: `env:NAME`, or `file:PATH` with an
// absolute path. Never says what `text` is, for it may be the secret itself.
std::string ReferenceProblem(const std::string& text);

// Why `pattern` cannot be looked for, empty if it can: RE2's syntax on bytes.
std::string PatternProblem(const std::string& pattern);

// The value behind a valid reference. A file's value ends before its last line break.
// INVALID_ARGUMENT when there is none, or it is shorter or longer than a secret may be.
absl::StatusOr<Secret> ReadSecret(const std::string& reference);

// The same for a password, which may be as short as its owner likes but not empty.
absl::StatusOr<Secret> ReadPassword(const std::string& reference);

// Finds every value, as it is and as JSON writes it, and whatever matches a pattern.
// INVALID_ARGUMENT for a pattern that is none.
absl::StatusOr<std::unique_ptr<SecretScanner>> MakeSecretScanner(
    const std::vector<Secret>& values, const std::vector<std::string>& patterns);

// Reads the values that `config` refers to and makes their scanner. INVALID_ARGUMENT with one line
// per value that cannot be had, each with its place in the file.
absl::StatusOr<std::unique_ptr<SecretScanner>> LoadSecrets(const SecretsConfig& config);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SECRETS_H_
