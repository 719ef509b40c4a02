#include "store-fs/open_session.h"

#include "platform/exceptions.h"
#include "platform/scoped_blocking_call.h"
#include "platform/status_macros.h"
#include "platform/unlocked.h"
#include "session/answers.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/bounded_wait.h"
#include "store-fs/change_record.h"
#include "store-fs/frame.h"
#include "store-fs/layout.h"
#include "store-fs/new_session.h"
#include "store-fs/root.h"
#include "store-fs/rotation.h"

#include "absl/cleanup/cleanup.h"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::fs {
namespace {

constexpr size_t kBatchMost = 64;
constexpr uint64_t kRotateBytes = 4 * kMiB;

}  // namespace

absl::StatusOr<CommitResult> OpenSession::Commit(const Change& change) {
  Waiter waiter{
      .change = &change, .result = absl::UnknownError(""), .exception = nullptr, .done = false};
  {
    const absl::MutexLock lock(&mutex_);
    if (progress_.stalled() && waiting_.size() >= kWaitersPerSession) return SessionBusy();
    waiting_.push_back(&waiter);
    if (leading_) Await(waiter);
    if (!waiter.done) {
      leading_ = true;
      // Those who came before may fill a batch or two: the lead is kept until the own change is
      // through.
      while (!waiter.done) Lead(TakeBatch());
      leading_ = false;
    }
  }
  if (waiter.exception != nullptr) std::rethrow_exception(waiter.exception);
  return std::move(waiter.result);
}

void OpenSession::Await(Waiter& self) {
  const auto mine = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return self.done || !leading_; };
  const ScopedBlockingCall blocking;
  for (;;) {
    const uint64_t seen = progress_.moves();
    if (mutex_.AwaitWithTimeout(absl::Condition(&mine), kStalledAfter)) return;
    progress_.NoteTimeout(seen);
    if (!progress_.stalled()) continue;
    absl::Status busy;
    if (CatchException([&] { busy = SessionBusy(); })) continue;  // they wait on
    while (waiting_.size() > kWaitersPerSession) {
      waiting_.back()->result = busy;
      waiting_.back()->done = true;
      waiting_.pop_back();
    }
  }
}

absl::Status OpenSession::AwaitNoLeader() {
  if (!leading_) return absl::OkStatus();
  const auto free = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !leading_; };
  return AwaitBounded(mutex_, absl::Condition(&free), progress_, openers_);
}

void OpenSession::Lead(Batch batch) {
  {
    const Unlocked unlocked(mutex_);
    Settle(batch);
  }
  for (Waiter* member : batch) member->done = true;
  progress_.NoteMove();
  // The answers are out; the next call waits until the journal is small again.
  const Unlocked unlocked(mutex_);
  Rotate();
}

OpenSession::Batch OpenSession::TakeBatch() {
  Batch batch;
  size_t bytes = 0;
  while (!waiting_.empty() && batch.size() < kBatchMost) {
    Waiter* next = waiting_.front();
    // A delete ends the session, so it has a batch of its own.
    if (next->change->tombstone && !batch.empty()) break;
    for (const Message& message : next->change->messages) bytes += message.data.size();
    for (const Slot& slot : next->change->slots) bytes += slot.data.size();
    for (const JournalEntry& entry : next->change->entries) bytes += entry.data.size();
    for (const ItemPut& put : next->change->items.puts) bytes += put.item.data.size();
    if (!batch.empty() && bytes > kChangeBytes) break;
    batch.splice(batch.end(), waiting_, waiting_.begin());
    if (next->change->tombstone) break;
  }
  return batch;
}

absl::Status OpenSession::Look(
    const std::function<void(const SessionState&, const std::shared_ptr<File>&)>& look) {
  absl::MutexLock lock(&mutex_);
  if (!stored_) {
    RETURN_IF_ERROR(AwaitNoLeader());
    RETURN_IF_ERROR(DoLeading([this] { return EnsureOpen(); }));
  }
  look(stored_->state, stored_->journal.file);
  return absl::OkStatus();
}

