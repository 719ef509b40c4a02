#include "store-fs/open_session.h"

#include "session/answers.h"
#include "session/limits.h"
#include "session/off_core.h"
#include "session/refusal.h"
#include "session/saboteur.h"
#include "session/status_macros.h"
#include "store-fs/change_record.h"
#include "store-fs/frame.h"
#include "store-fs/layout.h"
#include "store-fs/root.h"
#include "store-fs/rotation.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace holdfast::fs {
namespace {

constexpr size_t kBatchMost = 64;
constexpr uint64_t kRotateBytes = 4 * kMiB;
constexpr uint64_t kFirstSpace = 64 * kKiB;
constexpr uint64_t kMostSpace = kMiB;

absl::Status Full() {
  return Refusal(Reason::kStorageFull, "there is no space left for this change")
      .RetryAfter(absl::Seconds(5));
}

}  // namespace

absl::StatusOr<CommitResult> OpenSession::Commit(const Change& change) {
  Waiter waiter{.change = &change, .result = absl::UnknownError(""), .done = false};
  const absl::MutexLock lock(&mutex_);
  waiting_.push_back(&waiter);
  const auto mine = [&] { return waiter.done || !leading_; };
  AwaitOffCore(mutex_, absl::Condition(&mine));
  if (waiter.done) return std::move(waiter.result);
  leading_ = true;
  // Those who came before may fill a batch or two: the lead is kept until the own change is
  // through.
  while (!waiter.done) Lead(TakeBatch());
  leading_ = false;
  return std::move(waiter.result);
}

void OpenSession::Lead(const Batch& batch) {
  mutex_.Unlock();
  Run(batch);
  mutex_.Lock();
  for (Waiter* member : batch) member->done = true;
  // The answers are out; whoever comes next waits until the journal is small again.
  mutex_.Unlock();
  RotateIfDue();
  mutex_.Lock();
}

OpenSession::Batch OpenSession::TakeBatch() {
  Batch batch;
  size_t bytes = 0;
  while (!waiting_.empty() && batch.size() < kBatchMost) {
    Waiter* next = waiting_.front();
    // A delete ends everything, so it stands alone.
    if (next->change->tombstone && !batch.empty()) break;
    for (const Message& message : next->change->messages) bytes += message.data.size();
    for (const Slot& slot : next->change->slots) bytes += slot.data.size();
    for (const JournalEntry& entry : next->change->entries) bytes += entry.data.size();
    if (!batch.empty() && bytes > kChangeBytes) break;
    waiting_.pop_front();
    batch.push_back(next);
    if (next->change->tombstone) break;
  }
  return batch;
}

absl::Status OpenSession::Look(
    const std::function<void(const Contents&, const std::shared_ptr<File>&)>& look) {
  absl::MutexLock lock(&mutex_);
  if (!opened_) {
    const auto nobody_leads = [this] { return !leading_; };
    AwaitOffCore(mutex_, absl::Condition(&nobody_leads));
    leading_ = true;
    mutex_.Unlock();
    const absl::Status status = EnsureOpen();
    mutex_.Lock();
    leading_ = false;
    RETURN_IF_ERROR(status);
  }
  look(opened_->contents, opened_->journal.file);
  return absl::OkStatus();
}

absl::Status OpenSession::EnsureOpen() {
  if (opened_) return absl::OkStatus();
  RETURN_IF_ERROR(environment_.fail_stop.Check());
  if (environment_.tombstones.Find(key_)) {
    return Refusal(Reason::kTombstoned, "this session was deleted");
  }
  absl::StatusOr<Opened> opened = RecoverSession(environment_.files, key_, environment_.identity);
  if (!opened.ok()) {
    const Reason reason = RefusalOf(opened.status()).reason();
    if (reason == Reason::kInternal) return Fail(opened.status());
    if (reason == Reason::kSessionNotFound) {
      environment_.listing.Remove(key_);
    } else {
      environment_.listing.Put(key_.tenant, MarkedRow(key_.session, opened.status()));
    }
    return opened.status();
  }
  const absl::MutexLock lock(&mutex_);
  opened_ = *std::move(opened);
  ShowRow(opened_->contents.head);
  return absl::OkStatus();
}

