#include "session/restore_reads.h"

#include "platform/status_macros.h"
#include "session/checkpoint_reads.h"
#include "session/checkpoint_writes.h"
#include "session/data_bytes.h"
#include "session/history_spans.h"
#include "session/kept.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/snapshot_description.h"
#include "session/staged.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

namespace holdfast {
namespace {

// A search for a digest looks at so many messages first, and at so many times more each time.
constexpr uint64_t kFirstLook = 1;
constexpr uint64_t kLookFactor = 8;
// Where the spans of a history have no room, the messages of the last ones are stored again: of
// those behind so many, if that is not too much, else of fewer.
constexpr std::array<size_t, 6> kSpansLeft = {32, 48, 56, 60, 62, 63};
static_assert(kSpansLeft.back() < kHistorySpans);

// But for the revision that wrote it.
bool IsSameContent(Slot one, const Slot& other) {
  one.revision = other.revision;
  return one == other;
}

class RestoreReader {
 public:
  RestoreReader(SessionStore& store, const SessionKey& key, Head head,
                const RestoreCommand& command)
      : store_(store), key_(key), head_(std::move(head)), command_(command) {}

  absl::StatusOr<RestoredState> Read() && {
    RETURN_IF_ERROR(FindPoint());
    RETURN_IF_ERROR(CheckKept(head_, at_));
    RETURN_IF_ERROR(FindCut());
    RETURN_IF_ERROR(ReadRemoved());
    if (at_) {
      RETURN_IF_ERROR(ReadSlots());
    }
    const bool same_history = state_.removed_messages == 0 && kept_ == state_.cut.messages;
    state_.is_current =
        same_history && state_.slots.empty() && state_.deleted_slots.empty() && !state_.sm;
    if (state_.is_current) return std::move(state_);
    RETURN_IF_ERROR(CopyLastSpans());
    ASSIGN_OR_RETURN(state_.cut.digest, DigestAt(state_.cut.messages));
    if (is_pinned_) {
      state_.cut.spans = SpansOf(head_, state_.cut.generation, state_.cut.messages);
    }
    return std::move(state_);
  }

 private:
  // The revision of the point, and the head with what is pinned there.
  absl::Status FindPoint() {
    std::optional<Revision> revision = command_.point.revision;
    if (!command_.point.checkpoint.empty()) {
      ASSIGN_OR_RETURN(revision, ReadCheckpointNamed(store_, key_, command_.point.checkpoint));
      if (!revision) return CheckpointNotFound(command_.point.checkpoint);
    }
    state_.to = revision.value_or(head_.revision);
    if (!revision || *revision == head_.revision) return absl::OkStatus();
    at_ = revision;
    const size_t newest = head_.snapshots.size();
    ASSIGN_OR_RETURN(head_, ReadPinnedHead(store_, key_, head_, *revision));
    is_pinned_ = head_.snapshots.size() > newest;
    return absl::OkStatus();
  }

  // How much of which history, and how much of that the current one has in common with it.
  absl::Status FindCut() {
    MessageSeq all = head_.messages;
    state_.cut.generation = head_.generation;
    if (at_) {
      const SnapshotRecord& snapshot = SnapshotAt(head_, *at_);
      state_.cut.generation = snapshot.generation;
      all = snapshot.messages;
    }
    const RestorePoint& point = command_.point;
    if (point.messages && *point.messages > all) {
      return InvalidField("point.messages",
                          absl::StrCat("the history of this point has ", all.value(), " messages"));
    }
    const MessageSeq most = point.messages.value_or(all);
    state_.cut.messages = MessageSeq(most.value() - std::min(point.drop_last, most.value()));
    kept_ = InCommon();
    state_.removed_messages = head_.messages.value() - kept_.value();
    return absl::OkStatus();
  }

  // A message is the same if it is stored under the same generation.
  [[nodiscard]] MessageSeq InCommon() const {
    const auto now = SpansOf(head_, head_.generation, head_.messages);
    const auto then = SpansOf(head_, state_.cut.generation, state_.cut.messages);
    MessageSeq common;
    for (size_t i = 0; i < std::min(now.size(), then.size()); ++i) {
      if (now[i].generation != then[i].generation) break;
      common = std::min(now[i].last, then[i].last);
      if (now[i].last != then[i].last) break;
    }
    return common;
  }