absl::StatusOr<Head> OpenSession::DurableHead() {
  Head head;
  RETURN_IF_ERROR(Look([&](const SessionState& state, const auto&) { head = state.head; }));
  return head;
}

std::shared_ptr<const Head> OpenSession::CachedHead() {
  std::shared_ptr<Head> head;
  {
    const absl::MutexLock lock(&mutex_);
    if (stored_) head = std::make_shared<Head>(stored_->state.head);
  }
  if (head) environment_.leases.Evaluate(key_, *head);
  return head;
}

absl::StatusOr<SessionUid> OpenSession::Uid() {
  SessionUid uid;
  RETURN_IF_ERROR(Look([&](const SessionState& state, const auto&) { uid = state.head.uid; }));
  return uid;
}

bool OpenSession::IsStill(const SessionUid& uid) {
  const absl::MutexLock lock(&mutex_);
  return !stored_ || stored_->manifest.uid == uid;
}

absl::Status OpenSession::EnsureOpen() {
  if (stored_) return absl::OkStatus();
  RETURN_IF_ERROR(environment_.fail_stop.Check());
  const std::optional<Tombstone> tombstone = environment_.tombstones.Find(key_);
  if (tombstone && !tombstone->next) return SessionWasDeleted(tombstone->former());
  absl::StatusOr<StoredSession> stored = RecoverSession(
      environment_.files, key_, environment_.identity, environment_.watermarks.Find(key_));
  // One that was to be created in its place is not there: a crash came before, or it is another.
  const bool replaced = stored.ok() ? !tombstone || stored->manifest.uid == *tombstone->next
                                    : !Is(stored.status(), Reason::kSessionNotFound);
  if (tombstone && !replaced) return SessionWasDeleted(tombstone->former());
  if (!stored.ok()) {
    const Reason reason = RefusalOf(stored.status()).reason();
    if (reason == Reason::kInternal) return environment_.fail_stop.FailUnwritten(stored.status());
    if (reason == Reason::kSessionNotFound) {
      environment_.listing.Remove(key_);
    } else {
      environment_.listing.Put(key_.tenant, UnreadableRow(key_.session, stored.status()));
    }
    return stored.status();
  }
  const uint64_t cut = stored->state.head.tail_bytes_truncated;
  if (cut > 0) environment_.cut_tails.Note(DirectoryOf(key_) + "/" + kJournalFile, cut);
  NoteDurable(stored->journal, stored->state.head.revision);
  if (!stored->state.sealed.empty()) environment_.compactions.Add(key_);
  const absl::MutexLock lock(&mutex_);
  stored_ = *std::move(stored);
  ShowRow(stored_->state.head);
  return absl::OkStatus();
}

// Called before the change is shown or acknowledged, so that every change that a client has seen is
// below the watermark.
void OpenSession::NoteDurable(const Journal& journal, Revision revision) {
  environment_.watermarks.Note(key_,
                               {.file = journal.identity, .end = journal.end, .revision = revision},
                               environment_.time.Now());
}

// Decides those that have room in one frame. The others wait for the next batch.
void OpenSession::Decide(Batch& batch, CommitBatch& decisions) {
  auto next = batch.begin();
  for (; next != batch.end(); ++next) {
    auto result = decisions.Decide(*(*next)->change);
    if (!result) break;
    (*next)->result = *std::move(result);
  }
  const absl::MutexLock lock(&mutex_);
  waiting_.splice(waiting_.begin(), batch, next, batch.end());
}

// An exception in the work on one change fails no other change. After an exception in a batch each
// change of it is tried alone.
void OpenSession::Settle(Batch& batch) {
  if (!Throws(batch) || batch.size() == 1) return;
  Batch settled;
  while (!batch.empty()) {
    Batch one;
    one.splice(one.begin(), batch, batch.begin());
    Throws(one);
    settled.splice(settled.end(), one);
  }
  batch.swap(settled);
}

