#include "server/app.h"

#include "holdfast/version.h"
#include "platform/exceptions.h"
#include "platform/status_macros.h"
#include "server/net/descriptors.h"
#include "server/net/grpc_connections.h"
#include "server/net/listening.h"
#include "server/secrets.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/saboteur.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace holdfast {
namespace {

// Health is overall, and per service.
const std::vector<std::string>& Services() {
  static const std::vector<std::string> kServices = {
      "", "holdfast.v1.SessionService", "holdfast.v1.StoreService", "holdfast.v1.ItemService",
      "holdfast.v1.AdminService"};
  return kServices;
}
// A connection is closed when nothing came in for so long. Clients that heed a refusal are silent
// for longer, and those that do not are cut off after the second duration.
constexpr absl::Duration kQuiet = absl::Milliseconds(30);
constexpr absl::Duration kQuietWait = absl::Seconds(1);
constexpr absl::Duration kQuietBeat = absl::Milliseconds(5);
constexpr int kQuietBeats = 6;  // a connection is quiet for at least as long as so many beats take
// How long the transport may take to notify watching clients that their streams have ended.
constexpr absl::Duration kWatchesLeave = absl::Seconds(1);
constexpr absl::Duration kStoreWatchInterval = absl::Seconds(1);
// The transport takes more metadata than the server allows, so that the server itself refuses a
// call and says why.
constexpr int kTransportMetadataBytes = 2 * static_cast<int>(kMetadataBytes);
// Keepalive pings detect a client that disappeared, so that its streams end.
constexpr int kKeepaliveMs = 30'000;
constexpr int kLeastPingMs = 10'000;
// No name of it is among the library's public ones.
constexpr char kHandshakeTimeoutArgument[] = "grpc.server_handshake_timeout_ms";

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

void ConfigureConnections(grpc::ServerBuilder& builder, const ServerConfig& server) {
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                             Milliseconds(server.connection_max_age));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, Milliseconds(server.connection_idle));
  builder.AddChannelArgument(kHandshakeTimeoutArgument, Milliseconds(kHandshakeTimeout));
}

// What reflection lists.
std::vector<std::string> ListedServices() {
  std::vector<std::string> services = {"grpc.health.v1.Health"};
  for (const std::string& service : Services()) {
    if (!service.empty()) services.push_back(service);
  }
  return services;
}

// The transport would inflate a message whole, on its own threads, before it compares its size with
// any limit. What is compressed is refused as UNIMPLEMENTED instead.
void RefuseCompression(grpc::ServerBuilder& builder) {
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

void Configure(grpc::ServerBuilder& builder, const LimitsConfig& limits) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(kTransportMessageBytes));
  RefuseCompression(builder);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kTransportMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             static_cast<int>(limits.calls_per_connection));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingMs);
}

}  // namespace

absl::StatusOr<std::unique_ptr<App>> App::Start(Parts parts) {
  auto app = std::make_unique<App>(Key(), std::move(parts));
  RETURN_IF_ERROR(app->Open());
  RETURN_IF_ERROR(app->Listen());
  RETURN_IF_ERROR(app->ServeMetrics());
  App* self = app.get();
  app->sweeper_ =
      std::make_unique<Periodic>(app->parts_.config.recovery.sweep_interval, app->parts_.random,
                                 [self] { self->RunInBackground("sweep", &App::Sweep); });
  app->cancel_sweeper_ = std::make_unique<Periodic>(
      std::min(kCancelSweepInterval, app->parts_.config.recovery.sweep_interval),
      app->parts_.random, [self] { self->RunInBackground("cancel sweep", &App::SweepCancelled); });
  app->stream_beat_ = std::make_unique<Periodic>(kStreamBeat, app->parts_.random, [self] {
    self->RunInBackground("stream beat", &App::TendStreams);
  });
  if (kMemoryIsGuarded) {
    app->memory_beat_ = std::make_unique<Periodic>(kMemoryBeat, app->parts_.random, [self] {
      self->RunInBackground("memory guard", &App::LookAtMemory);
    });
  }
  app->worker_beat_ = std::make_unique<Periodic>(kWorkerBeat, app->parts_.random, [self] {
    self->RunInBackground("worker watch", &App::LookAtWorkers);
  });
  app->store_watch_ = std::make_unique<Periodic>(kStoreWatchInterval, app->parts_.random, [self] {
    self->RunInBackground("store check", &App::CheckStore);
  });
  app->LogStart();
  return app;
}

