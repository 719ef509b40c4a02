// A decorator of a store, which fails or waits on command of a test.
#ifndef HOLDFAST_TESTS_RPC_SCRIPTED_STORE_H_
#define HOLDFAST_TESTS_RPC_SCRIPTED_STORE_H_

#include "session/forwarding_store.h"
#include "session/store.h"
#include "session/store_call.h"

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::test {

// What a test does to the store. Any thread may call; outlives the store.
class Script {
 public:
  // Loads, commits, uploads, reads, List and Check are answered with `failure` until it is OK
  // again.
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
  int Commits() { return Calls(StoreCall::kCommit); }
  // How many uploads the store was asked to forget.
  int Drops() { return Calls(StoreCall::kDropUpload); }
  // How often the store was asked to check itself.
  int Checks() { return Calls(StoreCall::kCheck); }
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
  // Answers how `call` shall fail.
  absl::Status Before(StoreCall call);
  // Counts `call`, waits while the store is held, then answers how the call shall fail.
  absl::Status Enter(StoreCall call);
  absl::Status Health();
  int Calls(StoreCall call);
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
  std::map<StoreCall, int> calls_ ABSL_GUARDED_BY(mutex_);  // those that Fail concerns
  int loads_ ABSL_GUARDED_BY(mutex_) = 0;
  int event_reads_ ABSL_GUARDED_BY(mutex_) = 0;
  int lookups_ ABSL_GUARDED_BY(mutex_) = 0;
  bool loses_wakeups_ ABSL_GUARDED_BY(mutex_) = false;
};

class ScriptedStore final : public ForwardingStore {
 public:
  ScriptedStore(std::unique_ptr<SessionStore> store, Script& script)
      : ForwardingStore(std::move(store)), script_(script) {}

  [[nodiscard]] StoreDescription Describe() const override;
  absl::StatusOr<LoadedSession> LoadForDecision(const SessionKey& key,
                                                const std::optional<RequestId>& request) override;
  std::vector<GroupedResult> CommitMany(const std::vector<GroupedChange>& changes) override;
  std::shared_ptr<const Head> CachedHead(const SessionKey& key) override;
  absl::StatusOr<EventPage> ReadEvents(const SessionKey& key, EventSeq after,
                                       PageLimit limit) override;
  absl::StatusOr<Wakeups> WaitForEvents(absl::Duration at_most) override;

 private:
  absl::Status Around(StoreCall call, absl::FunctionRef<absl::Status()> act) override;

  Script& script_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_RPC_SCRIPTED_STORE_H_