  // Calls `take` for each message behind `after` up to `last` of the history at `revision`; it
  // answers false to end.
  template <typename Take>
  absl::Status EachMessage(std::optional<Revision> revision, MessageSeq after, MessageSeq last,
                           Take take) {
    while (after < last) {
      const uint64_t left = last.value() - after.value();
      const PageLimit limit{.items = static_cast<uint32_t>(std::min<uint64_t>(left, kPageMost)),
                            .bytes = kPageBytes};
      ASSIGN_OR_RETURN(MessagePage page, store_.ReadMessages(key_, revision, after, limit));
      // The session has moved on: what was read so far is of no use, and the change is not made.
      if (page.messages.empty()) break;
      for (Message& message : page.messages) {
        after = message.seq;
        if (!take(std::move(message))) return absl::OkStatus();
      }
    }
    return absl::OkStatus();
  }

  // The last ones that have room in a reply.
  absl::Status ReadRemoved() {
    const uint64_t count = std::min(command_.return_messages, state_.removed_messages);
    size_t bytes = 0;
    RETURN_IF_ERROR(EachMessage(std::nullopt, MessageSeq(head_.messages.value() - count),
                                head_.messages, [&](Message message) {
                                  std::vector<Message>& removed = state_.removed;
                                  bytes += DataSize(message);
                                  message.history.reset();
                                  removed.push_back(std::move(message));
                                  while (!removed.empty() && bytes > kReturnedBytes) {
                                    bytes -= DataSize(removed.front());
                                    removed.erase(removed.begin());
                                  }
                                  return true;
                                }));
    for (Message& message : state_.removed) {
      RETURN_IF_ERROR(ResolveUpload(store_, key_, message));
    }
    return absl::OkStatus();
  }

  // The digest of the history of the point up to `last`: that of the last message before it that
  // has one, extended by those behind.
  absl::StatusOr<Digest> DigestAt(MessageSeq last) {
    if (!at_ && last == head_.messages) return head_.history;
    std::optional<Digest> digest;
    for (uint64_t count = kFirstLook; !digest; count *= kLookFactor) {
      const uint64_t looked = std::min(count, last.value());
      if (looked == last.value()) digest = Digest{};
      RETURN_IF_ERROR(
          EachMessage(at_, MessageSeq(last.value() - looked), last, [&](const Message& message) {
            if (message.history) {
              digest = message.history;
            } else if (digest) {
              digest = ExtendHistory(*digest, message);
            }
            return true;
          }));
    }
    return *digest;
  }

  absl::Status CopyLastSpans() {
    const MessageSeq all = state_.cut.messages;
    const auto spans = SpansOf(head_, state_.cut.generation, all);
    if (spans.size() <= kHistorySpans) return absl::OkStatus();
    for (const size_t left : kSpansLeft) {
      state_.cut.messages = spans[left - 1].last;
      ASSIGN_OR_RETURN(const bool fits, Copy(all));
      if (fits) return absl::OkStatus();
    }
    return TooLarge("point", kChangeBytes, kChangeBytes + 1)
        .With("why",
              "the history has too many parts, and the last ones are too large to be joined");
  }

  // Whether the messages behind the cut, up to `last`, have room in the change.
  absl::StatusOr<bool> Copy(MessageSeq last) {
    state_.copied.clear();
    bool fits = true;
    size_t bytes = 0;
    RETURN_IF_ERROR(EachMessage(at_, state_.cut.messages, last, [&](Message message) {
      bytes += DataSize(message);
      message.history.reset();
      state_.copied.push_back(std::move(message));
      fits = state_.copied.size() <= kMessagesPerChange && used_ + bytes <= kChangeBytes;
      return fits;
    }));
    for (Message& message : state_.copied) {
      if (!fits) break;
      RETURN_IF_ERROR(ResolveUpload(store_, key_, message));
    }
    used_ += fits ? bytes : 0;
    return fits;
  }

