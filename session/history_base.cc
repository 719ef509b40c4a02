#include "session/history_base.h"

#include "platform/status_macros.h"
#include "session/refusal.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

// What of `messages` follows the stored history; nullopt when they do not begin with it.
std::optional<std::vector<Message>> Following(const Head& head,
                                              const std::vector<Message>& messages) {
  const size_t stored = head.messages.value();
  if (messages.size() < stored) return std::nullopt;
  Digest digest{};
  for (size_t i = 0; i < stored; ++i) digest = ExtendHistory(digest, messages[i]);
  if (digest != head.history) return std::nullopt;
  return std::vector<Message>(messages.begin() + static_cast<ptrdiff_t>(stored), messages.end());
}

}  // namespace

absl::Status TakeHistory(const Head& head, const WriteCommand& command, Change& change) {
  if (command.replace_history) {
    change.replaces_history = true;
    change.messages = command.messages;
    return absl::OkStatus();
  }
  if (command.base) {
    RETURN_IF_ERROR(CheckBase(head, *command.base));
    change.messages = command.messages;
    return absl::OkStatus();
  }
  if (head.kind == SessionKind::kOpen) {
    change.messages = command.messages;
    return absl::OkStatus();
  }
  std::optional<std::vector<Message>> following = Following(head, command.messages);
  if (!following) {
    return InvalidField("messages", "must begin with the stored history, or say replace_history");
  }
  change.messages = *std::move(following);
  return absl::OkStatus();
}

absl::Status CheckBase(const Head& head, const HistoryBase& base) {
  if (base.count == head.messages && base.digest == head.history) return absl::OkStatus();
  return Refusal(Reason::kStaleRevision, "the stored history is not the one you build on")
      .With("what", "history")
      .With("expected", base.count.value())
      .With("actual", head.messages.value());
}

absl::Status CheckBuildsOn(const Head& head, bool says, bool at_end) {
  if (head.kind != SessionKind::kOpen || says || at_end) return absl::OkStatus();
  return InvalidField(
      "expected_revision",
      "must be set in a session of kind OPEN for all but messages that are added at "
      "the end of the history, or taken from it");
}

}  // namespace holdfast
