// A store that fails on command. Unarmed it passes every call on and passes the suite.
//
//   FaultyStore store(std::move(inner));
//   store.LoseReply(FaultyCall::kCommit);         // the next commit: acts, outcome unknown
//   store.Fail(FaultyCall::kLoad, 2);             // the second load from now: no effect
//   auto held = store.Hold(FaultyCall::kCommit);  // the next commit: waits before it acts
//   ... held->WaitUntilReached(); ... held->Open();
#ifndef HOLDFAST_TESTS_SUPPORT_FAULTY_STORE_H_
#define HOLDFAST_TESTS_SUPPORT_FAULTY_STORE_H_

#include "session/forwarding_store.h"
#include "session/store.h"
#include "session/store_call.h"

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::test {

// Which calls a fault counts.
enum class FaultyCall : uint8_t {
  kAny,
  kLoad,
  kCommit,
  kCommitMany,
  kStage,
  kRead,
  kList,
  kRenew,
  kHealth,
  kWait
};

// A call that waits where a test wants it.
class HeldCall {
 public:
  void WaitUntilReached() const { reached_.WaitForNotification(); }
  void Open() { open_.Notify(); }

 private:
  friend class FaultyStore;
  void Wait() {
    reached_.Notify();
    open_.WaitForNotification();
  }
  absl::Notification reached_;
  absl::Notification open_;
};

// Any thread may call.
class FaultyStore final : public ForwardingStore {
 public:
  explicit FaultyStore(std::unique_ptr<SessionStore> store) : ForwardingStore(std::move(store)) {}

  // The `nth` call of that kind from now (1: the next) fails without acting: STORE_UNAVAILABLE,
  // outcome known. Several faults may be armed; each happens once.
  void Fail(FaultyCall call, int nth = 1);
  // ... fails with `error`, without acting.
  void FailWith(FaultyCall call, absl::Status error, int nth = 1);
  // ... acts, and then says STORE_UNAVAILABLE with outcome unknown.
  void LoseReply(FaultyCall call, int nth = 1);
  // ... waits until it is opened, and then acts.
  std::shared_ptr<HeldCall> Hold(FaultyCall call, int nth = 1);
  // The next listing says that it is not complete.
  void ListIncompletely();
  // From now on each load and commit of `key` runs `fault` first. An error that it returns is the
  // call's answer, and an exception that it throws leaves the call.
  void InjectFault(const SessionKey& key, std::function<absl::Status()> fault);
  // From now on Commit commits by CommitMany what may be.
  void CommitInGroups() { grouped_ = true; }
  // Says from now on that so many calls of CommitMany at once are worth making.
  void OfferGroups(size_t at_once) { groups_at_once_ = at_once; }
  // The calls of that kind so far.
  [[nodiscard]] int Calls(FaultyCall call) const;

  [[nodiscard]] StoreDescription Describe() const override;
  absl::StatusOr<LoadedSession> LoadForDecision(const SessionKey& key,
                                                const std::optional<RequestId>& request) override;
  absl::StatusOr<CommitResult> Commit(const Change& change) override;
  // Each of the changes counts as a commit too, and gets the faults of one: it fails alone, and
  // where its reply is lost it is in doubt. A call that fails has done nothing, and one whose reply
  // is lost leaves all changes in doubt.
  std::vector<GroupedResult> CommitMany(const std::vector<GroupedChange>& changes) override;
  absl::StatusOr<Wakeups> WaitForEvents(absl::Duration at_most) override;
  absl::StatusOr<ListPage> List(const ListQuery& query) override;

 private:
  struct Fault {
    FaultyCall call = FaultyCall::kAny;
    int left = 1;                    // calls until it happens
    absl::Status before;             // not OK: instead of acting
    absl::Status after;              // not OK: instead of the answer
    std::shared_ptr<HeldCall> held;  // set: waits first
  };

  void Arm(Fault fault);
  absl::Status RunInjected(const SessionKey& key) const;
  // Counts a call and takes the fault that is due on it.
  Fault Take(FaultyCall call);
  absl::Status Through(FaultyCall call, absl::FunctionRef<absl::Status()> act);
  absl::Status Around(StoreCall call, absl::FunctionRef<absl::Status()> act) override;

  bool grouped_ = false;
  size_t groups_at_once_ = 0;
  mutable absl::Mutex mutex_;
  std::vector<Fault> faults_ ABSL_GUARDED_BY(mutex_);
  bool incomplete_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<SessionKey, std::function<absl::Status()>> injected_ ABSL_GUARDED_BY(mutex_);
  std::vector<FaultyCall> seen_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_FAULTY_STORE_H_