void OpenSession::Run(const Batch& batch) {
  const absl::Status open = EnsureOpen();
  const bool absent = Is(open, Reason::kSessionNotFound);
  absl::Status fate = absent ? absl::OkStatus() : open;
  if (fate.ok()) fate = environment_.fail_stop.Check();
  if (!fate.ok()) {
    for (Waiter* member : batch) member->result = fate;
    return;
  }
  CommitBatch decisions(environment_, key_, absent ? nullptr : &opened_->contents,
                        absent ? nullptr : opened_->journal.file.get());
  for (Waiter* member : batch) member->result = decisions.Decide(*member->change);
  if (decisions.applied().empty()) return;
  const Applied last = decisions.applied().back();
  fate = Write(decisions.applied());
  if (!fate.ok()) {
    // What was refused or repeated was so on a state that never came to be.
    for (Waiter* member : batch) member->result = fate;
    return;
  }
  const bool told = std::ranges::any_of(
      decisions.applied(), [](const Applied& applied) { return !applied.events.empty(); });
  if (told) environment_.bell.Ring(key_);
  NoteLeases(batch, last);
}

absl::Status OpenSession::Write(const std::vector<Applied>& applied) {
  if (applied.back().tombstone) return Bury(applied.back());
  return opened_ ? Append(applied) : Create(applied);
}

// Built in tmp/ and renamed into place: on any failure no session exists.
absl::Status OpenSession::Create(const std::vector<Applied>& applied) {
  Files& files = environment_.files;
  const Applied& last = applied.back();
  Opened fresh;
  fresh.manifest = {.key = key_, .uid = last.head.uid, .store = last.head.store};
  const std::string salt = environment_.random.Bytes(sizeof fresh.manifest.salt);
  std::memcpy(&fresh.manifest.salt, salt.data(), sizeof fresh.manifest.salt);
  uint32_t checksum = 0;
  std::string bytes = NewJournal(fresh.manifest, &checksum);
  const uint64_t at = bytes.size();
  const std::string payload = EncodeChanges(applied);
  bytes += EncodeFrame({.type = FrameType::kCommit,
                        .salt = fresh.manifest.salt,
                        .epoch = last.head.lease.epoch,
                        .revision = last.head.revision,
                        .previous = checksum},
                       payload, at);
  const std::string built = std::string(kTmp) + "/" + last.head.uid.value();
  const auto build = [&]() -> absl::Status {
    RETURN_IF_ERROR(files.MakeDirectory(built));
    RETURN_IF_ERROR(
        WriteNew(files, built + "/" + kManifestFile, EncodeManifest(fresh.manifest, last.head)));
    RETURN_IF_ERROR(WriteNew(files, built + "/" + kJournalFile, bytes));
    RETURN_IF_ERROR(files.SyncDirectory(built));
    const std::string tenant = std::string(kSessions) + "/" + key_.tenant.value();
    const absl::Status made = files.MakeDirectory(tenant);
    if (made.ok()) {
      RETURN_IF_ERROR(files.SyncDirectory(kSessions));
    }
    return absl::IsAlreadyExists(made) ? absl::OkStatus() : made;
  };
  const absl::Status status = build();
  if (absl::IsResourceExhausted(status)) {
    const absl::Status removed = RemoveTree(files, built);
    return removed.ok() ? Full() : Fail(removed);
  }
  if (!status.ok()) return Fail(status);
  const absl::Status renamed = files.Rename(built, DirectoryOf(key_));
  if (absl::IsAlreadyExists(renamed)) {
    return Refusal(Reason::kSessionExists, "a session of this id exists: resume it");
  }
  if (!renamed.ok()) return Fail(renamed);
  absl::Status synced = absl::OkStatus();
  if (!Sabotaged(Saboteur::kNoDirectorySync)) {
    synced = files.SyncDirectory(std::string(kSessions) + "/" + key_.tenant.value());
  }
  if (!synced.ok()) return Fail(synced);
  absl::StatusOr<Opened> opened = RecoverSession(files, key_, environment_.identity);
  if (!opened.ok()) return Fail(opened.status());
  const absl::MutexLock lock(&mutex_);
  opened_ = *std::move(opened);
  ShowRow(opened_->contents.head);
  return absl::OkStatus();
}

