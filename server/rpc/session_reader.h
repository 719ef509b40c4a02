// ReadSession without its transport: the items of one snapshot, page by page, from any item on.
#ifndef HOLDFAST_SERVER_RPC_SESSION_READER_H_
#define HOLDFAST_SERVER_RPC_SESSION_READER_H_

#include "holdfast/v1/session_service.pb.h"
#include "session/sessions.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

namespace pb = ::holdfast::v1;

// Position first, then messages, slots and the journal behind the position's snapshot; an item over
// kChunkBytes comes in several pieces. Holds one page. Used by one thread at a time; Next blocks as
// the store does.
class SessionReader {
 public:
  using Page = std::vector<pb::SessionPiece>;

  // `sessions` must outlive this.
  SessionReader(Sessions& sessions, Caller caller, pb::ReadSessionRequest request);

  // The next page, or an empty one at the end. INVALID_FIELD for the request's fields;
  // REVISION_PRUNED and REVISION_AHEAD for a position that is not kept or not reached; otherwise as
  // the store's reads.
  absl::StatusOr<Page> Next();

 private:
  enum class Phase : uint8_t { kPosition, kMessages, kSlots, kJournal, kEnd };
  struct Unread {
    std::string owner;
    uint64_t bytes = 0;
  };

  // One item on its way out: everything but its bytes, and these or where they lie.
  struct Item {
    pb::SessionPiece shell;
    std::string data;
    std::optional<StagedBytes> staged;
    uint64_t total = 0;
    uint64_t sent = 0;
  };

  // Each reads one page of items and moves the phase on when its kind is through.
  absl::Status ReadMore();
  absl::Status ReadPosition();
  absl::Status ReadMessagePage();
  absl::Status ReadSlotPage();
  absl::Status ReadJournalPage();

  void Add(Message message);
  void Add(SlotView view);
  void Add(JournalEntry entry);
  // The next piece of the first item, which goes when it is through.
  absl::StatusOr<pb::SessionPiece> TakePiece();
  // The first item, whose bytes are all in its shell.
  pb::SessionPiece TakeShell();

  absl::Status FixPosition(const Head& head);
  absl::Status ListSlots();
  // Owners of the next page of slots.
  std::vector<std::string> TakeOwners();

  Sessions& sessions_;
  const Caller caller_;
  const pb::ReadSessionRequest request_;
  Phase phase_ = Phase::kPosition;
  SessionKey key_;
  Position at_;
  MessageSeq after_message_;
  JournalNumber after_journal_;
  std::deque<Item> items_;
  bool slots_listed_ = false;
  std::vector<Unread> unread_slots_;  // the next one last
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_SESSION_READER_H_
