#include "server/app.h"

#include "server/secrets.h"
#include "server/version.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/status_macros.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>

namespace holdfast {
namespace {

// Health is overall, and per service.
constexpr std::string_view kServices[] = {"", "holdfast.v1.SessionService",
                                          "holdfast.v1.StoreService", "holdfast.v1.AdminService"};
// Calls are refused with a reason for at least this long.
constexpr absl::Duration kRefusingWait = absl::Milliseconds(100);
// What the transport may take to tell those who watch that their streams have ended.
constexpr absl::Duration kWatchesLeave = absl::Seconds(1);
constexpr absl::Duration kStoreWatchInterval = absl::Seconds(1);
// Sessions recovered in one sweep; the rest waits for the next one.
constexpr size_t kSweepMost = 1000;
// The transport takes more than the funnel allows, so that the refusal is ours and says why.
constexpr int kTransportMetadataBytes = 2 * static_cast<int>(kMetadataBytes);
// A client that is gone without a word is noticed, so that its streams end.
constexpr int kKeepaliveMs = 30'000;
constexpr int kLeastPingMs = 10'000;

// While as many workers as there are cores want one, no other call is begun: it would only take the
// core from the transport, which must still refuse what is too much.
size_t CoresOfThisProcess() { return std::max(1U, std::thread::hardware_concurrency()); }

void Configure(grpc::ServerBuilder& builder, const LimitsConfig& limits) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(kTransportMessageBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kTransportMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             static_cast<int>(limits.calls_per_connection));
  // Two servers on one port would share its calls without a word.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingMs);
}

}  // namespace

absl::StatusOr<std::unique_ptr<App>> App::Start(Parts parts) {
  auto app = std::make_unique<App>(Key(), std::move(parts));
  RETURN_IF_ERROR(app->Open());
  RETURN_IF_ERROR(app->Listen());
  App* self = app.get();
  app->sweeper_ = std::make_unique<Periodic>(app->parts_.config.recovery.sweep_interval,
                                             app->parts_.random, [self] { self->Sweep(); });
  app->cancel_sweeper_ = std::make_unique<Periodic>(
      std::min(kCancelSweepInterval, app->parts_.config.recovery.sweep_interval),
      app->parts_.random, [self] { self->SweepCancelled(); });
  app->store_watch_ = std::make_unique<Periodic>(kStoreWatchInterval, app->parts_.random,
                                                 [self] { self->CheckStore(); });
  return app;
}

App::~App() {
  if (server_ != nullptr) Drain();
}

absl::Status App::Open() {
  const Config& config = parts_.config;
  ASSIGN_OR_RETURN(secrets_, LoadSecrets(config.secrets));
  ASSIGN_OR_RETURN(
      stores_, Stores::Open(config, parts_.make_store, parts_.clock, parts_.random, parts_.log));
  pool_ = std::make_unique<WorkerPool>(WorkerPool::Size{.workers = config.server.workers,
                                                        .queued = config.limits.queued_calls,
                                                        .on_core = CoresOfThisProcess()});
  admission_ = std::make_unique<Admission>(config.limits.memory_budget);
  staged_ = std::make_unique<StagedBudget>(config.limits.staged_bytes);
  streams_ = std::make_unique<OpenStreams>();
  edge_ = std::make_unique<Edge>(Edge{.pool = *pool_,
                                      .admission = *admission_,
                                      .staged = *staged_,
                                      .streams = *streams_,
                                      .clock = parts_.clock,
                                      .random = parts_.random,
                                      .log = parts_.log,
                                      .secrets = *secrets_});
  sessions_ = std::make_unique<Sessions>(stores_->active(), parts_.random, *secrets_);
  watches_ =
      std::make_unique<WatchHub>(stores_->active(), parts_.clock,
                                 WatchLimits{.watchers = config.limits.watchers,
                                             .progress = config.limits.watch_progress,
                                             .write_timeout = config.limits.watch_write_timeout});
  waiters_ = std::make_unique<TurnWaiters>(*pool_);
  sessions_->OnTurnEnd([this](const SessionKey& key) { waiters_->TurnEnded(key); });
  session_service_ = std::make_unique<SessionService>(*edge_, *sessions_, *watches_, *waiters_);
  store_service_ = std::make_unique<StoreService>(*edge_, *sessions_);
  admin_service_ =
      std::make_unique<AdminService>(*edge_, stores_->active(),
                                     ServerFacts{.version = kVersion,
                                                 .store_name = config.ActiveStore().name,
                                                 .started = parts_.clock.SinceBoot(),
                                                 .warnings = stores_->warnings()});
  return absl::OkStatus();
}

