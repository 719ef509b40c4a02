// Clients that take one turn after the other, each in a session of its own, and note what fails.
// OVERLOADED is no failure: they send the call again a little later, as its RetryInfo says.
#ifndef HOLDFAST_TESTS_SUPPORT_COMMITTERS_H_
#define HOLDFAST_TESTS_SUPPORT_COMMITTERS_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {

// For one thread.
class Committers final {
 public:
  using Connect = std::function<std::shared_ptr<grpc::Channel>()>;

  // Clients of `address` without retries, with a connection each.
  Committers(const std::string& address, size_t count);
  // Clients whose channels `connect` makes.
  Committers(const Connect& connect, size_t count);
  Committers(const Committers&) = delete;
  Committers& operator=(const Committers&) = delete;
  ~Committers() { Stop(); }

  // Waits until so many more turns have been committed than when this was called. False when that
  // takes too long.
  bool AwaitCommits(size_t count);
  [[nodiscard]] size_t commits() const { return commits_; }
  // How often one of them was told OVERLOADED.
  [[nodiscard]] size_t overloaded() const { return overloaded_; }
  // Ends them; answers how each call that failed did.
  std::vector<std::string> Stop();
  // How long each call took, so far.
  std::vector<absl::Duration> Latencies();

 private:
  void Note(const std::string& session, absl::Duration took, const grpc::Status& status);
  void Run(const std::shared_ptr<grpc::Channel>& channel, const std::string& session);

  std::atomic<bool> stopping_ = false;
  std::atomic<size_t> commits_ = 0;
  std::atomic<size_t> overloaded_ = 0;
  absl::Mutex mutex_;
  std::vector<std::string> failed_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::Duration> latencies_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_COMMITTERS_H_
