// A decorator of a store, which fails or waits on command of a test.
#ifndef HOLDFAST_TESTS_RPC_SCRIPTED_STORE_H_
#define HOLDFAST_TESTS_RPC_SCRIPTED_STORE_H_

#include "session/store.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::test {

// What a test does to the store. Any thread may call; outlives the store.
class Script {
 public:
  // Every call but Describe and Deactivate is answered with `failure` until it is OK again.
  void Fail(absl::Status failure);
  // Every call that Fail concerns throws until this is called with false.
  void Throw(bool throws);
  void FailHealth(absl::Status failure);
  // Calls wait from now on until Release.
  void Hold();
  void Release();
  // Waits until `count` calls wait.
  void AwaitWaiting(int count);
  // How many changes were handed to the store.
  int Commits();
  // How many uploads the store was asked to forget.
  int Drops();
  // How often the store was asked to check itself.
  int Checks();
  // How many times a decision loaded a session.
  int Loads();
  // Waits until that has been more often than `before`.
  void AwaitLoadAfter(int before);
  // How many times a page of events was read.
  int EventReads();
  // From now on WaitForEvents reports no new events.
  void LoseWakeups();
  // The store says that changes are better committed together. To be called before the server
  // starts.
  void OfferGroups() { offers_groups_ = true; }
  // From now on changes that are committed together are, and their answers are lost.
  void LoseGroups() { loses_groups_ = true; }
  // How many groups there were.
  int Groups() { return groups_; }
  // How often a session was looked up among those that the store remembers: once for each call that
  // a batch takes.
  int Lookups();
  // Waits until that has been `count` times.
  void AwaitLookups(int count);

 private:
  friend class ScriptedStore;
  // Waits while the store is held, then answers how the call shall fail.
  absl::Status Enter();
  absl::Status Health();
  void CountCommit();
  void CountDrop();
  void CountCheck();
  void CountLoad();
  void CountEventRead();
  void CountLookup();
  bool LosesWakeups();

  std::atomic<bool> offers_groups_ = false;
  std::atomic<bool> loses_groups_ = false;
  std::atomic<int> groups_ = 0;
  absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  absl::Status health_ ABSL_GUARDED_BY(mutex_);
  bool throws_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  int commits_ ABSL_GUARDED_BY(mutex_) = 0;
  int checks_ ABSL_GUARDED_BY(mutex_) = 0;
  int drops_ ABSL_GUARDED_BY(mutex_) = 0;
  int loads_ ABSL_GUARDED_BY(mutex_) = 0;
  int event_reads_ ABSL_GUARDED_BY(mutex_) = 0;
  int lookups_ ABSL_GUARDED_BY(mutex_) = 0;
  bool loses_wakeups_ ABSL_GUARDED_BY(mutex_) = false;
};

class ScriptedStore final : public SessionStore {
 public:
  ScriptedStore(std::unique_ptr<SessionStore> store, Script& script)
      : store_(std::move(store)), script_(script) {}

  [[nodiscard]] StoreDescription Describe() const override;
  absl::Status Init() override;
  absl::Status Activate() override { return store_->Activate(); }
  absl::Status Deactivate() override { return store_->Deactivate(); }
  void Dispose() override { store_->Dispose(); }
  absl::StatusOr<LoadedSession> LoadForDecision(const SessionKey& key,
                                                const std::optional<RequestId>& request) override;
  absl::StatusOr<LoadedSession> LoadForOutcome(const SessionKey& key,
                                               const RequestId& request) override;
  absl::StatusOr<CommitResult> Commit(const Change& change) override;
  std::vector<GroupedResult> CommitMany(const std::vector<GroupedChange>& changes) override;
  std::shared_ptr<const Head> CachedHead(const SessionKey& key) override;
  absl::Status StageUpload(const SessionKey& key, const UploadId& upload, uint64_t offset,
                           std::string_view bytes) override;
  absl::Status DropUpload(const SessionKey& key, const UploadId& upload) override;
  absl::StatusOr<std::string> ReadStaged(const SessionKey& key, const StagedBytes& bytes,
                                         uint64_t offset, size_t count) override;
  absl::StatusOr<MessagePage> ReadMessages(const SessionKey& key, std::optional<Revision> revision,
                                           MessageSeq after, PageLimit limit) override;
  absl::StatusOr<SlotPage> ReadSlots(const SessionKey& key, const SlotQuery& query) override;
  absl::StatusOr<JournalPage> ReadJournal(const SessionKey& key, const JournalQuery& query,
                                          PageLimit limit) override;
  absl::StatusOr<EventPage> ReadEvents(const SessionKey& key, EventSeq after,
                                       PageLimit limit) override;
  absl::StatusOr<Event> ReadLastEvent(const SessionKey& key) override;
  absl::StatusOr<Wakeups> WaitForEvents(absl::Duration at_most) override;
  absl::StatusOr<AuditPage> ReadAudit(const SessionKey& key, AuditSeq after,
                                      PageLimit limit) override;
  absl::StatusOr<ListPage> List(const ListQuery& query) override;
  absl::StatusOr<std::vector<SessionKey>> ListDue(DueKind kind, absl::Duration quiet,
                                                  const std::optional<SessionKey>& after,
                                                  size_t limit) override;
  std::vector<absl::StatusOr<Renewed>> RenewLeases(
      const std::vector<RenewRequest>& requests) override;
  absl::Status CheckHealth() override;
  absl::StatusOr<StoreCheck> Check() override;

 private:
  std::unique_ptr<SessionStore> store_;
  Script& script_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_RPC_SCRIPTED_STORE_H_
