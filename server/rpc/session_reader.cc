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

// About what a piece takes beside its item's bytes.
constexpr size_t kShellBytes = 64;

// Each says what a piece is of, and answers where the item's bytes go.
std::string* Fill(const pb::ReadPosition& position, pb::SessionPiece& piece) {
  *piece.mutable_position() = position;
  return nullptr;
}
std::string* Fill(const Message& message, pb::SessionPiece& piece) {
  Write(message, *piece.mutable_message());
  return piece.mutable_message()->mutable_data();
}
std::string* Fill(const Slot& slot, pb::SessionPiece& piece) {
  Write(slot, *piece.mutable_slot());
  return piece.mutable_slot()->mutable_data();
}
std::string* Fill(const JournalEntry& entry, pb::SessionPiece& piece) {
  pb::JournalEntry& out = *piece.mutable_journal_entry();
  Write(entry, out);
  return entry.slot ? out.mutable_slot()->mutable_data() : out.mutable_data();
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

absl::Status SessionReader::Next(PieceSink& out) {
  size_t bytes = 0;
  while (bytes < kPageBytes) {
    while (AllTaken() && phase_ != Phase::kEnd) {
      if (bytes > 0) return absl::OkStatus();
      RETURN_IF_ERROR(ReadMore());
    }
    if (AllTaken()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const size_t piece, TakePiece(out));
    bytes += piece;
  }
  return absl::OkStatus();
}

absl::Status SessionReader::ReadMore() {
  items_.clear();
  next_ = 0;
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
  item.shell = std::move(message);
}

// A damaged slot is said by a size without bytes; it never ends the stream.
void SessionReader::Add(SlotView view) {
  Item& item = items_.emplace_back();
  item.total = view.size;
  item.data = std::exchange(view.slot.data, {});
  item.staged = std::exchange(view.slot.staged, std::nullopt);
  if (view.damaged) item.sent = item.total;
  item.shell = std::move(view.slot);
}

void SessionReader::Add(JournalEntry entry) {
  Item& item = items_.emplace_back();
  item.data = std::exchange(entry.slot ? entry.slot->data : entry.data, {});
  item.total = item.data.size();
  item.shell = std::move(entry);
}

absl::StatusOr<size_t> SessionReader::TakePiece(PieceSink& out) {
  Item& item = items_[next_];
  const uint64_t left = item.total - item.sent;
  const size_t chunk = std::min<uint64_t>(left, kChunkBytes);
  std::string bytes;
  if (item.staged && chunk > 0) {
    ASSIGN_OR_RETURN(bytes,
                     sessions_.store().ReadStaged(key_, *item.staged, item.sent, kChunkBytes));
  } else if (chunk == item.total) {
    bytes = std::move(item.data);
  } else {
    bytes = item.data.substr(item.sent, chunk);
  }
  const size_t size = kShellBytes + bytes.size();
  pb::SessionPiece& piece = out.Add(size);
  piece.set_total_bytes(item.total);
  piece.set_chunk_offset(left > 0 ? item.sent : 0);
  item.sent += bytes.size();
  if (item.sent >= item.total) ++next_;
  std::string* const data =
      std::visit([&](const auto& shell) { return Fill(shell, piece); }, item.shell);
  if (data != nullptr) *data = std::move(bytes);
  return size;
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

  auto& position = items_.emplace_back().shell.emplace<pb::ReadPosition>();
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
  ASSIGN_OR_RETURN(
      const SlotPage listed,
      sessions_.store().ReadSlots(key_, {.revision = at_.revision, .owners = {}, .most_bytes = 0}));
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
