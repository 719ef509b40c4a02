#include "store-fs/commit_batch.h"

#include "session/answers.h"
#include "session/codec/records.h"
#include "session/guard.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/saboteur.h"
#include "session/status_macros.h"
#include "store-fs/layout.h"
#include "store-fs/manifest.h"
#include "store-fs/stored_request.h"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::fs {
namespace {

bool AllThere(const Change& change, const Head& head) {
  if (change.entries.empty()) return false;
  const auto last = LastEntryOf(head, change.entries.front().turn);
  return last && change.entries.back().number <= *last;
}

// At least as many as there are slots; exact where the versions that are kept may be too many.
size_t SlotsAtMost(const Contents& contents) {
  if (contents.slots.size() <= kSlotsPerSession) return contents.slots.size();
  return static_cast<size_t>(std::ranges::count_if(
      contents.slots, [](const SlotVersion& version) { return !version.until; }));
}

SlotOwners OwnersOf(const Contents& contents) {
  SlotOwners owners;
  for (const SlotVersion& version : contents.slots) {
    if (!version.until) owners.Add(version.meta.owner);
  }
  for (const SlotVersion& version : contents.pending) owners.AddPending(version.meta.owner);
  return owners;
}

}  // namespace

CommitBatch::CommitBatch(const Environment& environment, const SessionKey& key,
                         const Contents* contents, File* journal)
    : environment_(environment),
      key_(key),
      contents_(contents),
      journal_(journal),
      exists_(contents != nullptr),
      // As exact as a record keeps it, so that a reader sees the same before and after a restart.
      now_(absl::FromUnixMicros(absl::ToUnixMicros(environment.clock.Wall()))),
      store_now_(environment.time.Now()) {
  if (exists_) {
    head_ = contents->head;
    slots_at_most_ = SlotsAtMost(*contents);
    environment.leases.Evaluate(key, head_);
  } else {
    head_.store = environment.identity.store;
    head_.incarnation = environment.identity.incarnation;
  }
}

std::optional<absl::StatusOr<CommitResult>> CommitBatch::Decide(const Change& change) {
  absl::StatusOr<CommitResult> result = DecideOne(change);
  if (has_no_room_) return std::nullopt;
  return result;
}

absl::StatusOr<CommitResult> CommitBatch::DecideOne(const Change& change) {
  if (change.request && !Sabotaged(Saboteur::kNoRequestCheck)) {
    ASSIGN_OR_RETURN(const auto row, FindRequest(change.request->id));
    if (row) return AnswerToRepeat(*change.request, *row, head_);
  }
  if (change.create && exists_) {
    return Refused(SessionIsThere(), head_);
  }
  if (!change.create && !exists_) {
    return Refusal(Reason::kSessionNotFound, "no session of this id is stored here");
  }
  if (auto refusal = CheckGuard(head_, change.guard, change.entries)) {
    return Refused(refusal->ToStatus(), head_);
  }
  ASSIGN_OR_RETURN(const JournalEntry* const rewritten, FindRewritten(change));
  if (rewritten != nullptr) return Refused(EntryReused(*rewritten), head_);
  if (change.premise && !Holds(*change.premise, head_)) {
    return CommitResult{.kind = CommitResult::Kind::kMoved, .receipt = {}, .head = head_};
  }
  if (!HasUploadOf(change)) return Refused(UploadIsGone(), head_);
  return Accept(change);
}

bool CommitBatch::HasUploadOf(const Change& change) const {
  if (!change.upload) return true;
  const bool taken = std::ranges::any_of(applied_, [&](const Applied& before) {
    return before.upload && before.upload->id == change.upload->id;
  });
  return !taken && environment_.uploads.Holds(key_, *change.upload);
}

