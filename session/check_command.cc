#include "session/check_command.h"

#include "session/refusal.h"

namespace holdfast {

bool NamesSecret(const SecretScanner& secrets, const absl::Status& refusal) {
  const Refusal facts = RefusalOf(refusal);
  const auto field = facts.facts().find("field");
  return field != facts.facts().end() && secrets.Find(field->second).has_value();
}

}  // namespace holdfast
