// ReadSession without its transport: the items of one snapshot, page by page, from any item on.
#ifndef HOLDFAST_SERVER_RPC_READ_SESSION_READER_H_
#define HOLDFAST_SERVER_RPC_READ_SESSION_READER_H_

#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/read/piece_packer.h"
#include "session/sessions.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace holdfast {

namespace pb = ::holdfast::v1;

// Position first, then messages, slots and the journal behind the position's snapshot; an item over
// kChunkBytes comes in several pieces. Holds one page. Used by one thread at a time; Next blocks as
// the store does.
class SessionReader {
 public:
  // `sessions` must outlive this.
  SessionReader(Sessions& sessions, Caller caller, pb::ReadSessionRequest request);

  // Adds the next page to `out`, or nothing at the end. INVALID_FIELD for the request's fields;
  // REVISION_PRUNED and REVISION_AHEAD for a position that is not kept or not reached; otherwise as
  // the store's reads.
  absl::Status Next(PieceSink& out);

  // What it keeps between two pages, about: items that had no room in the last one.
  [[nodiscard]] size_t HeldBytes() const;

 private:
  enum class Phase : uint8_t { kPosition, kMessages, kSlots, kJournal, kEnd };
  struct Unread {
    std::string owner;
    uint64_t bytes = 0;
  };

  // One item on its way out: everything but its bytes, and these or where they lie.
  struct Item {
    std::variant<pb::ReadPosition, Message, Slot, JournalEntry> shell;
    std::string data;
    std::optional<StagedBytes> staged;
    uint64_t total = 0;
    uint64_t sent = 0;
    bool unreadable = false;  // of a slot: its size is sent, and no bytes
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
  [[nodiscard]] bool AllTaken() const { return next_ == items_.size(); }
  // Adds the next piece of the next item, which is taken when it is through. Answers the piece's
  // bytes.
  absl::StatusOr<size_t> TakePiece(PieceSink& out);
  // The next bytes of `item`. DAMAGED when they are not all there.
  absl::StatusOr<std::string> TakeBytes(Item& item);

  // INVALID_FIELD and TOO_LARGE for what the request chooses of the content.
  [[nodiscard]] absl::Status CheckChoice() const;
  // Whether `part` is to be streamed.
  [[nodiscard]] bool Wants(pb::SessionPart part) const;
  absl::Status FixPosition(const Head& head);
  // Fills in what the snapshot at the position says of itself, if that can be read.
  absl::Status DescribePosition(const Head& head, pb::ReadPosition& position);
  absl::Status ListSlots();
  // Owners of the next page of slots.
  std::vector<std::string> TakeOwners();

  Sessions& sessions_;
  const Caller caller_;
  const pb::ReadSessionRequest request_;
  Phase phase_ = Phase::kPosition;
  SessionKey key_;
  SessionUid uid_;  // of the session that is read
  Position at_;
  MessageSeq after_message_;
  JournalNumber after_journal_;
  std::vector<Item> items_;
  size_t next_ = 0;  // of them
  bool slots_listed_ = false;
  std::vector<Unread> unread_slots_;  // the next one last
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_READ_SESSION_READER_H_