absl::StatusOr<CommitResult> CommitBatch::Accept(const Change& change) {
  const StoreFacts facts{.store = environment_.identity.store,
                         .incarnation = environment_.identity.incarnation,
                         .now = now_,
                         .clock = store_now_};
  Applied applied = Apply(head_, change, facts);
  applied.at = store_now_;
  // Entries that are all there need no second write.
  const bool is_done = AllThere(change, head_);
  std::string encoded = is_done ? "" : EncodeChange(applied);
  RETURN_IF_ERROR(CheckRoom(applied, encoded.size()));
  CommitResult result{.kind = CommitResult::Kind::kApplied,
                      .receipt = applied.receipt,
                      .head = applied.head,
                      .refusal = absl::OkStatus(),
                      .events = applied.events};
  if (is_done || has_no_room_) return result;
  if (auto refusal = CheckBounds(applied)) return Refused(refusal->ToStatus(), head_);
  bytes_ += encoded.size();
  encoded_.push_back(std::move(encoded));
  head_ = applied.head;
  exists_ = true;
  if (applied.request) {
    requests_.insert_or_assign(
        applied.request->id,
        RequestRow{.stamp = *applied.request, .receipt = applied.receipt, .at = applied.at});
  }
  applied_.push_back(std::move(applied));
  return result;
}

// What a reader would not take is refused; what is too much for this batch waits for the next.
absl::Status CommitBatch::CheckRoom(const Applied& applied, size_t bytes) {
  const size_t most = environment_.identity.bounds.change;
  if (bytes > most) return TooLarge("change", most, bytes);
  RETURN_IF_ERROR(CheckManifest(applied.head));
  has_no_room_ = bytes_ + bytes > most;
  return absl::OkStatus();
}

std::optional<Refusal> CommitBatch::CheckBounds(const Applied& applied) {
  if (auto refusal = CheckAttributes(head_, applied.head)) return refusal;
  slots_at_most_ += SlotsAddedAtMost(head_, applied);
  if (!owners_ && slots_at_most_ <= kSlotsPerSession) return std::nullopt;
  if (!owners_) {
    owners_ = contents_ == nullptr ? SlotOwners() : OwnersOf(*contents_);
    for (const Applied& before : applied_) owners_->Take(before);
  }
  SlotOwners after = *owners_;
  after.Take(applied);
  if (auto refusal = CheckSlotCount(owners_->size(), after.size())) return refusal;
  owners_ = std::move(after);
  return std::nullopt;
}

absl::StatusOr<std::optional<RequestRow>> CommitBatch::FindRequest(const RequestId& id) const {
  const auto fresh = requests_.find(id);
  if (fresh != requests_.end()) return fresh->second;
  if (contents_ == nullptr) return std::nullopt;
  const RequestView view = ViewOf(*contents_);
  return ReadRequest({.files = environment_.files, .key = key_, .view = view, .is_current = {}}, id,
                     store_now_ - kRequestsKept);
}

absl::StatusOr<const JournalEntry*> CommitBatch::FindRewritten(const Change& change) const {
  if (change.entries.empty()) return nullptr;
  const auto last = LastEntryOf(head_, change.entries.front().turn).value_or(EntryNumber());
  for (const JournalEntry& entry : change.entries) {
    if (entry.number > last) break;
    ASSIGN_OR_RETURN(const std::optional<JournalEntry> stored, StoredEntry(entry));
    if (stored && !SameEntry(*stored, entry)) return &entry;
  }
  return nullptr;
}

absl::StatusOr<std::optional<JournalEntry>> CommitBatch::StoredEntry(
    const JournalEntry& entry) const {
  for (const Applied& applied : applied_) {
    for (const JournalEntry& fresh : applied.entries) {
      if (fresh.turn == entry.turn && fresh.number == entry.number) return fresh;
    }
  }
  if (contents_ == nullptr) return std::nullopt;
  const auto number = contents_->FindEntry(entry.turn, entry.number);
  if (!number) return std::nullopt;
  const LogFiles where{.files = &environment_.files, .journal = journal_, .key = &key_};
  const auto items = ReadLog(where, contents_->entries, number->value(), 1, kPageBytes);
  if (IsShortage(items.status())) return FailStop::Short();
  // An entry that cannot be read any more cannot be compared: its key alone answers.
  if (!items.ok() || items->empty()) return std::nullopt;
  return DecodeEntry(items->front());
}

}  // namespace holdfast::fs