bool OpenSession::Throws(Batch& batch) {
  const std::exception_ptr exception = TakeException([&] { Run(batch); });
  for (Waiter* member : batch) member->exception = exception;
  return exception != nullptr;
}

void OpenSession::Run(Batch& batch) {
  const absl::Status open = EnsureOpen();
  const bool deleted = Is(open, Reason::kTombstoned);
  const bool absent = deleted || Is(open, Reason::kSessionNotFound);
  absl::Status fate = absent ? absl::OkStatus() : open;
  if (fate.ok()) fate = environment_.fail_stop.Check();
  if (!fate.ok()) {
    for (Waiter* member : batch) member->result = fate;
    return;
  }
  const std::optional<Tombstone> tombstone =
      deleted ? environment_.tombstones.Find(key_) : std::nullopt;
  CommitBatch decisions =
      absent ? CommitBatch(environment_, key_,
                           tombstone ? std::optional(tombstone->former()) : std::nullopt)
             : CommitBatch(environment_, key_, stored_->state, *stored_->journal.file);
  Decide(batch, decisions);
  if (decisions.applied().empty()) return;
  fate = Write(decisions);
  if (fate.ok()) {
    fate = FailingOnException([&] {
      Notify(batch, decisions);
      return absl::OkStatus();
    });
  }
  if (!fate.ok()) {
    // Refusals and repeats were decided on a state that did not become durable.
    for (Waiter* member : batch) member->result = fate;
  }
}

void OpenSession::Notify(const Batch& batch, const CommitBatch& decisions) {
  const bool has_events = std::ranges::any_of(
      decisions.applied(), [](const Applied& applied) { return !applied.events.empty(); });
  if (has_events) environment_.change_notifier.Notify(key_);
  NoteLeases(batch, decisions.applied().back());
}

void OpenSession::NoteLeases(const Batch& batch, const Applied& last) {
  if (last.tombstone) return;
  environment_.leases.NoteCancelRequests(key_, last.head);
  const bool renewed = std::ranges::any_of(batch, [](const Waiter* member) {
    const bool applied =
        member->result.ok() && member->result->kind == CommitResult::Kind::kApplied;
    return applied && (member->change->grant || member->change->renews_lease);
  });
  environment_.leases.NoteChange(key_, last.head,
                                 renewed ? std::optional(last.head.lease.ttl) : std::nullopt);
}

bool OpenSession::RotationIsDue() const {
  return stored_ && (stored_->state.changes >= environment_.rotate_changes ||
                     stored_->journal.end >= kRotateBytes);
}

bool OpenSession::HasDueRotation() {
  const absl::MutexLock lock(&mutex_);
  return RotationIsDue();
}

void OpenSession::Rotate() {
  FailingOnException([this] {
    RotateIfDue();
    return absl::OkStatus();
  }).IgnoreError();
}

void OpenSession::RotateIfDue() {
  if (!stored_ || !environment_.fail_stop.Check().ok()) return;
  const StoredSession& old = *stored_;
  if (!old.state.head.lease.held) CutBack();
  const absl::Duration now = environment_.clock.SinceBoot();
  if (!RotationIsDue() || old.journal.covered || !rotation_.IsDue(now)) return;
  if (!environment_.space.Check().ok()) return;
  const RotationPlace place{.files = environment_.files,
                            .key = key_,
                            .random = environment_.random,
                            .bounds = environment_.identity.bounds,
                            .events_kept = environment_.retention.events};
  absl::StatusOr<StoredSession> next = SwitchFiles(place, old, environment_.time.Now());
  if (WasPutOff(next.status())) return PutOffRotation(next.status(), now);
  absl::Status status = next.status();
  if (status.ok()) {
    rotation_.Succeed();
    environment_.meter.FileWorkDone(FileWork::kRotation);
    // Steps 3 and 4 change only what the leader uses; readers continue with the old files
    // meanwhile.
    status = ReplaceJournalAndPublish(*std::move(next));
  }
  if (!status.ok()) Fail(status).IgnoreError();
}

