#include "store-fs/commit_batch.h"

#include "platform/status_macros.h"
#include "session/answers.h"
#include "session/codec/records.h"
#include "session/guard.h"
#include "session/kept.h"
#include "session/limits.h"
#include "session/refusal.h"
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

// Whether the index has room for the key and the value of a slot.
absl::Status CheckSlotKey(const Slot& slot) {
  if (slot.owner.size() > kSlotOwnerBytes) {
    return TooLarge("owner", kSlotOwnerBytes, slot.owner.size());
  }
  if (slot.version.size() > kSlotVersionBytes) {
    return TooLarge("version", kSlotVersionBytes, slot.version.size());
  }
  return absl::OkStatus();
}

absl::Status CheckSlotKeys(const Applied& applied) {
  for (const Slot& slot : applied.slots) {
    RETURN_IF_ERROR(CheckSlotKey(slot));
  }
  for (const JournalEntry& entry : applied.entries) {
    if (!entry.slot) continue;
    RETURN_IF_ERROR(CheckSlotKey(*entry.slot));
  }
  return absl::OkStatus();
}

// The same of the key of an item: its value has a bound of its own.
absl::Status CheckItemKeys(const Applied& applied) {
  for (const Item& item : applied.item_effects.written) {
    const ItemName& name = item.name;
    if (name.collection.size() > kItemCollectionBytes) {
      return TooLarge("collection", kItemCollectionBytes, name.collection.size());
    }
    if (name.key.size() > kItemKeyBytes) return TooLarge("key", kItemKeyBytes, name.key.size());
  }
  return absl::OkStatus();
}

}  // namespace

CommitBatch::CommitBatch(const Environment& environment, const SessionKey& key,
                         const SessionState* state, File* journal)
    : environment_(environment),
      key_(key),
      state_(state),
      journal_(journal),
      slots_({.files = environment.files, .key = key}, state),
      items_({.files = environment.files, .key = key}, state, environment.item_bounds),
      exists_(state != nullptr),
      // With the precision of a record, so that a reader sees the same before and after a restart.
      now_(absl::FromUnixMicros(absl::ToUnixMicros(environment.clock.Wall()))),
      store_now_(environment.time.Now()) {}

CommitBatch::CommitBatch(const Environment& environment, const SessionKey& key,
                         const SessionState& state, File& journal)
    : CommitBatch(environment, key, &state, &journal) {
  head_ = state.head;
  environment.leases.Evaluate(key, head_);
}

CommitBatch::CommitBatch(const Environment& environment, const SessionKey& key,
                         std::optional<FormerSession> former)
    : CommitBatch(environment, key, nullptr, nullptr) {
  former_ = std::move(former);
  head_ = EmptyHead(Facts(), former_ ? &*former_ : nullptr);
}

StoreFacts CommitBatch::Facts() const {
  return {.store = environment_.identity.store,
          .incarnation = environment_.identity.incarnation,
          .now = now_,
          .clock = store_now_,
          .snapshots_kept = environment_.retention.snapshots};
}

std::optional<absl::StatusOr<CommitResult>> CommitBatch::Decide(const Change& change) {
  absl::StatusOr<CommitResult> result = DecideOne(change);
  if (has_no_room_) return std::nullopt;
  return result;
}

absl::StatusOr<CommitResult> CommitBatch::DecideOne(const Change& change) {
  std::optional<RequestRow> row;
  if (change.request) {
    ASSIGN_OR_RETURN(row, FindRequest(change.request->id));
  }
  ASSIGN_OR_RETURN(std::optional<CommitResult> answer,
                   AnswerWithoutDecision(change, {.head = exists_ ? &head_ : nullptr,
                                                  .former = former_ ? &*former_ : nullptr,
                                                  .request = row ? &*row : nullptr}));
  if (answer) return *std::move(answer);
  ASSIGN_OR_RETURN(ChangeDecision decision, DecideOnHead(change, head_, Facts(), *this));
  if (decision.answer) return *std::move(decision.answer);
  return Accept(change, std::move(decision.applied));
}

absl::StatusOr<bool> CommitBatch::HoldsUpload(const UploadLink& link) {
  const bool taken = std::ranges::any_of(applied_, [&](const Applied& before) {
    return before.upload && before.upload->id == link.id;
  });
  return !taken && environment_.uploads.Holds(key_, link);
}

