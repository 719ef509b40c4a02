#include "server/secrets.h"

#include "platform/status_macros.h"
#include "server/quantities.h"
#include "session/limits.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <re2/re2.h>
#include <string_view>
#include <system_error>
#include <utility>

namespace holdfast {
namespace {

constexpr std::string_view kVariable = "env:";
constexpr std::string_view kFile = "file:";
// Of one expression for all known values, which are at most kKnownSecretsMost * kSecretBytesMost.
constexpr int64_t kValuesMemory = int64_t{64} * 1024 * 1024;

// On bytes, for content need not be text; and silent, for what it complains about is a secret.
RE2::Options OptionsOnBytes() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  options.set_never_capture(true);
  return options;
}

bool IsVariableName(std::string_view name) {
  const auto fits = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  return !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name.front())) &&
         std::ranges::all_of(name, fits);
}

// The forms in which content may hold `value`.
std::vector<std::string> FormsOf(const std::string& value) {
  std::vector<std::string> forms = {value};
  for (const bool ascii : {false, true}) {
    const std::string quoted =
        nlohmann::json(value).dump(-1, ' ', ascii, nlohmann::json::error_handler_t::ignore);
    const std::string inside = quoted.substr(1, quoted.size() - 2);
    if (inside.size() >= kSecretBytesLeast && std::ranges::find(forms, inside) == forms.end()) {
      forms.push_back(inside);
    }
  }
  return forms;
}

// RE2 reads each byte once and never goes back, whatever it looks for.
class ExpressionScanner final : public SecretScanner {
 public:
  ExpressionScanner(std::vector<std::unique_ptr<RE2>> expressions, size_t longest)
      : expressions_(std::move(expressions)), longest_(longest) {}

  [[nodiscard]] std::optional<size_t> Find(std::string_view bytes) const override {
    std::optional<size_t> first;
    const re2::StringPiece text(bytes.data(), bytes.size());
    for (const auto& expression : expressions_) {
      re2::StringPiece found;
      const size_t end = bytes.size();
      if (!expression->Match(text, 0, end, RE2::UNANCHORED, &found, 1)) continue;
      const auto at = static_cast<size_t>(found.data() - bytes.data());
      first = std::min(at, first.value_or(at));
    }
    return first;
  }
  [[nodiscard]] size_t LongestBytes() const override { return longest_; }

 private:
  const std::vector<std::unique_ptr<RE2>> expressions_;
  const size_t longest_;
};

absl::StatusOr<std::string> ReadVariable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return absl::InvalidArgumentError("the variable " + name + " is not set");
  return std::string(value);
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string value(kSecretBytesMost + 2, '\0');  // one more than the longest with a line break
  file.read(value.data(), static_cast<std::streamsize>(value.size()));
  if (file.bad() || (!file && !file.eof())) {
    return absl::InvalidArgumentError("the file " + path +
                                      " cannot be read: " + std::generic_category().message(errno));
  }
  value.resize(static_cast<size_t>(file.gcount()));
  if (value.ends_with('\n')) value.pop_back();
  if (value.ends_with('\r')) value.pop_back();
  return value;
}

// The value behind a reference, of at least `least` bytes.
absl::StatusOr<Secret> ReadValue(const std::string& reference, size_t least) {
  if (const std::string problem = ReferenceProblem(reference); !problem.empty()) {
    return absl::InvalidArgumentError(problem);
  }
  const bool variable = reference.starts_with(kVariable);
  const std::string name = reference.substr((variable ? kVariable : kFile).size());
  ASSIGN_OR_RETURN(std::string value, variable ? ReadVariable(name) : ReadFile(name));
  if (value.size() < least || value.size() > kSecretBytesMost) {
    return absl::InvalidArgumentError("the value of " + reference + " must have " +
                                      std::to_string(least) + " to " +
                                      std::to_string(kSecretBytesMost) + " bytes");
  }
  return Secret(std::move(value));
}

}  // namespace

std::string ReferenceProblem(const std::string& text) {
  const std::string_view view = text;
  if (view.starts_with(kVariable) && IsVariableName(view.substr(kVariable.size()))) return "";
  if (view.starts_with(kFile) && view.substr(kFile.size()).starts_with('/')) return "";
  return "must be env:NAME, or file:PATH with an absolute path; a secret itself does not belong "
         "here";
}

std::string PatternProblem(const std::string& pattern) {
  if (pattern.size() > kSecretPatternBytes) {
    return "is longer than " + SizeText(kSecretPatternBytes);
  }
  const RE2 expression(pattern, OptionsOnBytes());
  if (!expression.ok()) return "is no pattern: " + expression.error();
  for (const char* innocent : {"", "a", " "}) {
    if (RE2::PartialMatch(innocent, expression)) return "matches every text, or nearly every one";
  }
  return "";
}

absl::StatusOr<Secret> ReadSecret(const std::string& reference) {
  return ReadValue(reference, kSecretBytesLeast);
}

absl::StatusOr<Secret> ReadPassword(const std::string& reference) {
  return ReadValue(reference, 1);
}

absl::StatusOr<std::unique_ptr<SecretScanner>> MakeSecretScanner(
    const std::vector<Secret>& values, const std::vector<std::string>& patterns) {
  std::vector<std::unique_ptr<RE2>> expressions;
  std::vector<std::string> literals;
  size_t longest = patterns.empty() ? 0 : kSecretBytesMost;
  for (const Secret& value : values) {
    for (const std::string& form : FormsOf(value.Reveal())) {
      longest = std::max(longest, form.size());
      literals.push_back(RE2::QuoteMeta(form));
    }
  }
  if (!literals.empty()) {
    RE2::Options options = OptionsOnBytes();
    options.set_max_mem(kValuesMemory);
    expressions.push_back(std::make_unique<RE2>(absl::StrJoin(literals, "|"), options));
  }
  for (const std::string& pattern : patterns) {
    expressions.push_back(std::make_unique<RE2>(pattern, OptionsOnBytes()));
  }
  for (const auto& expression : expressions) {
    if (!expression->ok()) return absl::InvalidArgumentError("secrets: cannot be looked for");
  }
  return std::make_unique<ExpressionScanner>(std::move(expressions), longest);
}

absl::StatusOr<std::unique_ptr<SecretScanner>> LoadSecrets(const SecretsConfig& config) {
  std::vector<Secret> values;
  std::vector<std::string> problems;
  for (const SecretReference& reference : config.known) {
    absl::StatusOr<Secret> value = ReadSecret(reference.text);
    if (value.ok()) {
      values.push_back(*std::move(value));
    } else {
      problems.push_back(reference.place + ": " + std::string(value.status().message()));
    }
  }
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
  return MakeSecretScanner(values, config.patterns);
}

}  // namespace holdfast