App::~App() {
  if (server_ != nullptr) Drain();
}

absl::Status App::Open() {
  const Config& config = parts_.config;
  if (kTestBuild && !config.server.IsLocal()) {
    return absl::FailedPreconditionError(
        "server.address: this is a test build, whose guarantees can be switched off: it serves "
        "this machine alone; build the preset release");
  }
  RETURN_IF_ERROR(TakeDescriptors(config.server.connections, DescriptorsOf(config)));
  OpenTracer();
  ASSIGN_OR_RETURN(secrets_, LoadSecrets(config.secrets));
  ASSIGN_OR_RETURN(stores_,
                   Stores::Open(config, ObservedMaker(), parts_.clock, parts_.random, parts_.log));
  pool_ = std::make_unique<WorkerPool>(
      WorkerPool::Size{.workers = config.server.workers,
                       .queued = config.limits.queued_calls,
                       .on_core = Cores()},
      [this](const std::string& what) { NoteException("task", what); });
  stall_ = std::make_unique<WorkerStall>(parts_.clock.SinceBoot());
  if (stores_->active().Describe().groups_at_once > 0) {
    batcher_ = std::make_unique<CommitBatcher>(
        stores_->active(), *pool_,
        [this](const std::string& what) { NoteException("batch", what); });
  }
  admission_ = std::make_unique<Admission>(MemoryBudget());
  staged_ = std::make_unique<StagedBudget>(config.limits.staged_bytes);
  streams_ = std::make_unique<OpenStreams>(
      *pool_, StreamLimits{.idle = config.limits.stream_idle,
                           .write_timeout = config.limits.stream_write_timeout});
  replies_ = std::make_unique<PendingReplies>(config.limits.stream_write_timeout);
  OpenEdge();
  sessions_ = std::make_unique<Sessions>(stores_->active(), parts_.random, *secrets_);
  const WatchLimits watch_limits{.watchers = config.limits.watchers,
                                 .progress = config.limits.watch_progress,
                                 .write_timeout = config.limits.watch_write_timeout};
  watches_ = std::make_unique<WatchHub>(
      WatchHub::Parts{
          .store = stores_->active(),
          .clock = parts_.clock,
          .admission = *admission_,
          .deliveries =
              DeliveryShare({.workers = config.server.workers, .on_core = Cores()}, watch_limits),
          .report = [this](const std::string& what) { NoteException("delivery", what); }},
      watch_limits);
  waiters_ = std::make_unique<SessionWaiters>(
      *pool_, [this](const std::string& what) { NoteException("drain", what); });
  sessions_->OnSweepFailure(
      [this](const SessionKey& key, const absl::Status& why) { NoteSweepFailure(key, why); });
  sessions_->OnTurnOrLeaseEnd([this](const SessionKey& key) { waiters_->Changed(key); });
  session_service_ = std::make_unique<SessionService>(*edge_, *sessions_, *watches_, *waiters_);
  store_service_ = std::make_unique<StoreService>(*edge_, *sessions_);
  item_service_ = std::make_unique<ItemService>(*edge_, *sessions_);
  admin_service_ =
      std::make_unique<AdminService>(*edge_, stores_->active(),
                                     ServerFacts{.version = kVersion,
                                                 .store_name = config.ActiveStore().name,
                                                 .started = parts_.clock.SinceBoot(),
                                                 .warnings = stores_->warnings(),
                                                 .echo = config.server.echo},
                                     [this] { return Resources(); });
  return absl::OkStatus();
}

