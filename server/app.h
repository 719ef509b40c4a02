// The server as a whole: config to stores, stores to use cases, use cases to services, services to
// a port.
#ifndef HOLDFAST_SERVER_APP_H_
#define HOLDFAST_SERVER_APP_H_

#include "platform/clock.h"
#include "server/config.h"
#include "server/container.h"
#include "server/log.h"
#include "server/memory_guard.h"
#include "server/net/acceptor.h"
#include "server/net/connection_table.h"
#include "server/net/unbegun_bytes.h"
#include "server/periodic.h"
#include "server/rpc/admin_service.h"
#include "server/rpc/call/commit_batcher.h"
#include "server/rpc/call/reset_counter.h"
#include "server/rpc/health_service.h"
#include "server/rpc/item_service.h"
#include "server/rpc/reflection_service.h"
#include "server/rpc/session_service.h"
#include "server/rpc/store_service.h"
#include "server/rpc/watch/watch_hub.h"
#include "server/session_waiters.h"
#include "server/socket_file.h"
#include "server/stores.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/metrics_endpoint.h"
#include "server/telemetry/resource_metrics.h"
#include "server/telemetry/store_metrics.h"
#include "server/telemetry/tracer.h"
#include "server/worker_pool.h"
#include "server/worker_stall.h"
#include "session/secrets/secret_scan.h"
#include "session/sessions.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include <grpcpp/server.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

class App {
 public:
  struct Parts {
    Config config;  // valid
    StoreMaker make_store;
    const Clock& clock;
    Random& random;
    Log& log;
    Metrics& metrics;
    StoreMetrics* store_metrics = nullptr;  // of the active store; may be absent
    Container container = {};               // what it leaves of the machine to this process
    // The pause between answering NOT_SERVING and refusing calls, in which health checks see the
    // change.
    absl::Duration not_serving_wait = absl::Milliseconds(500);
    // How many lines the sink of `log` has dropped so far; may be empty.
    std::function<uint64_t()> log_lines_dropped;
  };

  // Only Start can make one.
  class Key {
    friend class App;
    Key() = default;
  };
  App(Key, Parts parts) : parts_(std::move(parts)) {}
  // Opens the stores and serves. The error is a diagnostic for the operator.
  static absl::StatusOr<std::unique_ptr<App>> Start(Parts parts);
  App(const App&) = delete;
  App& operator=(const App&) = delete;
  // Stops at once what Run has not stopped.
  ~App();

  // As it is served: HOST:PORT, the port the real one where the configuration says 0, or unix:PATH.
  [[nodiscard]] const std::string& address() const { return address_; }
  // Where the metrics are served, the port the real one; empty: nowhere.
  [[nodiscard]] std::string metrics_address() const;
  // "holdfastd ready: address=… store=… kind=… store_id=… pid=…", and where the metrics are served
  // " metrics=…".
  [[nodiscard]] std::string ReadyLine();

  // Serves until RequestStop or until the store fails, then drains: health says NOT_SERVING, new
  // calls are refused, running ones get up to `drain_timeout`, the store is closed. No lease is
  // touched. Answers the process's exit code: 0, or 1 when the store had failed. Called once.
  int Run();
  // Any thread may call, but no signal handler.
  void RequestStop();
  // Any thread may call, until Run has drained.
  ResourceUse Resources();
  // Any thread may call. All zero where nothing is traced.
  [[nodiscard]] TraceCounts Traces() const;

