#include "server/rpc/session_reader.h"

#include "server/rpc/convert_fields.h"
#include "server/rpc/convert_session.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/status_macros.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast {
namespace {

constexpr PageLimit kPage = {.items = kPageMost, .bytes = kPageBytes};

// Where an item's bytes stand in its piece.
std::string* DataOf(pb::SessionPiece& piece) {
  switch (piece.item_case()) {
    case pb::SessionPiece::kMessage:
      return piece.mutable_message()->mutable_data();
    case pb::SessionPiece::kSlot:
      return piece.mutable_slot()->mutable_data();
    default: {
      pb::JournalEntry& entry = *piece.mutable_journal_entry();
      return entry.has_slot() ? entry.mutable_slot()->mutable_data() : entry.mutable_data();
    }
  }
}

// The journal's number at the last snapshot that is not behind `revision`.
JournalNumber SnapshotJournal(const Head& head, Revision revision) {
  JournalNumber journal;
  for (const SnapshotRecord& snapshot : head.snapshots) {
    if (snapshot.at.revision <= revision) journal = snapshot.at.journal;
  }
  return journal;
}

}  // namespace

SessionReader::SessionReader(Sessions& sessions, Caller caller, pb::ReadSessionRequest request)
    : sessions_(sessions), caller_(std::move(caller)), request_(std::move(request)) {}

absl::StatusOr<SessionReader::Page> SessionReader::Next() {
  Page page;
  size_t bytes = 0;
  while (bytes < kPageBytes) {
    while (items_.empty() && phase_ != Phase::kEnd) {
      if (!page.empty()) return page;
      RETURN_IF_ERROR(ReadMore());
    }
    if (items_.empty()) return page;
    ASSIGN_OR_RETURN(pb::SessionPiece piece, TakePiece());
    bytes += piece.ByteSizeLong();
    page.push_back(std::move(piece));
  }
  return page;
}

absl::Status SessionReader::ReadMore() {
  switch (phase_) {
    case Phase::kPosition:
      return ReadPosition();
    case Phase::kMessages:
      return ReadMessagePage();
    case Phase::kSlots:
      return ReadSlotPage();
    case Phase::kJournal:
      return ReadJournalPage();
    case Phase::kEnd:
      break;
  }
  return absl::OkStatus();
}

void SessionReader::Add(Message message) {
  Item& item = items_.emplace_back();
  item.total = DataSize(message);
  item.data = std::exchange(message.data, {});
  item.staged = std::exchange(message.staged, std::nullopt);
  Write(message, *item.shell.mutable_message());
}

// A damaged slot is said by a size without bytes; it never ends the stream.
void SessionReader::Add(SlotView view) {
  Item& item = items_.emplace_back();
  item.total = view.size;
  item.data = std::exchange(view.slot.data, {});
  item.staged = std::exchange(view.slot.staged, std::nullopt);
  if (view.damaged) item.sent = item.total;
  Write(view.slot, *item.shell.mutable_slot());
}

void SessionReader::Add(JournalEntry entry) {
  Item& item = items_.emplace_back();
  item.data = std::exchange(entry.slot ? entry.slot->data : entry.data, {});
  item.total = item.data.size();
  Write(entry, *item.shell.mutable_journal_entry());
}

absl::StatusOr<pb::SessionPiece> SessionReader::TakePiece() {
  Item& item = items_.front();
  if (item.shell.has_position()) return TakeShell();
  if (!item.staged && item.total <= kChunkBytes && item.sent == 0) {
    item.shell.set_total_bytes(item.total);
    *DataOf(item.shell) = std::move(item.data);
    return TakeShell();
  }
  pb::SessionPiece piece = item.shell;
  piece.set_total_bytes(item.total);
  if (item.sent < item.total) {
    piece.set_chunk_offset(item.sent);
    if (item.staged) {
      ASSIGN_OR_RETURN(*DataOf(piece),
                       sessions_.store().ReadStaged(key_, *item.staged, item.sent, kChunkBytes));
    } else {
      *DataOf(piece) = item.data.substr(item.sent, kChunkBytes);
    }
    item.sent += DataOf(piece)->size();
  }
  if (item.sent >= item.total) items_.pop_front();
  return piece;
}

pb::SessionPiece SessionReader::TakeShell() {
  pb::SessionPiece whole = std::move(items_.front().shell);
  items_.pop_front();
  return whole;
}

