// A server in this process over the reference store, with what a store may do to items.
#ifndef HOLDFAST_TESTS_CLI_REFERENCE_SERVER_H_
#define HOLDFAST_TESTS_CLI_REFERENCE_SERVER_H_

#include "server/app.h"
#include "tests/support/seeded_random.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <memory>
#include <set>
#include <string>
#include <thread>

namespace holdfast::test {

// What its store does to items. Any thread may call.
class ItemFaults final {
 public:
  // The next change is written, and its answer is lost.
  void LoseAnswer();
  // Items of this key cannot be read from now on.
  void Damage(const std::string& key);

  // Whether the answer of the change that was written just now is lost.
  bool TakeLostAnswer();
  bool IsDamaged(const std::string& key);

 private:
  absl::Mutex mutex_;
  bool loses_answer_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::string> damaged_ ABSL_GUARDED_BY(mutex_);
};

// Serves from the constructor to the destructor. For one thread.
class ReferenceServer final {
 public:
  ReferenceServer();
  ReferenceServer(const ReferenceServer&) = delete;
  ReferenceServer& operator=(const ReferenceServer&) = delete;
  ~ReferenceServer();

  [[nodiscard]] const std::string& address() const { return app_->address(); }
  ItemFaults& faults() { return faults_; }

 private:
  SeededRandom random_;
  ItemFaults faults_;
  Log log_;
  Metrics metrics_;
  std::unique_ptr<App> app_;
  std::thread runner_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_CLI_REFERENCE_SERVER_H_