// Nothing was switched: the journal goes on growing until a later try, up to its bound.
void OpenSession::PutOffRotation(const absl::Status& cause, absl::Duration now) {
  const bool said = rotation_.failed();
  rotation_.Fail(now);
  if (absl::IsResourceExhausted(cause)) {
    environment_.space.Ended().IgnoreError();
  } else if (!said && environment_.note) {
    environment_.note("the journal of " + DirectoryOf(key_) +
                      " cannot be rotated and goes on growing: " + std::string(cause.message()));
  }
}

absl::Status OpenSession::ReplaceJournalAndPublish(StoredSession next) {
  Files& files = environment_.files;
  absl::StatusOr<Journal> journal = ReplaceJournal(files, key_, next.manifest);
  if (!journal.ok() && !IsLack(journal.status())) return journal.status();
  if (journal.ok()) {
    CutBack();  // of the sealed one
    next.journal = *std::move(journal);
    environment_.space.Taken();
  } else {
    next.journal.covered = true;
    if (!IsShortage(journal.status())) environment_.space.Ended().IgnoreError();
  }
  NoteDurable(next.journal, next.state.head.revision);
  ForgetInLog();
  {
    const absl::MutexLock lock(&mutex_);
    dirty_ = false;
    stored_ = std::move(next);
    stored_->state.requests->NoteWritten(stored_->state.request_log.first());
  }
  environment_.compactions.Add(key_);
  return RemoveUnnamed(files, key_, stored_->state, stored_->manifest.file);
}

absl::Status OpenSession::DoLeading(absl::FunctionRef<absl::Status()> act) {
  leading_ = true;
  const absl::Cleanup end_of_lead = [this] {
    mutex_.AssertHeld();
    leading_ = false;
    progress_.NoteMove();
  };
  const Unlocked unlocked(mutex_);
  return act();
}

bool OpenSession::BeginLead() {
  const absl::MutexLock lock(&mutex_);
  if (leading_ || !waiting_.empty() || !stored_) return false;
  leading_ = true;
  return true;
}

void OpenSession::EndLead() {
  const absl::MutexLock lock(&mutex_);
  leading_ = false;
  progress_.NoteMove();
}

void OpenSession::LeadIfFree(const std::function<void()>& act) {
  if (!BeginLead()) return;
  const absl::Cleanup end_of_lead = [this] { EndLead(); };
  act();
}

void OpenSession::CutBackIfIdle(absl::Duration idle) {
  const absl::Duration since = environment_.clock.SinceBoot() - idle;
  {
    const absl::MutexLock lock(&mutex_);
    if (changed_ > since) return;
  }
  LeadIfFree([&] { CutBack(); });
}

void OpenSession::Close() {
  SyncNow();
  LeadIfFree([&] { CutBack(); });
}

void OpenSession::SyncNow() {
  std::shared_ptr<File> file;
  Watermark mark;
  {
    const absl::MutexLock lock(&mutex_);
    if (!stored_ || !dirty_) return;
    dirty_ = false;
    file = stored_->journal.file;
    mark = written_;
  }
  const absl::Status synced = file->Sync();
  if (synced.ok()) {
    if (environment_.log != nullptr) environment_.log->NoteSynced(file);
    environment_.watermarks.Note(key_, mark, environment_.time.Now());
  } else {
    Fail(synced).IgnoreError();
  }
}

void OpenSession::ForgetInLog() {
  if (environment_.log != nullptr && stored_) environment_.log->NoteSynced(stored_->journal.file);
}

// Frees preallocated space. Harmless if it fails: recovery expects zeros behind the end.
void OpenSession::CutBack() {
  if (!stored_ || stored_->journal.allocated == stored_->journal.end) return;
  if (!environment_.fail_stop.Check().ok()) return;
  if (stored_->journal.file->Truncate(stored_->journal.end).ok()) {
    stored_->journal.allocated = stored_->journal.end;
  }
}

}  // namespace holdfast::fs
