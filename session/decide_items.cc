#include "session/decide.h"
#include "session/fingerprint.h"
#include "session/guard.h"
#include "session/names.h"

#include "absl/strings/escaping.h"

#include <map>
#include <string>
#include <utility>

namespace holdfast {
namespace {

// What an audit record says of writes: how many, and the digest of the whole request.
std::map<std::string, std::string> FactsOfWrites(const ItemWrites& writes,
                                                 const RequestStamp& stamp) {
  const Digest& digest = stamp.fingerprint;
  return {{"puts", std::to_string(writes.puts.size())},
          {"deletes", std::to_string(writes.deletes.size())},
          {"request_digest",
           absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()})}};
}

}  // namespace

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const PutItemsCommand& command) {
  const RequestStamp stamp = StampOf(command);
  Change change;
  change.key = {caller.tenant, command.session};
  change.request = stamp;
  change.guard.trigger = Trigger::kPutItems;
  change.guard.token = command.token;
  change.guard.uid = command.uid;
  if (command.token) change.guard.lease = LeaseRule::kMustHold;
  change.items = command.writes;
  change.audit = AuditDraft{
      .audit_class = kItemsClass, .code = "put", .data = FactsOfWrites(command.writes, stamp)};
  change.trace = caller.trace;
  change.correlation_id = stamp.id.value();
  if (auto refusal = CheckGuard(head, change.guard, {})) return refusal->ToStatus();
  return Decision{.change = std::move(change)};
}

std::optional<Change> DecideCreate(const Caller& caller, const SessionKey& key,
                                   const PutItemsCommand& command, const Fresh& fresh) {
  if (!command.create_if_missing) return std::nullopt;
  const RequestStamp stamp = StampOf(command);
  Change change = DecideCreate(caller, key, *command.create_if_missing, stamp, fresh);
  change.items = command.writes;
  change.audit->data.merge(FactsOfWrites(command.writes, stamp));
  return change;
}

}  // namespace holdfast
