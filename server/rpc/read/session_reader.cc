#include "server/rpc/read/session_reader.h"

#include "platform/status_macros.h"
#include "server/rpc/convert/fields.h"
#include "server/rpc/convert/session.h"
#include "session/guard.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/snapshot_description.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

namespace holdfast {
namespace {

constexpr PageLimit kPage = {.items = kPageMost, .bytes = kPageBytes};

// No message has this number.
constexpr MessageSeq kBehindAll(std::numeric_limits<int64_t>::max());

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

size_t SessionReader::HeldBytes() const {
  size_t bytes = 0;
  for (size_t i = next_; i < items_.size(); ++i) bytes += sizeof(Item) + items_[i].data.size();
  return bytes;
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
  item.data = message.data.Take();
  item.staged = std::exchange(message.staged, std::nullopt);
  item.shell = std::move(message);
}

// A damaged slot is shown by a size without bytes; it never ends the stream.
void SessionReader::Add(SlotView view) {
  Item& item = items_.emplace_back();
  item.unreadable = view.damaged;
  item.total = view.damaged ? view.size : DataSize(view.slot);
  item.data = view.slot.data.Take();
  item.staged = std::exchange(view.slot.staged, std::nullopt);
  item.shell = std::move(view.slot);
}

void SessionReader::Add(JournalEntry entry) {
  Item& item = items_.emplace_back();
  item.data = (entry.slot ? entry.slot->data : entry.data).Take();
  item.total = item.data.size();
  item.shell = std::move(entry);
}

absl::StatusOr<std::string> SessionReader::TakeBytes(Item& item) {
  const size_t chunk = std::min<uint64_t>(item.total - item.sent, kChunkBytes);
  if (item.unreadable || chunk == 0) return std::string();
  if (!item.staged) {
    return chunk == item.total ? std::move(item.data) : item.data.substr(item.sent, chunk);
  }
  absl::StatusOr<std::string> bytes =
      sessions_.store().ReadStaged(key_, *item.staged, item.sent, kChunkBytes);
  if (bytes.ok() && bytes->size() != chunk) {
    bytes =
        Refusal(Reason::kDamaged, "staged bytes end before their item does").With("what", "upload");
  }
  // Behind bytes that were sent already the slot cannot be shown as unreadable any more.
  item.unreadable = std::holds_alternative<Slot>(item.shell) && item.sent == 0 &&
                    Is(bytes.status(), Reason::kDamaged);
  return item.unreadable ? std::string() : std::move(bytes);
}

absl::StatusOr<size_t> SessionReader::TakePiece(PieceSink& out) {
  Item& item = items_[next_];
  const uint64_t offset = item.sent;
  ASSIGN_OR_RETURN(std::string bytes, TakeBytes(item));
  const size_t size = kShellBytes + bytes.size();
  pb::SessionPiece& piece = out.Add(size);
  piece.set_total_bytes(item.total);
  piece.set_chunk_offset(offset);
  piece.set_damaged(item.unreadable);
  item.sent = item.unreadable ? item.total : item.sent + bytes.size();
  if (item.sent >= item.total) ++next_;
  std::string* const data =
      std::visit([&](const auto& shell) { return Fill(shell, piece); }, item.shell);
  if (data != nullptr) *data = std::move(bytes);
  return size;
}

absl::Status SessionReader::CheckChoice() const {
  const auto owners = static_cast<size_t>(request_.owners_size());
  if (owners > kOwnersPerRead) return TooLarge("owners", kOwnersPerRead, owners);
  const auto parts = static_cast<size_t>(request_.parts_size());
  constexpr size_t kParts = pb::SessionPart_MAX;
  if (parts > kParts) return TooLarge("parts", kParts, parts);
  for (int i = 0; i < request_.parts_size(); ++i) {
    const int part = request_.parts(i);
    if (part <= pb::SESSION_PART_UNSPECIFIED || part > pb::SessionPart_MAX) {
      return InvalidField("parts[" + std::to_string(i) + "]", "is not a part of a session");
    }
  }
  return absl::OkStatus();
}

bool SessionReader::Wants(pb::SessionPart part) const {
  const auto& parts = request_.parts();
  return parts.empty() || std::ranges::find(parts, part) != parts.end();
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
  RETURN_IF_ERROR(CheckChoice());
  ASSIGN_OR_RETURN(const Head head, sessions_.Get(caller_, key_.session));
  ASSIGN_OR_RETURN(const std::optional<SessionUid> meant, ReadSessionUid(request_));
  RETURN_IF_ERROR(CheckSameSession(head.uid, meant));
  uid_ = head.uid;
  RETURN_IF_ERROR(FixPosition(head));
  // An empty page says how many there are at this position: no message has to be sound for that.
  ASSIGN_OR_RETURN(
      const MessagePage none,
      sessions_.store().ReadMessages(key_, at_.revision, kBehindAll, {.items = 1, .bytes = 1}));
  RETURN_IF_ERROR(CheckSameSession(none.uid, uid_));
  const uint64_t newest = none.newest.value();
  const uint64_t tail = request_.tail_messages();
  const uint64_t skipped = tail == 0 || tail > newest ? 0 : newest - tail;
  after_message_ = std::max(MessageSeq(skipped), MessageSeq(request_.after_message()));
  after_journal_ =
      std::max(SnapshotJournal(head, at_.revision), JournalNumber(request_.after_journal_number()));

  auto& position = items_.emplace_back().shell.emplace<pb::ReadPosition>();
  position.set_revision(at_.revision.value());
  position.set_journal_number(at_.journal.value());
  position.set_message_count(newest);
  position.set_generation(none.generation.value());
  RETURN_IF_ERROR(DescribePosition(head, position));
  const bool messages = after_message_.value() < newest && Wants(pb::SESSION_PART_MESSAGES);
  phase_ = messages ? Phase::kMessages : Phase::kSlots;
  return absl::OkStatus();
}

absl::Status SessionReader::DescribePosition(const Head& head, pb::ReadPosition& position) {
  std::optional<SnapshotDescription> snapshot;
  if (at_.revision == head.revision) {
    snapshot = DescribeSnapshot(head, TurnNumber());
  } else {
    ASSIGN_OR_RETURN(
        const SlotPage own,
        sessions_.store().ReadSlots(key_, {.revision = at_.revision, .owners = {kStoreSlotOwner}}));
    RETURN_IF_ERROR(CheckSameSession(own.uid, uid_));
    if (own.slots.empty() || own.slots.front().damaged) return absl::OkStatus();
    snapshot = DecodeSnapshotDescription(own.slots.front().slot.data.str());
  }
  if (!snapshot) return absl::OkStatus();
  position.set_history_digest(std::string(View(snapshot->digest)));
  if (snapshot->sm) Write(*snapshot->sm, *position.mutable_state_machine());
  return absl::OkStatus();
}

absl::Status SessionReader::ReadMessagePage() {
  ASSIGN_OR_RETURN(MessagePage read,
                   sessions_.store().ReadMessages(key_, at_.revision, after_message_, kPage));
  RETURN_IF_ERROR(CheckSameSession(read.uid, uid_));
  for (Message& message : read.messages) {
    after_message_ = message.seq;
    Add(std::move(message));
  }
  if (read.end || read.messages.empty()) phase_ = Phase::kSlots;
  return absl::OkStatus();
}

absl::Status SessionReader::ListSlots() {
  slots_listed_ = true;
  if (request_.skip_slots() || !Wants(pb::SESSION_PART_SLOTS)) return absl::OkStatus();
  const std::vector<std::string> owners(request_.owners().begin(), request_.owners().end());
  ASSIGN_OR_RETURN(const SlotPage listed,
                   sessions_.store().ReadSlots(
                       key_, {.revision = at_.revision, .owners = owners, .most_bytes = 0}));
  RETURN_IF_ERROR(CheckSameSession(listed.uid, uid_));
  std::ranges::transform(listed.slots, std::back_inserter(unread_slots_), [](const SlotView& view) {
    return Unread{.owner = view.slot.owner, .bytes = view.size};
  });
  std::ranges::reverse(unread_slots_);
  return absl::OkStatus();
}

std::vector<std::string> SessionReader::TakeOwners() {
  std::vector<std::string> owners;
  uint64_t bytes = 0;
  while (!unread_slots_.empty() && owners.size() < kOwnersPerRead) {
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
  RETURN_IF_ERROR(CheckSameSession(read.uid, uid_));
  for (SlotView& view : read.slots) Add(std::move(view));
  return absl::OkStatus();
}

absl::Status SessionReader::ReadJournalPage() {
  if (after_journal_ >= at_.journal || !Wants(pb::SESSION_PART_JOURNAL)) {
    phase_ = Phase::kEnd;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(JournalPage read,
                   sessions_.store().ReadJournal(key_, {.after = after_journal_}, kPage));
  RETURN_IF_ERROR(CheckSameSession(read.uid, uid_));
  for (JournalEntry& entry : read.entries) {
    after_journal_ = entry.journal_number;
    if (after_journal_ > at_.journal) break;
    Add(std::move(entry));
  }
  if (read.end || read.entries.empty()) phase_ = Phase::kEnd;
  return absl::OkStatus();
}

}  // namespace holdfast