void App::OpenEdge() {
  const Config& config = parts_.config;
  connections_ = std::make_unique<ConnectionTable>(ConnectionLimits{
      .connections = config.server.connections, .per_peer = config.server.connections_per_peer});
  resets_ = std::make_unique<ResetCounter>(
      [this](const std::string& peer) {
        const size_t closed = connections_->Suspend(peer, parts_.clock.SinceBoot(), kResetWindow);
        closed_for_resets_ += closed;
        parts_.log.Warn("a peer that gives up its calls again and again is disconnected",
                        {{"peer", peer}, {"connections", static_cast<int64_t>(closed)}});
      },
      config.limits.calls_per_connection);
  unbegun_ = std::make_unique<UnbegunBytes>(*connections_);
  memory_guard_ = std::make_unique<MemoryGuard>(
      MemoryGuard::Parts{.limit = parts_.container.ProcessLimit(MemoryBudget()),
                         .memory = memory_,
                         .connections = *connections_,
                         .unbegun = *unbegun_,
                         .log = parts_.log});
  edge_ = std::make_unique<Edge>(Edge{.pool = *pool_,
                                      .admission = *admission_,
                                      .staged = *staged_,
                                      .streams = *streams_,
                                      .clock = parts_.clock,
                                      .random = parts_.random,
                                      .log = parts_.log,
                                      .metrics = parts_.metrics,
                                      .secrets = *secrets_,
                                      .resets = resets_.get(),
                                      .unbegun = unbegun_.get(),
                                      .replies = replies_.get(),
                                      .tracer = tracer_.get(),
                                      .batcher = batcher_.get()});
}

absl::StatusOr<std::vector<Descriptor>> App::Bind() {
  const std::string& address = parts_.config.server.address;
  std::vector<Descriptor> sockets;
  if (const std::optional<std::string> path = SocketFile::PathIn(address)) {
    ASSIGN_OR_RETURN(socket_, SocketFile::Take(*path));
    ASSIGN_OR_RETURN(Descriptor made, ListenAtFile(*path));
    sockets.push_back(std::move(made));
    address_ = address;
    return sockets;
  }
  ASSIGN_OR_RETURN(Listening listening, ListenAt(address));
  address_ = listening.address;
  return std::move(listening.sockets);
}

absl::Status App::Listen() {
  ASSIGN_OR_RETURN(std::vector<Descriptor> sockets, Bind());
  if (tracer_ != nullptr) tracer_->set_served_at(ToServedAt(address_));
  grpc::ServerBuilder builder;
  Configure(builder, parts_.config.limits);
  ConfigureConnections(builder, parts_.config.server);
  if (parts_.config.server.Reflects()) {
    reflection_ = std::make_unique<ReflectionService>(*edge_, ListedServices());
    builder.RegisterService(reflection_.get());
  }
  sink_ = std::make_unique<GrpcConnections>(builder, grpc::InsecureServerCredentials());
  health_ = std::make_unique<HealthService>(*edge_, Services(), *stall_);
  builder.RegisterService(health_.get());
  builder.RegisterService(session_service_.get());
  builder.RegisterService(store_service_.get());
  builder.RegisterService(item_service_.get());
  builder.RegisterService(admin_service_.get());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::InternalError("the transport does not start");
  SetServing(true);
  acceptor_ = std::make_unique<Acceptor>(std::move(sockets), *connections_, *sink_, parts_.clock,
                                         parts_.log);
  return absl::OkStatus();
}

std::string App::ReadyLine() {
  const StoreDescription store = stores_->active().Describe();
  return "holdfastd ready: address=" + address_ + " store=" + parts_.config.ActiveStore().name +
         " kind=" + store.kind + " store_id=" + store.store.value() +
         " pid=" + std::to_string(getpid()) +
         (metrics_endpoint_ == nullptr ? "" : " metrics=" + metrics_address());
}

std::string App::metrics_address() const {
  return metrics_endpoint_ == nullptr ? "" : metrics_endpoint_->address();
}

void App::SetServing(bool serving) {
  serving_ = serving;
  health_->SetServing(serving);
}

