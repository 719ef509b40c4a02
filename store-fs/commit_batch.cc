#include "store-fs/commit_batch.h"

#include "session/codec/records.h"
#include "session/fingerprint.h"
#include "session/guard.h"
#include "session/limits.h"
#include "session/names.h"
#include "session/refusal.h"
#include "session/saboteur.h"
#include "session/status_macros.h"
#include "store-fs/layout.h"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::fs {
namespace {

// Whether a stored entry is the one that is sent again: what the store added does not count.
bool SameEntry(JournalEntry stored, JournalEntry sent) {
  stored.journal_number = sent.journal_number;
  if (stored.slot) stored.slot->revision = Revision();
  if (sent.slot) sent.slot->revision = Revision();
  return stored == sent;
}

bool AllThere(const Change& change, const Head& head) {
  if (change.entries.empty()) return false;
  const auto last = LastEntryOf(head, change.entries.front().turn);
  return last && change.entries.back().number <= *last;
}

}  // namespace

absl::Status UploadIsGone() {
  return StoreUnavailable("the upload is not there any more: send it again", Fate::kNoEffect);
}

CommitBatch::CommitBatch(const Environment& environment, const SessionKey& key,
                         const Contents* contents, File* journal)
    : environment_(environment),
      key_(key),
      contents_(contents),
      journal_(journal),
      exists_(contents != nullptr),
      // As exact as a record keeps it, so that a reader sees the same before and after a restart.
      now_(absl::FromUnixMicros(absl::ToUnixMicros(environment.clock.Wall()))) {
  if (exists_) {
    head_ = contents->head;
    environment.leases.Evaluate(key, head_);
  } else {
    head_.store = environment.identity.store;
    head_.incarnation = environment.identity.incarnation;
  }
}

absl::StatusOr<CommitResult> CommitBatch::Decide(const Change& change) {
  if (change.request && !Sabotaged(Saboteur::kNoRequestCheck)) {
    if (const RequestRow* row = FindRequest(change.request->id)) {
      return Repeat(*change.request, *row);
    }
  }
  if (change.create && exists_) {
    return Refuse(Refusal(Reason::kSessionExists, "a session of this id exists: resume it"));
  }
  if (!change.create && !exists_) {
    return Refusal(Reason::kSessionNotFound, "no session of this id is stored here");
  }
  if (auto refusal = CheckGuard(head_, change.guard, change.entries)) {
    return Refuse(refusal->ToStatus());
  }
  ASSIGN_OR_RETURN(const std::optional<Refusal> entry, CheckEntries(change));
  if (entry) return Refuse(entry->ToStatus());
  if (change.premise && !Holds(*change.premise, head_)) {
    return CommitResult{.kind = CommitResult::Kind::kMoved, .receipt = {}, .head = head_};
  }
  if (!HasUploadOf(change)) return Refuse(UploadIsGone());
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
                         .now = now_};
  Applied applied = Apply(head_, change, facts);
  CommitResult result{.kind = CommitResult::Kind::kApplied,
                      .receipt = applied.receipt,
                      .head = applied.head,
                      .refusal = absl::OkStatus(),
                      .events = applied.events};
  // Entries that are all there need no second write.
  if (AllThere(change, head_)) return result;
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

const RequestRow* CommitBatch::FindRequest(const RequestId& id) const {
  const auto fresh = requests_.find(id);
  if (fresh != requests_.end()) return &fresh->second;
  if (contents_ == nullptr) return nullptr;
  return contents_->requests->Find(id, now_ - kRequestsKept);
}

absl::StatusOr<CommitResult> CommitBatch::Repeat(const RequestStamp& stamp,
                                                 const RequestRow& row) const {
  if (!SameRequest(row.stamp, stamp)) {
    return Refuse(Refusal(Reason::kRequestIdReused, "this request id stands for another request")
                      .With("request_id", stamp.id.value())
                      .With("method", Name(row.stamp.method)));
  }
  CommitResult result{.kind = CommitResult::Kind::kRepeated, .receipt = row.receipt, .head = head_};
  if (row.receipt.epoch != head_.lease.epoch) result.receipt.token.clear();
  return result;
}

absl::StatusOr<std::optional<Refusal>> CommitBatch::CheckEntries(const Change& change) const {
  if (change.entries.empty()) return std::nullopt;
  const auto last = LastEntryOf(head_, change.entries.front().turn).value_or(EntryNumber());
  for (const JournalEntry& entry : change.entries) {
    if (entry.number > last) break;
    ASSIGN_OR_RETURN(const std::optional<JournalEntry> stored, StoredEntry(entry));
    if (stored && !SameEntry(*stored, entry)) {
      return Refusal(Reason::kRequestIdReused, "this entry number stands for another entry")
          .With("turn", entry.turn.value())
          .With("number", entry.number.value());
    }
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<JournalEntry>> CommitBatch::StoredEntry(
    const JournalEntry& entry) const {
  for (const Applied& applied : applied_) {
    for (const JournalEntry& fresh : applied.entries) {
      if (fresh.turn == entry.turn && fresh.number == entry.number) return fresh;
    }
  }
  const auto number =
      contents_ == nullptr ? std::nullopt : contents_->FindEntry(entry.turn, entry.number);
  if (!number) return std::nullopt;
  const LogFiles where{.files = &environment_.files,
                       .journal = journal_,
                       .prefix = PrefixOf(key_, FileKind::kEntries)};
  const auto items = ReadLog(where, contents_->entries, number->value(), 1, kPageBytes);
  // An entry that cannot be read any more cannot be compared: its key alone answers.
  if (!items.ok() || items->empty()) return std::nullopt;
  return DecodeEntry(items->front());
}

CommitResult CommitBatch::Refuse(absl::Status refusal) const {
  return {.kind = CommitResult::Kind::kRefused,
          .receipt = {},
          .head = head_,
          .refusal = std::move(refusal)};
}

}  // namespace holdfast::fs