 private:
  absl::Status Open();
  [[nodiscard]] size_t Cores() const;
  // The memory budget in force.
  [[nodiscard]] size_t MemoryBudget() const;
  void LogStart();
  void OpenEdge();
  void OpenTracer();
  absl::Status Listen();
  // The sockets of the configured address; notes what is served in `address_`.
  absl::StatusOr<std::vector<Descriptor>> Bind();
  // Makes what the maker of the configuration makes, the active store observed.
  StoreMaker ObservedMaker();
  // Serves the metrics where the configuration says so.
  absl::Status ServeMetrics();
  // Measures what the store can report by a statement alone. Blocks.
  void MeasureStore();
  void ReadLoad();
  void ReadConnections();
  void ReadFacts();
  void ReadTraces();
  void EndConnections();
  void SetServing(bool serving);
  void CheckStore();
  void NoteStoreFailed(const std::string& problem);
  void NoteStoreAway(const std::string& problem);
  void NoteStoreBack();
  void TendStreams();
  void LookAtMemory();
  void LookAtWorkers();
  void Sweep();
  void SweepCancelled();
  // Counts a sweep that changed so many sessions, or that failed.
  void CountSweep(SweepKind kind, const absl::StatusOr<size_t>& changed);
  // Runs a step of background work. An exception ends the step, not the server.
  void RunInBackground(std::string_view work, void (App::*run)());
  void NoteException(std::string_view work, const std::string& what);
  void NoteSweepFailure(const SessionKey& key, const absl::Status& why);
  // `text` for the log, hidden if it holds a secret.
  [[nodiscard]] std::string Shown(const std::string& text) const;
  void Drain();
  // Exports the spans that are left.
  void StopTracer(absl::Duration at_most);

  Parts parts_;
  std::atomic<bool> serving_ = false;
  std::atomic<bool> store_healthy_ = true;  // as of the last check; it was opened before
  std::atomic<uint64_t> closed_for_resets_ = 0;
  std::unique_ptr<Tracer> tracer_;  // if spans are exported; calls and stores use it
  std::unique_ptr<Stores> stores_;
  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<CommitBatcher> batcher_;  // if the store gains by it
  std::unique_ptr<WorkerStall> stall_;
  std::unique_ptr<Admission> admission_;
  std::unique_ptr<StagedBudget> staged_;
  std::unique_ptr<OpenStreams> streams_;
  std::unique_ptr<PendingReplies> replies_;
  std::unique_ptr<SecretScanner> secrets_;
  std::unique_ptr<Edge> edge_;
  std::unique_ptr<Sessions> sessions_;
  std::unique_ptr<WatchHub> watches_;
  std::unique_ptr<SessionWaiters> waiters_;
  std::unique_ptr<SessionService> session_service_;
  std::unique_ptr<StoreService> store_service_;
  std::unique_ptr<ItemService> item_service_;
  std::unique_ptr<AdminService> admin_service_;
  std::unique_ptr<HealthService> health_;
  std::unique_ptr<ReflectionService> reflection_;  // if it is wanted
  std::unique_ptr<SocketFile> socket_;  // if it serves at one; given back when nothing is served
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<ConnectionTable> connections_;
  std::unique_ptr<ResetCounter> resets_;
  std::unique_ptr<UnbegunBytes> unbegun_;
  ProcessMemory memory_;
  std::unique_ptr<MemoryGuard> memory_guard_;
  std::unique_ptr<ConnectionSink> sink_;
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<Periodic> sweeper_;
  std::unique_ptr<Periodic> cancel_sweeper_;
  std::unique_ptr<Periodic> stream_beat_;
  std::unique_ptr<Periodic> memory_beat_;
  std::unique_ptr<Periodic> worker_beat_;
  std::unique_ptr<Periodic> store_watch_;
  // If they are wanted; the endpoint goes first, since its scrapes read all that is above.
  std::unique_ptr<ResourceMetrics> resource_metrics_;
  std::unique_ptr<MetricsEndpoint> metrics_endpoint_;
  std::string address_;

  absl::Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool stalled_ = false;  // the worker beat's alone: the log has said so
  bool store_failed_ ABSL_GUARDED_BY(mutex_) = false;
  bool store_away_ ABSL_GUARDED_BY(mutex_) = false;  // unhealthy, and may heal
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_APP_H_