absl::Status OpenSession::TakeSpace(uint64_t bytes) {
  Journal& journal = opened_->journal;
  const uint64_t needed = journal.end + bytes;
  if (needed <= journal.allocated) return absl::OkStatus();
  const uint64_t step = std::clamp(journal.allocated, kFirstSpace, kMostSpace);
  const uint64_t target = (needed + step - 1) / step * step;
  const absl::Status taken = journal.file->Allocate(journal.allocated, target - journal.allocated);
  if (absl::IsResourceExhausted(taken)) return Full();
  if (!taken.ok()) return Fail(taken);
  journal.allocated = target;
  return absl::OkStatus();
}

absl::Status OpenSession::TakeUploads(const std::vector<Applied>& applied) {
  for (const Applied& change : applied) {
    if (!change.upload) continue;
    const absl::Status taken = TakeUpload(*change.upload);
    if (absl::IsResourceExhausted(taken)) return Full();
    if (absl::IsNotFound(taken)) {
      RETURN_IF_ERROR(CheckStillThere());
      return UploadIsGone();
    }
    if (!taken.ok()) return Fail(taken);
  }
  return absl::OkStatus();
}

// A crash behind this leaves a file that nothing names: the next rotation removes it.
absl::Status OpenSession::TakeUpload(const UploadLink& link) {
  Files& files = environment_.files;
  const std::string state = DirectoryOf(key_) + "/" + kStateDirectory;
  absl::Status made = files.MakeDirectory(state);
  if (made.ok()) {
    RETURN_IF_ERROR(files.SyncDirectory(DirectoryOf(key_)));
  } else if (!absl::IsAlreadyExists(made)) {
    return made;
  }
  RETURN_IF_ERROR(environment_.uploads.TakeOver(link.id, UploadPathOf(key_, link.id)));
  return files.SyncDirectory(state);
}

absl::Status OpenSession::Append(const std::vector<Applied>& applied) {
  Journal& journal = opened_->journal;
  const Head& head = applied.back().head;
  const std::string payload = EncodeChanges(applied);
  const std::string frame = EncodeFrame({.type = FrameType::kCommit,
                                         .salt = opened_->manifest.salt,
                                         .epoch = head.lease.epoch,
                                         .revision = head.revision,
                                         .previous = journal.last_checksum},
                                        payload, journal.end);
  RETURN_IF_ERROR(TakeSpace(frame.size()));
  RETURN_IF_ERROR(TakeUploads(applied));
  const uint64_t offset = journal.end;
  absl::Status written = absl::OkStatus();
  if (Sabotaged(Saboteur::kAcknowledgeBeforeSync)) written = journal.file->Sync();
  if (written.ok()) written = journal.file->Write(offset, frame);
  if (written.ok() && SyncsEachCommit()) written = journal.file->Sync();
  if (!written.ok()) return Fail(written);
  RETURN_IF_ERROR(CheckStillThere());
  journal.end += frame.size();
  journal.last_checksum = ReadFrame(frame, 0, std::nullopt).frame.checksum;
  Publish(applied, payload, offset + kFrameHeader);
  return absl::OkStatus();
}

bool OpenSession::SyncsEachCommit() const {
  return !environment_.by_interval && !Sabotaged(Saboteur::kNoFileSync) &&
         !Sabotaged(Saboteur::kAcknowledgeBeforeSync);
}

// What was written is an acknowledgement only if it still stands under the session's name.
absl::Status OpenSession::CheckStillThere() {
  const absl::StatusOr<FileInfo> info =
      environment_.files.Stat(DirectoryOf(key_) + "/" + kJournalFile);
  if (info.ok() && info->inode == opened_->journal.inode) return absl::OkStatus();
  const absl::MutexLock lock(&mutex_);
  opened_.reset();
  // Whoever puts the directory back finds the change in it.
  return Refusal(Reason::kSessionNotFound, "the session's directory was removed or replaced")
      .With("outcome", "unknown");
}

void OpenSession::Publish(const std::vector<Applied>& applied, std::string_view payload,
                          uint64_t offset) {
  const auto changes = DecodeChanges(payload);
  const absl::MutexLock lock(&mutex_);
  dirty_ = environment_.by_interval;
  changed_ = environment_.clock.SinceBoot();
  for (size_t at = 0; at < changes->size(); ++at) {
    opened_->contents.Absorb((*changes)[at], payload, offset);
  }
  ShowRow(applied.back().head);
}

