#include "platform/status_macros.h"
#include "session/check_command.h"
#include "session/fingerprint.h"
#include "session/limits.h"
#include "session/restore_reads.h"
#include "session/sessions.h"

#include <optional>
#include <utility>
#include <vector>

namespace holdfast {

absl::StatusOr<RestoreResult> Sessions::Restore(const Caller& caller,
                                                const RestoreCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  const SessionKey key{caller.tenant, command.session};
  std::vector<Message> removed;
  const auto decide = [&](const Head& head) -> absl::StatusOr<Decision> {
    RETURN_IF_ERROR(CheckRestore(head, command));
    ASSIGN_OR_RETURN(RestoredState restored, ReadRestoredState(store_, key, head, command));
    removed = restored.removed;
    return Decide(head, caller, command, std::move(restored));
  };
  const Asked asked{.id = command.request, .stamp = [&] { return StampOf(command); }};
  RestoreResult restored;
  ASSIGN_OR_RETURN(restored.result, Execute(key, asked, decide, kRestoreRetries));
  CloseIfCancelled(key, restored.result);
  restored.removed =
      restored.result.repeated ? restored.result.receipt.removed : std::move(removed);
  return restored;
}

}  // namespace holdfast