  // Compares the slots by the revisions that wrote them. Only what was written again since is read.
  absl::Status ReadSlots() {
    ASSIGN_OR_RETURN(const SlotPage then,
                     store_.ReadSlots(key_, {.revision = at_, .owners = {}, .most_bytes = 0}));
    ASSIGN_OR_RETURN(const SlotPage now,
                     store_.ReadSlots(key_, {.revision = {}, .owners = {}, .most_bytes = 0}));
    std::map<std::string, const SlotView*> current;
    for (const SlotView& view : now.slots) {
      if (IsRestored(view.slot.owner)) current[view.slot.owner] = &view;
    }
    std::vector<std::string> rewritten;
    for (const SlotView& view : then.slots) {
      if (!IsRestored(view.slot.owner)) continue;
      const auto found = current.extract(view.slot.owner);
      if (found && found.mapped()->slot.revision == view.slot.revision) continue;
      rewritten.push_back(view.slot.owner);
    }
    for (const auto& [owner, view] : current) state_.deleted_slots.push_back(owner);
    RETURN_IF_ERROR(ReadStateMachine());
    for (const Slot& slot : command_.slots) used_ += DataSize(slot);
    return ReadSlotData(rewritten);
  }

  // Not of the store, nor written by the command itself.
  [[nodiscard]] bool IsRestored(const std::string& owner) const {
    return owner != kStoreSlotOwner &&
           std::ranges::find(command_.slots, owner, &Slot::owner) == command_.slots.end();
  }

  absl::Status ReadStateMachine() {
    ASSIGN_OR_RETURN(const SnapshotDescription description,
                     ReadSnapshotDescription(store_, key_, *at_));
    if (description.sm != head_.sm) state_.sm = description.sm;
    return absl::OkStatus();
  }

  absl::Status ReadSlotData(const std::vector<std::string>& owners) {
    for (size_t from = 0; from < owners.size(); from += kOwnersPerRead) {
      const size_t to = std::min(owners.size(), from + kOwnersPerRead);
      SlotQuery query{.revision = {},
                      .owners = {owners.begin() + static_cast<ptrdiff_t>(from),
                                 owners.begin() + static_cast<ptrdiff_t>(to)},
                      .most_bytes = kChangeBytes};
      ASSIGN_OR_RETURN(const SlotPage now, store_.ReadSlots(key_, query));
      query.revision = at_;
      ASSIGN_OR_RETURN(SlotPage then, store_.ReadSlots(key_, query));
      for (SlotView& view : then.slots) {
        // What had no room beside the others is read alone.
        if (view.data_left_out && owners.size() > 1) {
          RETURN_IF_ERROR(ReadSlotData({view.slot.owner}));
        } else {
          RETURN_IF_ERROR(AddIfDiffers(std::move(view), now));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddIfDiffers(SlotView view, const SlotPage& now) {
    if (view.damaged) return Damaged("slot", 0);
    if (view.data_left_out) return TooLarge("point", kChangeBytes, view.size);
    const bool is_same = std::ranges::any_of(now.slots, [&](const SlotView& current) {
      return !current.damaged && !current.data_left_out && IsSameContent(current.slot, view.slot);
    });
    if (is_same) return absl::OkStatus();
    used_ += view.size;
    if (used_ > kChangeBytes) return TooLarge("point", kChangeBytes, used_);
    RETURN_IF_ERROR(ResolveUpload(store_, key_, view.slot));
    state_.slots.push_back(std::move(view.slot));
    return absl::OkStatus();
  }

  SessionStore& store_;
  const SessionKey& key_;
  Head head_;
  const RestoreCommand& command_;
  bool is_pinned_ = false;      // the point is older than the newest snapshots
  std::optional<Revision> at_;  // of the point, if it is not the current state
  MessageSeq kept_;             // of the current history
  size_t used_ = 0;             // bytes of the change so far
  RestoredState state_;
};

}  // namespace

absl::StatusOr<RestoredState> ReadRestoredState(SessionStore& store, const SessionKey& key,
                                                const Head& head, const RestoreCommand& command) {
  return RestoreReader(store, key, head, command).Read();
}

}  // namespace holdfast
