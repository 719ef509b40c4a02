// What a command is checked for by itself, before the session that it is about is loaded.
//
//   RETURN_IF_ERROR(CheckCommand(secrets, command));
#ifndef HOLDFAST_SESSION_CHECK_COMMAND_H_
#define HOLDFAST_SESSION_CHECK_COMMAND_H_

#include "session/reasons.h"
#include "session/refusal.h"
#include "session/secrets/secret_check.h"
#include "session/secrets/secret_scan.h"
#include "session/validate.h"

#include "absl/status/status.h"

namespace holdfast {

// True when the field that `refusal` names contains a secret: the field of an attribute contains
// its key, which a client chooses.
bool NamesSecret(const SecretScanner& secrets, const absl::Status& refusal);

// Counts and sizes come first: what is over a limit is not searched for secrets. TOO_LARGE as
// Validate; then SECRET_LEAK and MALFORMED_SECRET_REFERENCE as CheckSecrets, whatever else is wrong
// with the command; then INVALID_FIELD as Validate.
template <typename Command>
absl::Status CheckCommand(const SecretScanner& secrets, const Command& command) {
  absl::Status valid = Validate(command);
  if (Is(valid, Reason::kTooLarge) && !NamesSecret(secrets, valid)) return valid;
  absl::Status clean = CheckSecrets(secrets, command);
  return clean.ok() ? valid : clean;
}

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_CHECK_COMMAND_H_
