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

// The pieces of one item: `fill` writes everything but the bytes into a response and answers the
// field that takes them.
template <typename Fill>
void AddPieces(std::string data, uint64_t total, Fill fill, SessionReader::Page& page) {
  const auto add = [&](std::string&& bytes, size_t offset) {
    pb::ReadSessionResponse& piece = page.emplace_back();
    *fill(piece) = std::move(bytes);
    piece.set_chunk_offset(offset);
    piece.set_total_bytes(total);
  };
  if (data.size() <= kChunkBytes) return add(std::move(data), 0);
  for (size_t offset = 0; offset < data.size(); offset += kChunkBytes) {
    add(data.substr(offset, kChunkBytes), offset);
  }
}

void AddMessage(Message message, SessionReader::Page& page) {
  std::string data = std::exchange(message.data, {});
  const uint64_t total = data.size();
  AddPieces(
      std::move(data), total,
      [&](pb::ReadSessionResponse& piece) {
        Write(message, *piece.mutable_message());
        return piece.mutable_message()->mutable_data();
      },
      page);
}

// A damaged slot is said by a size without bytes; it never ends the stream.
void AddSlot(SlotView view, SessionReader::Page& page) {
  std::string data = std::exchange(view.slot.data, {});
  const uint64_t total = view.damaged ? view.size : data.size();
  AddPieces(
      std::move(data), total,
      [&](pb::ReadSessionResponse& piece) {
        Write(view.slot, *piece.mutable_slot());
        return piece.mutable_slot()->mutable_data();
      },
      page);
}

void AddEntry(JournalEntry entry, SessionReader::Page& page) {
  std::string data = std::exchange(entry.slot ? entry.slot->data : entry.data, {});
  const uint64_t total = data.size();
  AddPieces(
      std::move(data), total,
      [&](pb::ReadSessionResponse& piece) {
        pb::JournalEntry& out = *piece.mutable_journal_entry();
        Write(entry, out);
        return out.has_slot() ? out.mutable_slot()->mutable_data() : out.mutable_data();
      },
      page);
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
  while (page.empty() && phase_ != Phase::kEnd) {
    switch (phase_) {
      case Phase::kPosition:
        RETURN_IF_ERROR(ReadPosition(page));
        break;
      case Phase::kMessages:
        RETURN_IF_ERROR(ReadMessagePage(page));
        break;
      case Phase::kSlots:
        RETURN_IF_ERROR(ReadSlotPage(page));
        break;
      case Phase::kJournal:
        RETURN_IF_ERROR(ReadJournalPage(page));
        break;
      case Phase::kEnd:
        break;
    }
  }
  return page;
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

absl::Status SessionReader::ReadPosition(Page& page) {
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

  pb::ReadPosition& position = *page.emplace_back().mutable_position();
  position.set_revision(at_.revision.value());
  position.set_journal_number(at_.journal.value());
  position.set_message_count(newest);
  position.set_generation(first.generation.value());
  if (first.history != Digest{}) position.set_history_digest(std::string(View(first.history)));
  phase_ = after_message_.value() < newest ? Phase::kMessages : Phase::kSlots;
  return absl::OkStatus();
}

absl::Status SessionReader::ReadMessagePage(Page& page) {
  ASSIGN_OR_RETURN(MessagePage read,
                   sessions_.store().ReadMessages(key_, at_.revision, after_message_, kPage));
  for (Message& message : read.messages) {
    after_message_ = message.seq;
    AddMessage(std::move(message), page);
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

absl::Status SessionReader::ReadSlotPage(Page& page) {
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
  for (SlotView& view : read.slots) AddSlot(std::move(view), page);
  return absl::OkStatus();
}

absl::Status SessionReader::ReadJournalPage(Page& page) {
  if (after_journal_ >= at_.journal) {
    phase_ = Phase::kEnd;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(JournalPage read,
                   sessions_.store().ReadJournal(key_, {.after = after_journal_}, kPage));
  for (JournalEntry& entry : read.entries) {
    after_journal_ = entry.journal_number;
    if (after_journal_ > at_.journal) break;
    AddEntry(std::move(entry), page);
  }
  if (read.end || read.entries.empty()) phase_ = Phase::kEnd;
  return absl::OkStatus();
}

}  // namespace holdfast