absl::StatusOr<CommitResult> CommitBatch::Accept(const Change& change, Applied applied) {
  applied.at = store_now_;
  // Entries that are all there need no second write.
  const bool is_done = AllThere(change, head_);
  std::string begun = encoded_.empty() ? BeginOnlyChange(FrameRoom()) : "";
  const size_t beside = begun.size();
  std::string encoded = is_done ? std::move(begun) : EncodeChange(applied, std::move(begun));
  const size_t bytes = encoded.size() - beside;
  RETURN_IF_ERROR(CheckRoom(applied, bytes));
  CommitResult result{.kind = CommitResult::Kind::kApplied,
                      .receipt = applied.receipt,
                      .head = applied.head,
                      .refusal = absl::OkStatus(),
                      .events = applied.events};
  if (is_done || has_no_room_) return result;
  slots_.Take(head_, applied);
  items_.Take(applied);
  bytes_ += bytes;
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

std::string CommitBatch::TakePayload() {
  if (encoded_.size() == 1) return std::move(encoded_.front());
  std::vector<std::string_view> changes(encoded_.begin(), encoded_.end());
  changes.front().remove_prefix(BeginOnlyChange(FrameRoom()).size());
  return JoinChanges(FrameRoom(), changes);
}

// What a reader would not take is refused; what is too much for this batch waits for the next.
absl::Status CommitBatch::CheckRoom(const Applied& applied, size_t bytes) {
  const size_t most = environment_.identity.bounds.change;
  if (bytes > most) return TooLarge("change", most, bytes);
  RETURN_IF_ERROR(CheckManifest(applied.head));
  RETURN_IF_ERROR(CheckSlotKeys(applied));
  RETURN_IF_ERROR(CheckItemKeys(applied));
  has_no_room_ = bytes_ + bytes > most;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Refusal>> CommitBatch::CheckSlots(const Applied& applied) {
  absl::StatusOr<std::optional<Refusal>> checked = slots_.Check(head_, applied, applied_);
  if (!checked.ok()) return environment_.fail_stop.FailUnwritten(checked.status());
  return checked;
}

absl::StatusOr<std::optional<Refusal>> CommitBatch::ResolveItemWrites(Applied& applied) {
  absl::StatusOr<std::optional<Refusal>> resolved = items_.Resolve(applied);
  if (resolved.ok()) return resolved;
  // What cannot be read may be what the change names.
  if (IsUnreadable(resolved.status())) return Damaged("items", 0);
  return environment_.fail_stop.FailUnwritten(resolved.status());
}

absl::StatusOr<std::optional<RequestRow>> CommitBatch::FindRequest(const RequestId& id) const {
  const auto fresh = requests_.find(id);
  if (fresh != requests_.end()) return fresh->second;
  if (state_ == nullptr) return std::nullopt;
  const RequestView view = ViewOf(*state_);
  return ReadRequest({.files = environment_.files, .key = key_, .view = view, .is_current = {}}, id,
                     store_now_ - kRequestsKept);
}

absl::StatusOr<std::vector<JournalEntry>> CommitBatch::StoredEntries(TurnNumber turn,
                                                                     EntryNumber first,
                                                                     EntryNumber last) {
  std::vector<JournalEntry> entries;
  for (EntryNumber number = first; number <= last; number = number.Next()) {
    ASSIGN_OR_RETURN(std::optional<JournalEntry> stored, StoredEntry(turn, number));
    if (stored) entries.push_back(*std::move(stored));
  }
  return entries;
}

absl::StatusOr<std::optional<JournalEntry>> CommitBatch::StoredEntry(TurnNumber turn,
                                                                     EntryNumber number) const {
  for (const Applied& applied : applied_) {
    for (const JournalEntry& fresh : applied.entries) {
      if (fresh.turn == turn && fresh.number == number) return fresh;
    }
  }
  if (state_ == nullptr) return std::nullopt;
  const auto journal = state_->FindEntry(turn, number);
  if (!journal) return std::nullopt;
  const LogFiles where{.files = &environment_.files, .journal = journal_, .key = &key_};
  const auto items = ReadLog(where, state_->entries, journal->value(), 1, kPageBytes);
  if (IsShortage(items.status())) return FailStop::Short();
  // A stored entry that cannot be read is compared by its key alone.
  if (!items.ok() || items->empty()) return std::nullopt;
  return DecodeEntry(items->front());
}

}  // namespace holdfast::fs
