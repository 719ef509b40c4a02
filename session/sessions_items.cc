// The calls about items.
#include "platform/status_macros.h"
#include "session/check_command.h"
#include "session/sessions.h"

namespace holdfast {

absl::StatusOr<MutationResult> Sessions::PutItems(const Caller& caller,
                                                  const PutItemsCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  absl::StatusOr<MutationResult> result = ExecuteAsked(caller, command);
  if (!command.create_if_missing || !Is(result.status(), Reason::kSessionNotFound)) return result;
  const SessionKey key{caller.tenant, command.session};
  Change change = DecideCreate(caller, key, command, FreshCreation());
  result = CommitUntilSettled(key, change, [&](const Head&) { return Decision{.change = change}; });
  // Another call created it meanwhile: write to that session.
  return Is(result.status(), Reason::kSessionExists) ? ExecuteAsked(caller, command) : result;
}

absl::StatusOr<ItemPage> Sessions::ReadItems(const Caller& caller, const SessionId& session,
                                             const ItemQuery& query, PageLimit limit) {
  RETURN_IF_ERROR(Validate(query));
  return store_.ReadItems({caller.tenant, session}, query, limit);
}

}  // namespace holdfast
