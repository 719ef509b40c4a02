// How the leader makes a batch durable: a new session, a frame behind the others, or a tombstone.
#include "platform/status_macros.h"
#include "session/answers.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/change_record.h"
#include "store-fs/deleted_session.h"
#include "store-fs/frame.h"
#include "store-fs/layout.h"
#include "store-fs/new_session.h"
#include "store-fs/open_session.h"
#include "store-fs/root.h"

#include <optional>
#include <string>
#include <utility>

namespace holdfast::fs {
namespace {

absl::Status JournalIsFull() {
  return StorageFull("the session's journal is as long as it may be and could not be rotated");
}

}  // namespace

absl::Status OpenSession::Write(CommitBatch& batch) {
  RETURN_IF_ERROR(environment_.space.Check());
  if (batch.applied().back().tombstone) {
    return FailingOnException([&] { return DeleteSession(batch.applied().back()); });
  }
  return stored_ ? Append(batch) : Create(batch);
}

// Nothing was written that counts.
absl::Status OpenSession::Unwritten(const absl::Status& cause) {
  if (absl::IsResourceExhausted(cause)) return environment_.space.Ended();
  return environment_.fail_stop.FailUnwritten(cause);
}

absl::Status OpenSession::GiveUpCreating(const absl::Status& cause, const Manifest& manifest) {
  if (!IsLack(cause)) return Fail(cause);
  const absl::Status removed = RemoveTree(environment_.files, BuildingPathOf(manifest));
  return removed.ok() || IsLack(removed) ? Unwritten(cause) : Fail(removed);
}

// Built in tmp/ and renamed into place: on any failure no session exists.
absl::Status OpenSession::Create(CommitBatch& batch) {
  Files& files = environment_.files;
  std::optional<Tombstone> former = environment_.tombstones.Find(key_);
  if (former && !former->removed) {
    const absl::Status removed = FinishRemoval(environment_, *former);
    if (!removed.ok()) return IsLack(removed) ? FormerIsStillThere() : Fail(removed);
    former->removed = true;
  }
  const Applied& last = batch.applied().back();
  Manifest manifest = {.key = key_, .uid = last.head.uid, .store = last.head.store};
  manifest.salt = NewSalt(environment_.random);
  const EncodedFrame start = EncodeStart({.salt = manifest.salt, .number = manifest.file});
  ASSIGN_OR_RETURN(const EncodedFrame frame, SealFrame({.type = FrameType::kCommit,
                                                        .salt = manifest.salt,
                                                        .epoch = last.head.lease.epoch,
                                                        .revision = last.head.revision,
                                                        .previous = start.checksum},
                                                       batch.TakePayload(), start.bytes.size()));
  const absl::Status made = BuildSession(files, manifest, last.head, start.bytes + frame.bytes);
  if (!made.ok()) return GiveUpCreating(made, manifest);
  if (former) {
    former->next = manifest.uid;
    const absl::Status named = environment_.tombstones.Add(*former);
    if (!named.ok()) return GiveUpCreating(named, manifest);
  }
  return FailingOnException([&] { return PutInPlace(manifest, last.head.revision); });
}

absl::Status OpenSession::PutInPlace(const Manifest& manifest, Revision revision) {
  Files& files = environment_.files;
  const absl::Status renamed = files.Rename(BuildingPathOf(manifest), DirectoryOf(key_));
  if (absl::IsAlreadyExists(renamed) && environment_.tombstones.Find(key_)) {
    return StoreUnavailable("a directory of the deleted session is there again: remove it",
                            Fate::kNoEffect);
  }
  if (absl::IsAlreadyExists(renamed)) {
    return Refusal(Reason::kSessionExists, "a session of this id exists: resume it");
  }
  if (!renamed.ok()) return GiveUpCreating(renamed, manifest);
  const absl::Status synced =
      files.SyncDirectory(std::string(kSessions) + "/" + key_.tenant.value());
  if (!synced.ok()) return Fail(synced);
  absl::StatusOr<StoredSession> stored = RecoverSession(files, key_, environment_.identity);
  if (IsShortage(stored.status())) {
    // It is there, whole and durable: the next call opens it.
    return StoreUnavailable("the server has no file descriptor or no memory left for this",
                            Fate::kUnknown);
  }
  if (!stored.ok()) return Fail(stored.status());
  NoteDurable(stored->journal, revision);
  environment_.space.Taken();
  const absl::MutexLock lock(&mutex_);
  stored_ = *std::move(stored);
  ShowRow(stored_->state.head);
  return absl::OkStatus();
}

absl::Status OpenSession::TakeSpace(uint64_t bytes) {
  Journal& journal = stored_->journal;
  const uint64_t most = environment_.identity.bounds.journal;
  const uint64_t needed = journal.end + bytes;
  if (needed > most) return JournalIsFull();
  if (needed <= journal.allocated) return absl::OkStatus();
  const absl::Status taken = Preallocate(*journal.file, journal.allocated, needed, most);
  if (!taken.ok()) return Unwritten(taken);
  // A few bytes more are no room for a rotation that found none.
  if (!rotation_.failed()) environment_.space.Taken();
  return absl::OkStatus();
}

absl::Status OpenSession::TakeUploads(const std::vector<Applied>& applied) {
  for (const Applied& change : applied) {
    if (!change.upload) continue;
    const absl::Status taken = TakeUpload(*change.upload);
    if (absl::IsNotFound(taken)) {
      RETURN_IF_ERROR(CheckStillThere());
      return UploadIsGone();
    }
    if (!taken.ok()) return Unwritten(taken);
  }
  return absl::OkStatus();
}

// A crash behind this leaves a file that nothing names: the next rotation removes it.
absl::Status OpenSession::TakeUpload(const UploadLink& link) {
  Files& files = environment_.files;
  const std::string state = DirectoryOf(key_) + "/" + kStateDirectory;
  absl::Status made = files.MakeDirectory(state);
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  // Before the first rotation is through, its name may not be durable though it is there.
  if (made.ok() || stored_->manifest.file == 0) {
    RETURN_IF_ERROR(files.SyncDirectory(DirectoryOf(key_)));
  }
  RETURN_IF_ERROR(environment_.uploads.TakeOver(link.id, UploadPathOf(key_, link.id)));
  return files.SyncDirectory(state);
}

// A rotation that found no space for the next journal has left the one that it covers.
absl::Status OpenSession::MakeJournal() {
  absl::StatusOr<Journal> next = ReplaceJournal(environment_.files, key_, stored_->manifest);
  if (!next.ok()) return Unwritten(next.status());
  environment_.space.Taken();
  NoteDurable(*next, stored_->state.head.revision);
  const absl::MutexLock lock(&mutex_);
  stored_->journal = *std::move(next);
  return absl::OkStatus();
}

absl::Status OpenSession::Append(CommitBatch& batch) {
  if (stored_->journal.covered) {
    RETURN_IF_ERROR(FailingOnException([this] { return MakeJournal(); }));
  }
  ASSIGN_OR_RETURN(const EncodedFrame frame, NextFrame(batch));
  return FailingOnException([&] { return AppendFrame(batch.applied(), frame); });
}

absl::StatusOr<EncodedFrame> OpenSession::NextFrame(CommitBatch& batch) const {
  const Journal& journal = stored_->journal;
  const Head& head = batch.applied().back().head;
  return SealFrame({.type = FrameType::kCommit,
                    .salt = stored_->manifest.salt,
                    .epoch = head.lease.epoch,
                    .revision = head.revision,
                    .previous = journal.last_checksum},
                   batch.TakePayload(), journal.end);
}

absl::Status OpenSession::AppendFrame(const std::vector<Applied>& applied,
                                      const EncodedFrame& frame) {
  RETURN_IF_ERROR(TakeSpace(frame.bytes.size()));
  RETURN_IF_ERROR(TakeUploads(applied));
  WriteAheadLog* const log = environment_.log;
  if (log == nullptr || frame.bytes.size() > log->longest_frame()) {
    return WriteToJournal(applied, frame, nullptr);
  }
  absl::StatusOr<WriteAheadLog::Hold> hold = log->Append({Placed(frame)});
  if (IsLack(hold.status())) return Unwritten(hold.status());
  RETURN_IF_ERROR(hold.status());
  return WriteToJournal(applied, frame, &*hold);
}

PlacedFrame OpenSession::Placed(const EncodedFrame& frame) const {
  return {.key = &key_,
          .salt = stored_->manifest.salt,
          .offset = stored_->journal.end,
          .frame = frame.bytes};
}

absl::Status OpenSession::WriteToJournal(const std::vector<Applied>& applied,
                                         const EncodedFrame& frame, WriteAheadLog::Hold* hold) {
  Journal& journal = stored_->journal;
  const uint64_t offset = journal.end;
  const bool syncs = hold == nullptr && SyncsEachCommit();
  absl::Status written = journal.file->Write(offset, frame.bytes);
  if (written.ok() && syncs) written = journal.file->Sync();
  if (!written.ok()) return Fail(written);
  if (hold != nullptr) hold->Cover(journal.file);
  RETURN_IF_ERROR(CheckStillThere());
  journal.end += frame.bytes.size();
  journal.last_checksum = frame.checksum;
  if (SyncsEachCommit()) NoteDurable(journal, applied.back().head.revision);
  environment_.meter.GroupWritten({.changes = applied.size(), .bytes = frame.bytes.size()});
  Publish(applied, frame.payload(), offset + kFrameHeader);
  return absl::OkStatus();
}

bool OpenSession::SyncsEachCommit() const { return !environment_.by_interval; }

// A change may be acknowledged only if its journal still has the session's name.
absl::Status OpenSession::CheckStillThere() {
  const absl::StatusOr<FileInfo> info =
      environment_.files.Stat(DirectoryOf(key_) + "/" + kJournalFile);
  if (info.ok() && info->inode == stored_->journal.identity.inode) return absl::OkStatus();
  const bool other =
      info.ok() || absl::IsNotFound(info.status()) || absl::IsFailedPrecondition(info.status());
  if (!other) return Fail(info.status());
  // A directory that is put back has the change, and those before.
  SyncNow();
  ForgetInLog();
  const absl::MutexLock lock(&mutex_);
  stored_.reset();
  return Refusal(Reason::kSessionNotFound, "the session's directory was removed or replaced")
      .With("outcome", "unknown");
}

void OpenSession::Publish(const std::vector<Applied>& applied, std::string_view payload,
                          uint64_t offset) {
  const auto changes = DecodeChanges(payload);
  const absl::MutexLock lock(&mutex_);
  dirty_ = environment_.by_interval || environment_.log != nullptr;
  changed_ = environment_.clock.SinceBoot();
  for (size_t at = 0; at < changes->size(); ++at) {
    stored_->state.Absorb((*changes)[at], payload, offset);
  }
  written_ = {.file = stored_->journal.identity,
              .end = stored_->journal.end,
              .revision = applied.back().head.revision};
  ShowRow(applied.back().head);
}

// The tombstone is the switch; any later start can finish the removal of the directory.
absl::Status OpenSession::DeleteSession(const Applied& applied) {
  const Tombstone tombstone{
      .key = key_,
      .uid = applied.head.uid,
      .revision = applied.head.revision,
      .last_event = applied.events.empty() ? Event() : applied.events.back(),
      .request = applied.request ? std::optional(applied.request->id) : std::nullopt,
      .generation = applied.head.generation,
      .removed = false,
      .next = std::nullopt};
  const absl::Status added = environment_.tombstones.Add(tombstone);
  if (absl::IsResourceExhausted(added)) return environment_.space.Ended();
  if (!added.ok()) return Fail(added);
  ForgetInLog();  // nothing of it is to be there
  {
    const absl::MutexLock lock(&mutex_);
    stored_.reset();
  }
  environment_.leases.Forget(key_);
  environment_.watermarks.Forget(key_);
  environment_.listing.Remove(key_);
  const absl::Status removed = RemoveDirectory(environment_, tombstone);
  // What a lack leaves there is removed at the next start, or by a creation under this id.
  return removed.ok() || IsLack(removed) ? absl::OkStatus() : Fail(removed);
}

}  // namespace holdfast::fs