void App::CheckStore() {
  parts_.log.WriteCounts();
  SessionStore& store = stores_->active();
  const absl::Status health = store.CheckHealth();
  store_healthy_ = health.ok();
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

void App::RunInBackground(std::string_view work, void (App::*run)()) {
  if (const auto what = CatchException([&] { (this->*run)(); })) NoteException(work, *what);
}

void App::NoteException(std::string_view work, const std::string& what) {
  parts_.log.Error("exception", {{"work", std::string(work)}, {"problem", Shown(what)}});
}

void App::NoteSweepFailure(const SessionKey& key, const absl::Status& why) {
  const Refusal refusal = RefusalOf(why);
  parts_.log.Warn("sweep", {{"tenant", key.tenant.value()},
                            {"session", Shown(key.session.value())},
                            {"reason", std::string(RowOf(refusal.reason()).name)},
                            {"problem", Shown(std::string(why.message()))}});
}

std::string App::Shown(const std::string& text) const {
  return secrets_->Find(text) ? "***" : text;
}

void App::TendStreams() {
  streams_->Tend(parts_.clock.SinceBoot());
  replies_->Tend(parts_.clock.SinceBoot());
}

void App::Sweep() {
  const auto closed = sessions_->RecoverDue(parts_.config.recovery.abandon_after, kSweepCandidates);
  CountSweep(SweepKind::kAbandoned, closed);
  if (!closed.ok()) {
    parts_.log.Warn("sweep", {{"problem", RefusalOf(closed.status()).message()}});
  } else if (*closed > 0) {
    parts_.log.Info("sweep", {{"sessions_closed", static_cast<int64_t>(*closed)}});
  }
}

void App::SweepCancelled() {
  const auto ended = sessions_->EndCancelled(parts_.config.recovery.cancel_grace, kSweepCandidates);
  CountSweep(SweepKind::kCancelled, ended);
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

// The transport's own end answers what comes in after it with a bare CANCELLED, or not at all. So
// no connection may be left by then: each is closed when nothing is under way on it, and until then
// calls are refused with a reason and with the time after which they may be sent again.
void App::EndConnections() {
  const absl::Duration begun = parts_.clock.SinceBoot();
  absl::Duration late_call = begun;
  uint64_t late_calls = admission_->refused_late();
  absl::Duration now = begun;
  absl::Duration quiet = kQuiet;
  do {
    const absl::Duration before = now;
    absl::SleepFor(kQuietBeat);
    now = parts_.clock.SinceBoot();
    // A process that sleeps longer than it asked for gets to what it has read late, too.
    quiet = std::clamp(kQuietBeats * (now - before), quiet, kQuietWait);
    if (const uint64_t refused = admission_->refused_late(); refused != late_calls) {
      late_calls = refused;
      late_call = now;
    }
  } while (connections_->DisconnectQuiet(quiet, now - late_call >= quiet) > 0 &&
           now - begun < kQuietWait);
  connections_->DisconnectAll();
}

void App::Drain() {
  const absl::Duration drained_by = parts_.clock.SinceBoot() + parts_.config.server.drain_timeout;
  sessions_->StopSweeps();
  sweeper_.reset();
  cancel_sweeper_.reset();
  store_watch_.reset();
  // Watches would last for ever: they end first, while calls still run.
  watches_->Drain(std::min(kWatchesLeave, parts_.config.server.drain_timeout));
  acceptor_->Stop();
  admission_->Stop();
  streams_->DrainAll();
  waiters_->Stop();
  if (!admission_->AwaitIdle(parts_.config.server.drain_timeout)) {
    parts_.log.Warn("calls are cut off",
                    {{"calls_in_progress", static_cast<int64_t>(admission_->InProgress())}});
  }
  health_->EndWatches();
  EndConnections();
  // Its threads take up to two seconds to end; what a scrape reads goes next.
  metrics_endpoint_.reset();
  resource_metrics_.reset();
  server_->Shutdown(absl::ToChronoTime(parts_.clock.Wall()));
  server_->Wait();
  server_.reset();
  stream_beat_.reset();
  memory_beat_.reset();
  worker_beat_.reset();
  batcher_.reset();  // before the pool, to which it gives calls
  pool_.reset();
  streams_->RunDeferred();
  stores_->Deactivate();  // ends the wait of the hub's thread, which then lets go of the store
  watches_.reset();
  stores_->Close();
  StopTracer(std::clamp(drained_by - parts_.clock.SinceBoot(), kSpanFlushLeast, kSpanFlushMost));
  parts_.log.Info("stopped", {});
}

}  // namespace holdfast