absl::Status App::Listen() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  Configure(builder, parts_.config.limits);
  const std::string& address = parts_.config.server.address;
  const std::optional<std::string> path = SocketFile::PathIn(address);
  if (path) {
    ASSIGN_OR_RETURN(socket_, SocketFile::Take(*path));
  }
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(session_service_.get());
  builder.RegisterService(store_service_.get());
  builder.RegisterService(admin_service_.get());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) {
    server_ = nullptr;
    return absl::UnavailableError("server.address: " + address +
                                  " cannot be served; is another server using it?");
  }
  address_ = path ? address : address.substr(0, address.rfind(':') + 1) + std::to_string(port);
  if (socket_) {
    RETURN_IF_ERROR(socket_->CloseToOthers());
  }
  SetServing(true);
  return absl::OkStatus();
}

std::string App::ReadyLine() {
  const StoreDescription store = stores_->active().Describe();
  return "holdfastd ready: address=" + address_ + " store=" + parts_.config.ActiveStore().name +
         " kind=" + store.kind + " store_id=" + store.store.value() +
         " pid=" + std::to_string(getpid());
}

void App::SetServing(bool serving) {
  auto* health = server_->GetHealthCheckService();
  for (const std::string_view service : kServices) {
    health->SetServingStatus(std::string(service), serving);
  }
}

void App::CheckStore() {
  SessionStore& store = stores_->active();
  const absl::Status health = store.CheckHealth();
  if (health.ok()) return NoteStoreBack();
  const std::string problem = RefusalOf(health).message();
  if (store.Describe().heals) return NoteStoreAway(problem);
  NoteStoreFailed(problem);
}

void App::NoteStoreFailed(const std::string& problem) {
  parts_.log.Error("the store has failed: stopping, so that a restart recovers it",
                   {{"problem", problem}});
  SetServing(false);
  const absl::MutexLock lock(&mutex_);
  store_failed_ = true;
  stop_ = true;
}

void App::NoteStoreAway(const std::string& problem) {
  {
    const absl::MutexLock lock(&mutex_);
    if (store_away_) return;
    store_away_ = true;
    SetServing(false);
  }
  parts_.log.Error("the store cannot be used: not serving until it can", {{"problem", problem}});
}

void App::NoteStoreBack() {
  {
    const absl::MutexLock lock(&mutex_);
    if (!store_away_ || stop_) return;  // a server that stops says so to the end
    store_away_ = false;
    SetServing(true);
  }
  parts_.log.Info("the store can be used again: serving", {});
}

void App::Sweep() {
  const auto closed = sessions_->RecoverDue(parts_.config.recovery.abandon_after, kSweepMost);
  if (!closed.ok()) {
    parts_.log.Warn("sweep", {{"problem", RefusalOf(closed.status()).message()}});
  } else if (*closed > 0) {
    parts_.log.Info("sweep", {{"sessions_closed", static_cast<int64_t>(*closed)}});
  }
}

void App::SweepCancelled() {
  const auto ended = sessions_->EndCancelled(parts_.config.recovery.cancel_grace, kSweepMost);
  if (!ended.ok()) {
    parts_.log.Warn("sweep", {{"problem", RefusalOf(ended.status()).message()}});
  } else if (*ended > 0) {
    parts_.log.Info("sweep", {{"sessions_cancelled", static_cast<int64_t>(*ended)}});
  }
}

void App::RequestStop() {
  const absl::MutexLock lock(&mutex_);
  stop_ = true;
}

int App::Run() {
  {
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&stop_));
  }
  parts_.log.Info("stopping",
                  {{"calls_in_progress", static_cast<int64_t>(admission_->InProgress())}});
  SetServing(false);
  absl::SleepFor(parts_.not_serving_wait);
  Drain();
  const absl::MutexLock lock(&mutex_);
  return store_failed_ ? 1 : 0;
}

void App::Drain() {
  sweeper_.reset();
  cancel_sweeper_.reset();
  store_watch_.reset();
  // Watches would last for ever: they end first, while calls still run.
  watches_->Drain(std::min(kWatchesLeave, parts_.config.server.drain_timeout));
  // The transport's own end answers late calls with a bare CANCELLED, so it comes last: until then
  // the funnel refuses them with a reason and a RetryInfo, which keeps those who heed it away from
  // the end.
  admission_->Stop();
  streams_->DrainAll();
  waiters_->Stop();
  const absl::Duration begun = parts_.clock.SinceBoot();
  if (!admission_->AwaitIdle(parts_.config.server.drain_timeout)) {
    parts_.log.Warn("calls are cut off",
                    {{"calls_in_progress", static_cast<int64_t>(admission_->InProgress())}});
  }
  absl::SleepFor(kRefusingWait - (parts_.clock.SinceBoot() - begun));
  server_->Shutdown(absl::ToChronoTime(parts_.clock.Wall()));
  server_->Wait();
  server_.reset();
  pool_.reset();
  stores_->Deactivate();  // ends the wait of the hub's thread, which then lets go of the store
  watches_.reset();
  stores_->Close();
  parts_.log.Info("stopped", {});
}

}  // namespace holdfast