// The tombstone is the switch; removing the directory can be finished by anybody later.
absl::Status OpenSession::Bury(const Applied& applied) {
  const absl::Status added = environment_.tombstones.Add(
      {.key = key_,
       .uid = applied.head.uid,
       .revision = applied.head.revision,
       .last_event = applied.events.empty() ? Event() : applied.events.back(),
       .request = applied.request ? std::optional(applied.request->id) : std::nullopt,
       .removed = false});
  if (absl::IsResourceExhausted(added)) return Full();
  if (!added.ok()) return Fail(added);
  {
    const absl::MutexLock lock(&mutex_);
    opened_.reset();
  }
  environment_.leases.Forget(key_);
  environment_.listing.Remove(key_);
  Files& files = environment_.files;
  const std::string grave = std::string(kTmp) + "/" + applied.head.uid.value() + ".deleted";
  absl::Status removed = files.Rename(DirectoryOf(key_), grave);
  if (removed.ok()) {
    removed = files.SyncDirectory(std::string(kSessions) + "/" + key_.tenant.value());
  }
  if (removed.ok()) removed = RemoveTree(files, grave);
  if (removed.ok()) removed = environment_.tombstones.NoteRemoved(key_);
  return removed.ok() ? removed : Fail(removed);
}

void OpenSession::NoteLeases(const Batch& batch, const Applied& last) {
  if (last.tombstone) return;
  environment_.leases.NoteMarks(key_, last.head);
  const LeaseRecord& lease = last.head.lease;
  const bool renewed = std::ranges::any_of(batch, [](const Waiter* member) {
    const bool applied =
        member->result.ok() && member->result->kind == CommitResult::Kind::kApplied;
    return applied && (member->change->grant || member->change->renews_lease);
  });
  if (renewed && lease.held) {
    environment_.leases.Renew(key_, lease.epoch, lease.ttl);
  } else {
    environment_.leases.Touch(key_);
  }
}

void OpenSession::RotateIfDue() {
  if (!opened_ || !environment_.fail_stop.Check().ok()) return;
  const Opened& old = *opened_;
  if (!old.contents.head.lease.held) CutBack();
  const bool due =
      old.contents.changes >= environment_.rotate_changes || old.journal.end >= kRotateBytes;
  if (!due) return;
  Files& files = environment_.files;
  absl::StatusOr<Opened> next =
      SwitchFiles(files, key_, old, environment_.clock.Wall(), environment_.random);
  // Nothing was switched: the journal goes on growing until there is space again, or for ever
  // beside an item that cannot be read.
  if (absl::IsResourceExhausted(next.status()) || absl::IsDataLoss(next.status())) return;
  absl::Status status = next.status();
  if (status.ok()) {
    // Steps 3 and 4 need what only the leader touches; readers go on with the old files meanwhile.
    status = ReplaceJournalAndPublish(*std::move(next));
  }
  if (!status.ok()) Fail(status).IgnoreError();
}

absl::Status OpenSession::ReplaceJournalAndPublish(Opened next) {
  Files& files = environment_.files;
  ASSIGN_OR_RETURN(next.journal, ReplaceJournal(files, key_, next.manifest));
  {
    const absl::MutexLock lock(&mutex_);
    opened_ = std::move(next);
    RequestTable& requests = *opened_->contents.requests;
    requests.NoteWritten();
    requests.DropOlder(environment_.clock.Wall() - kRequestsKept);
  }
  return RemoveUnnamed(files, key_, opened_->contents, opened_->manifest.file);
}

void OpenSession::LeadIfFree(const std::function<void()>& act) {
  {
    const absl::MutexLock lock(&mutex_);
    if (leading_ || !opened_) return;
    leading_ = true;
  }
  act();
  const absl::MutexLock lock(&mutex_);
  leading_ = false;
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
  {
    const absl::MutexLock lock(&mutex_);
    if (!opened_ || !dirty_) return;
    dirty_ = false;
    file = opened_->journal.file;
  }
  const absl::Status synced = file->Sync();
  if (!synced.ok()) Fail(synced).IgnoreError();
}

// Gives preallocated space back. Harmless if it fails: recovery takes zeros behind the end for what
// they are.
void OpenSession::CutBack() {
  if (!opened_ || opened_->journal.allocated == opened_->journal.end) return;
  if (!environment_.fail_stop.Check().ok()) return;
  if (opened_->journal.file->Truncate(opened_->journal.end).ok()) {
    opened_->journal.allocated = opened_->journal.end;
  }
}

}  // namespace holdfast::fs
