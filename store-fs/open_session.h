// One session of the store: the queue of its changes, and its durable state.
//
// A commit path without a log of its own for the store: callers queue, one of them leads, decides
// all that wait, writes one frame, syncs once, and answers everybody.
#ifndef HOLDFAST_STORE_FS_OPEN_SESSION_H_
#define HOLDFAST_STORE_FS_OPEN_SESSION_H_

#include "session/change.h"
#include "session/queue_progress.h"
#include "session/store.h"
#include "store-fs/commit_batch.h"
#include "store-fs/environment.h"
#include "store-fs/merged_run.h"
#include "store-fs/recovery.h"
#include "store-fs/replacement.h"
#include "store-fs/session_state.h"
#include "store-fs/space.h"
#include "store-fs/write_ahead_log.h"
#include "store-fs/write_ahead_record.h"

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::fs {

// Any thread may call.
class OpenSession {
 public:
  OpenSession(Environment& environment, SessionKey key)
      : environment_(environment), key_(std::move(key)) {}
  OpenSession(const OpenSession&) = delete;
  OpenSession& operator=(const OpenSession&) = delete;
  ~OpenSession() = default;

  // See SessionStore::Commit.
  absl::StatusOr<CommitResult> Commit(const Change& change);

  // A change that is decided and leads its session until it goes away.
  struct Member;
  // The member of `change`; nullptr where it must be committed by itself. Does not wait.
  static std::unique_ptr<Member> TryLead(const std::shared_ptr<OpenSession>& session,
                                         const Change& change);
  // Writes to the journal what the write-ahead log has of it.
  GroupedResult FinishMember(Member& member, WriteAheadLog::Hold& hold);

  // Calls `look` with what is durable, under the lock: copy out what is needed, and no I/O. Opens
  // the session first if it is not. The shared file keeps the journal readable while it is being
  // replaced.
  absl::Status Look(
      const std::function<void(const SessionState&, const std::shared_ptr<File>&)>& look);

  // The durable head. Opens the session first if it is not; the error is then that of the opening.
  absl::StatusOr<Head> DurableHead();
  // The same; nullptr when the session is not open. Waits for no disk.
  std::shared_ptr<const Head> CachedHead();

  // Which session it is. Opens it first if it is not open; the error is then that of the opening.
  absl::StatusOr<SessionUid> Uid();
  // False when another one has come in its place.
  bool IsStill(const SessionUid& uid);

  // Frees preallocated space if no call is changing the session or has changed it for `idle`.
  void CutBackIfIdle(absl::Duration idle);
  // Makes everything durable and frees preallocated space. The object is not used afterwards.
  void Close();
  // With durability by interval: makes what was acknowledged since the last time durable.
  void SyncNow();
  // Writes sealed logs that are worth it anew, in one step. True when there may be more to do. One
  // thread at a time.
  bool Compact();

 private:
  struct Waiter {
    const Change* change = nullptr;
    absl::StatusOr<CommitResult> result;
    std::exception_ptr exception;  // instead of a result
    bool done = false;
  };
  // Members go from one list to another without an allocation, so that no exception loses one.
  using Batch = std::list<Waiter*>;

  bool DecideMember(Member& member);

  Batch TakeBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until the change was settled or may be led. When the session has stalled, all that wait
  // but the first kWaitersPerSession are settled as OVERLOADED.
  void Await(Waiter& self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until no call leads; OVERLOADED when too many wait for that and the session has stalled.
  absl::Status AwaitNoLeader() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Settles one batch as the leader. Gives the lock away meanwhile and takes it again. Throws
  // nothing: what the work on a change throws is thrown again by its own call.
  void Lead(Batch batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls `act` as the leader, where no call leads. Gives the lock away meanwhile and takes it
  // again.
  absl::Status DoLeading(absl::FunctionRef<absl::Status()> act)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the caller the leader of an open session that no call leads or waits to lead.
  bool BeginLead();
  void EndLead();
  // DoLeading without the lock held, where BeginLead can.
  void LeadIfFree(const std::function<void()>& act);

  // The rest is the leader's alone and runs without the lock, but for the moment a result is
  // published.
  absl::Status EnsureOpen();
  void Settle(Batch& batch);
  // Run, whose exception is noted with each member. True when there was one: nothing was written.
  bool Throws(Batch& batch);
  void Run(Batch& batch);
  void Decide(Batch& batch, CommitBatch& decisions);
  // What throws in here has written nothing.
  absl::Status Write(CommitBatch& batch);
  absl::Status Create(CommitBatch& batch);
  absl::Status PutInPlace(const Manifest& manifest, Revision revision);
  absl::Status GiveUpCreating(const absl::Status& cause, const Manifest& manifest);
  absl::Status Append(CommitBatch& batch);
  // The frame of `batch` behind those that the journal has.
  [[nodiscard]] absl::StatusOr<EncodedFrame> NextFrame(CommitBatch& batch) const;
  absl::Status AppendFrame(const std::vector<Applied>& applied, const EncodedFrame& frame);
  [[nodiscard]] PlacedFrame Placed(const EncodedFrame& frame) const;
  // `hold` is nullptr for a frame that is not in the write-ahead log.
  absl::Status WriteToJournal(const std::vector<Applied>& applied, const EncodedFrame& frame,
                              WriteAheadLog::Hold* hold);
  // The journal needs no sync for the write-ahead log any more.
  void ForgetInLog();
  absl::Status MakeJournal();
  absl::Status TakeSpace(uint64_t bytes);
  // Puts staged uploads where the frame that names them will look for them.
  absl::Status TakeUploads(const std::vector<Applied>& applied);
  absl::Status TakeUpload(const UploadLink& link);
  [[nodiscard]] bool SyncsEachCommit() const;
  absl::Status CheckStillThere();
  absl::Status DeleteSession(const Applied& applied);
  void Publish(const std::vector<Applied>& applied, std::string_view payload, uint64_t offset);
  void Notify(const Batch& batch, const CommitBatch& decisions);
  // Notes how far the journal is durable.
  void NoteDurable(const Journal& journal, Revision revision);
  void NoteLeases(const Batch& batch, const Applied& last);
  [[nodiscard]] bool RotationIsDue() const;
  [[nodiscard]] bool HasDueRotation();
  // RotateIfDue, after whose exception the store fails.
  void Rotate();
  void RotateIfDue();
  void PutOffRotation(const absl::Status& cause, absl::Duration now);
  absl::Status ReplaceJournalAndPublish(StoredSession next);
  void CutBack();
  // What a compaction starts from; nullopt when there is nothing to do.
  std::optional<Manifest> ManifestToCompact();
  absl::Status SwitchTo(Replacement& replacement, const Manifest& from);
  absl::Status PublishReplacement(Replacement& replacement);
  // What a lack leaves there is removed by the next rotation.
  absl::Status RemoveFiles(const std::vector<std::string>& paths);
  absl::Status Unwritten(const absl::Status& cause);
  absl::Status FailingOnException(absl::FunctionRef<absl::Status()> act) {
    return environment_.fail_stop.FailingOnException(act);
  }
  absl::Status Fail(const absl::Status& cause) { return environment_.fail_stop.Fail(cause); }
  void ShowRow(const Head& head) {
    environment_.listing.Put(key_.tenant, RowOf(key_.session, head));
  }

  Environment& environment_;
  const SessionKey key_;
  absl::Mutex mutex_;
  std::list<Waiter*> waiting_ ABSL_GUARDED_BY(mutex_);
  bool leading_ ABSL_GUARDED_BY(mutex_) = false;
  QueueProgress progress_ ABSL_GUARDED_BY(mutex_);
  size_t openers_ ABSL_GUARDED_BY(mutex_) = 0;  // reads that wait for the session to be opened
  // Written by the leader under the lock; the leader alone may read it without.
  std::optional<StoredSession> stored_;
  Backoff rotation_;                                // the leader's alone
  std::set<uint64_t> unreadable_;                   // sealed logs that Compact leaves as they are
  UnreadableRuns unreadable_runs_;                  // the same of runs
  bool dirty_ ABSL_GUARDED_BY(mutex_) = false;      // acknowledged and not yet synced
  Watermark written_ ABSL_GUARDED_BY(mutex_);       // up to where, then
  absl::Duration changed_ ABSL_GUARDED_BY(mutex_);  // when, by the boot clock
};

struct OpenSession::Member {
  Member() = default;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member();

  [[nodiscard]] PlacedFrame placed() const { return session->Placed(frame); }

  std::shared_ptr<OpenSession> session;
  Waiter waiter;
  std::unique_ptr<CommitBatch> decisions;
  EncodedFrame frame;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_OPEN_SESSION_H_