absl::Status SessionReader::FixPosition(const Head& head) {
  if (request_.revision() == 0) {
    if (request_.journal_number() != 0) {
      return InvalidField("journal_number", "goes with revision alone");
    }
    at_ = {.revision = head.revision, .journal = head.journal};
    return absl::OkStatus();
  }
  at_ = {.revision = Revision(request_.revision()),
         .journal = JournalNumber(request_.journal_number())};
  if (at_.journal <= head.journal) return absl::OkStatus();
  return Refusal(Reason::kRevisionAhead, "you know a later journal than is stored here")
      .With("what", "journal")
      .With("known", at_.journal.value())
      .With("stored", head.journal.value());
}

absl::Status SessionReader::ReadPosition() {
  ASSIGN_OR_RETURN(SessionId session, ReadId<SessionId>("session_id", request_.session_id()));
  key_ = {.tenant = caller_.tenant, .session = std::move(session)};
  ASSIGN_OR_RETURN(const Head head, sessions_.Get(caller_, key_.session));
  RETURN_IF_ERROR(FixPosition(head));
  // One message says how many there are at this position.
  ASSIGN_OR_RETURN(
      const MessagePage first,
      sessions_.store().ReadMessages(key_, at_.revision, MessageSeq(), {.items = 1, .bytes = 1}));
  const uint64_t newest = first.newest.value();
  const uint64_t tail = request_.tail_messages();
  const uint64_t skipped = tail == 0 || tail > newest ? 0 : newest - tail;
  after_message_ = MessageSeq(std::max(skipped, request_.after_message()));
  after_journal_ =
      std::max(SnapshotJournal(head, at_.revision), JournalNumber(request_.after_journal_number()));

  pb::ReadPosition& position = *items_.emplace_back().shell.mutable_position();
  position.set_revision(at_.revision.value());
  position.set_journal_number(at_.journal.value());
  position.set_message_count(newest);
  position.set_generation(first.generation.value());
  if (first.history != Digest{}) position.set_history_digest(std::string(View(first.history)));
  phase_ = after_message_.value() < newest ? Phase::kMessages : Phase::kSlots;
  return absl::OkStatus();
}

absl::Status SessionReader::ReadMessagePage() {
  ASSIGN_OR_RETURN(MessagePage read,
                   sessions_.store().ReadMessages(key_, at_.revision, after_message_, kPage));
  for (Message& message : read.messages) {
    after_message_ = message.seq;
    Add(std::move(message));
  }
  if (read.end || read.messages.empty()) phase_ = Phase::kSlots;
  return absl::OkStatus();
}

absl::Status SessionReader::ListSlots() {
  slots_listed_ = true;
  if (request_.skip_slots()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const SlotPage listed,
                   sessions_.store().ReadSlots(
                       key_, {.revision = at_.revision, .owners = {}, .without_data = true}));
  std::ranges::transform(listed.slots, std::back_inserter(unread_slots_), [](const SlotView& view) {
    return Unread{.owner = view.slot.owner, .bytes = view.size};
  });
  std::ranges::reverse(unread_slots_);
  return absl::OkStatus();
}

std::vector<std::string> SessionReader::TakeOwners() {
  std::vector<std::string> owners;
  uint64_t bytes = 0;
  while (!unread_slots_.empty()) {
    bytes += unread_slots_.back().bytes;
    if (!owners.empty() && bytes > kPageBytes) break;
    owners.push_back(std::move(unread_slots_.back().owner));
    unread_slots_.pop_back();
  }
  return owners;
}

absl::Status SessionReader::ReadSlotPage() {
  if (!slots_listed_) {
    RETURN_IF_ERROR(ListSlots());
  }
  const std::vector<std::string> owners = TakeOwners();
  if (owners.empty()) {
    phase_ = Phase::kJournal;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(SlotPage read,
                   sessions_.store().ReadSlots(key_, {.revision = at_.revision, .owners = owners}));
  for (SlotView& view : read.slots) Add(std::move(view));
  return absl::OkStatus();
}

absl::Status SessionReader::ReadJournalPage() {
  if (after_journal_ >= at_.journal) {
    phase_ = Phase::kEnd;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(JournalPage read,
                   sessions_.store().ReadJournal(key_, {.after = after_journal_}, kPage));
  for (JournalEntry& entry : read.entries) {
    after_journal_ = entry.journal_number;
    if (after_journal_ > at_.journal) break;
    Add(std::move(entry));
  }
  if (read.end || read.entries.empty()) phase_ = Phase::kEnd;
  return absl::OkStatus();
}

}  // namespace holdfast
