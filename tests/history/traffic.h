// Mixed traffic over a list of servers that serve the same store, recorded call by call.
//
//   Traffic traffic({.addresses = {server.address()}, .file = folder.File("history")});
//   traffic.Start();
//   ... kill and restart servers, waiting for traffic.acknowledged() in between ...
//   traffic.Stop();
//   Check(*traffic.Finish());
#ifndef HOLDFAST_TESTS_HISTORY_TRAFFIC_H_
#define HOLDFAST_TESTS_HISTORY_TRAFFIC_H_

#include "tests/history/agent.h"
#include "tests/history/history.h"
#include "tests/history/record_file.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::history {

struct TrafficPlan {
  std::vector<std::string> addresses;
  std::string file;  // of the record; new
  std::string prefix = "traffic";
  uint32_t clients = 8;
  uint32_t sessions = 6;
  absl::Duration lease_ttl = absl::Seconds(5);
  uint64_t seed = 1;
};

// Reads every session as a fresh client, adds that to the plan's record, and returns the whole
// record from the file. No process may write to the record any more. Of the plan it uses the
// addresses, the file and the sessions; any process may call it.
absl::StatusOr<History> FinishRecord(const TrafficPlan& plan);

// Its own methods are for one thread.
class Traffic final {
 public:
  explicit Traffic(TrafficPlan plan);
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;
  ~Traffic();

  void Start();
  // Ends when each client has its answer, or has given up; servers must be up, or all down.
  void Stop();

  // Mutations that were acknowledged so far. Any thread may call.
  [[nodiscard]] uint64_t acknowledged() const { return acknowledged_; }
  // Mutations that have been sent and have not come back. Any thread may call.
  [[nodiscard]] uint64_t in_flight() const;
  // Those of them that were sent to `server`, by its place in the list. Any thread may call.
  [[nodiscard]] uint64_t in_flight_at(size_t server) const { return in_flight_.at(server); }

  // When the traffic has stopped: FinishRecord of its plan.
  absl::StatusOr<History> Finish();

 private:
  void RunClient(uint32_t client);

  const TrafficPlan plan_;
  Recorder recorder_;
  std::atomic<uint64_t> acknowledged_ = 0;
  std::vector<std::atomic<uint64_t>> in_flight_;  // at each server
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> clients_;
};

// Returns the number of operations by method and answer, one line each, for the test's output.
std::string Summary(const History& history);

// The history's clock: nanoseconds of the machine since it was started.
int64_t HistoryNow();

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_TRAFFIC_H_
