#include "store-postgres/postgres_store.h"

#include "platform/shutdown_latch.h"
#include "platform/status_macros.h"
#include "session/change_notifier.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-postgres/commits.h"
#include "store-postgres/connection_check.h"
#include "store-postgres/database.h"
#include "store-postgres/feed.h"
#include "store-postgres/head_cache.h"
#include "store-postgres/interest.h"
#include "store-postgres/leases.h"
#include "store-postgres/listener.h"
#include "store-postgres/listing.h"
#include "store-postgres/notifier.h"
#include "store-postgres/pg/dsn.h"
#include "store-postgres/reads.h"
#include "store-postgres/retention.h"
#include "store-postgres/servers.h"
#include "store-postgres/uploads.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::pg {
namespace {

constexpr char kContractVersion[] = "1.0.0";
constexpr char kConfigSchema[] = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["name", "kind", "dsn"],
  "properties": {
    "name": {"type": "string", "minLength": 1},
    "kind": {"const": "postgres"},
    "enabled": {"type": "boolean"},
    "active": {"type": "boolean"},
    "dsn": {"type": "string", "minLength": 1},
    "password": {"type": "string", "pattern": "^(env|file):"},
    "connections": {"type": "integer", "minimum": 2, "maximum": 256},
    "group": {"type": "integer", "minimum": 1, "maximum": 64},
    "insecure": {"type": "boolean"}
  }
})";

// How a program whose schema has no list of servers opens the store.
constexpr Statement kActivate = {"activate",
                                 "UPDATE holdfast.store SET activated_at = holdfast.clock()"};
// The same without waiting for a standby, which may be the machine that is gone.
constexpr Statement kReopen = {"reopen",
                               "UPDATE holdfast.store SET activated_at = holdfast.clock()"
                               " FROM (SELECT set_config('synchronous_commit', 'local', true)) x"};
constexpr Statement kAlive = {"alive", "SELECT NOT pg_is_in_recovery()"};
constexpr Statement kDatabaseContents = {
    "database_contents",
    "SELECT pg_database_size(current_database()), (SELECT count(*) FROM holdfast.serving),"
    " (SELECT count(*) FROM holdfast.session WHERE sweep AND NOT deleted AND lifecycle = 1)"};
constexpr Statement kSchemaStep = {"schema_step", "SELECT max(version) FROM holdfast.migration"};
constexpr Statement kProbe = {"probe", "INSERT INTO holdfast.probe VALUES (holdfast.clock())"};
constexpr Statement kTakeProbesAway = {"take_probes_away", "DELETE FROM holdfast.probe"};

// How long the database may be silent before a server says that it cannot serve.
constexpr absl::Duration kHealthPatience = absl::Seconds(5);

// What two small writes take at least, from which on it pays to write several groups at once.
constexpr absl::Duration kLongFlush = absl::Milliseconds(3);
constexpr absl::Duration kVeryLongFlush = absl::Milliseconds(6);

ConnectionUse UseOf(const Pool& pool, size_t most) {
  const PoolStats stats = pool.stats();
  return {.most = most,
          .open = stats.open,
          .idle = stats.idle,
          .opened = stats.opened,
          .waits = stats.waits,
          .given_up = stats.given_up,
          .waited = stats.waited,
          .timeline = pool.newest_timeline()};
}

class PostgresStore final : public SessionStore {
 public:
  PostgresStore(const PostgresOptions& options, const Clock& clock, Random& random)
      : connect_(options.connect),
        pool_({.connect = options.connect,
               .size = options.connections,
               .check = [this](Connection& connection) { return CheckAgain(connection); },
               .report = options.report},
              clock),
        random_(random),
        store_clock_(clock),
        group_(options.group),
        connections_(options.connections),
        database_{.pool = pool_,
                  .clock = clock,
                  .store_clock = store_clock_,
                  .store = {},
                  .incarnation = {},
                  .report = options.report,
                  .retention = options.retention,
                  .item_bounds = options.item_bounds,
                  .meter = *options.meter},
        feed_(database_, change_notifier_, options.feed_beat) {
    options.meter->OnConnections([this] { return UseOf(pool_, connections_); });
    options.meter->OnDatabase([this] { return Measure(); });
  }
  PostgresStore(const PostgresStore&) = delete;
  PostgresStore& operator=(const PostgresStore&) = delete;
  ~PostgresStore() override { Shut(); }

  [[nodiscard]] StoreDescription Describe() const override {
    StoreDescription description;
    description.kind = "postgres";
    description.contract_version = kContractVersion;
    description.config_schema = kConfigSchema;
    description.store = database_.store;
    description.incarnation = database_.incarnation;
    description.snapshot_bytes_limit = kSnapshotBytes;
    description.large_slot_streaming = true;
    description.durability = "sync";
    description.warnings = warnings_;
    description.heals = true;
    description.groups_at_once = group_ > 1 ? groups_at_once_ : 0;
    return description;
  }

  absl::Status Init() override {
    RETURN_IF_ERROR(CheckForPooler(connect_));
    const auto connection = Connection::Open(connect_);
    if (!connection.ok()) {
      return StoreUnavailable(std::string(connection.status().message()), Fate::kNoEffect);
    }
    const absl::Duration asked = database_.clock.SinceBoot();
    ASSIGN_OR_RETURN(ConnectionCheck check, CheckConnection(**connection));
    store_clock_.Set(check.now, asked);
    opened_on_ = (*connection)->timeline();
    identity_ = std::move(check.identity);
    warnings_ = std::move(check.warnings);
    if (!TransportProblem(connect_.dsn).empty()) {
      warnings_.emplace_back(
          "the database is on another machine and its identity is not verified: sslmode is not "
          "verify-full");
    }
    const std::string bytes = random_.Bytes(sizeof database_.writer);
    std::memcpy(&database_.writer, bytes.data(), sizeof database_.writer);
    database_.store = identity_.store;
    database_.incarnation = identity_.incarnation;
    return MeasureFlush();
  }

  absl::Status Activate() override {
    RETURN_IF_ERROR(feed_.Start());
    if (NeededSchema() < kServersStep) {
      RETURN_IF_ERROR(database_.Ask(kActivate, Params()).status());
    } else {
      RETURN_IF_ERROR(listener_.Start());
      notifier_.Start();
    }
    retention_.Start();
    return absl::OkStatus();
  }

  absl::Status Deactivate() override {
    Shut();
    return absl::OkStatus();
  }

  void Dispose() override { Shut(); }

  absl::StatusOr<LoadedSession> LoadForDecision(const SessionKey& key,
                                                const std::optional<RequestId>& request) override {
    return Inside([&] { return commits_.Load(key, request); });
  }
  absl::StatusOr<LoadedSession> LoadForOutcome(const SessionKey& key,
                                               const RequestId& request) override {
    return Inside([&] { return commits_.LoadForOutcome(key, request); });
  }
  absl::StatusOr<CommitResult> Commit(const Change& change) override {
    return Inside([&] { return commits_.Commit(change); });
  }
  // What is to be committed alone is refused there by the closed latch.
  std::vector<GroupedResult> CommitMany(const std::vector<GroupedChange>& changes) override {
    const ShutdownLatch::Entry entry(latch_);
    if (!entry.entered()) return std::vector<GroupedResult>(changes.size());
    return commits_.CommitMany(changes);
  }
  std::shared_ptr<const Head> CachedHead(const SessionKey& key) override {
    std::shared_ptr<const VersionedHead> known = heads_.Find(key);
    return known ? std::shared_ptr<const Head>(known, &known->head) : nullptr;
  }
  absl::Status StageUpload(const SessionKey& key, const UploadId& upload, uint64_t offset,
                           std::string_view bytes) override {
    return Inside([&] { return uploads_.Stage(key, upload, offset, bytes); });
  }
  absl::Status DropUpload(const SessionKey& key, const UploadId& upload) override {
    return Inside([&] { return uploads_.Drop(key, upload); });
  }
  absl::StatusOr<std::string> ReadStaged(const SessionKey& key, const StagedBytes& bytes,
                                         uint64_t offset, size_t count) override {
    return Inside([&] { return uploads_.Read(key, bytes, offset, count); });
  }
  absl::StatusOr<MessagePage> ReadMessages(const SessionKey& key, std::optional<Revision> revision,
                                           MessageSeq after, PageLimit limit) override {
    return Inside([&] { return reads_.Messages(key, revision, after, limit); });
  }
  absl::StatusOr<SlotPage> ReadSlots(const SessionKey& key, const SlotQuery& query) override {
    return Inside([&] { return reads_.Slots(key, query); });
  }
  absl::StatusOr<JournalPage> ReadJournal(const SessionKey& key, const JournalQuery& query,
                                          PageLimit limit) override {
    return Inside([&] { return reads_.Journal(key, query, limit); });
  }
  absl::StatusOr<ItemPage> ReadItems(const SessionKey& key, const ItemQuery& query,
                                     PageLimit limit) override {
    return Inside([&] { return reads_.Items(key, query, limit); });
  }
  absl::StatusOr<EventPage> ReadEvents(const SessionKey& key, EventSeq after,
                                       PageLimit limit) override {
    return Inside([&] { return reads_.Events(key, after, limit); });
  }
  absl::StatusOr<Event> ReadLastEvent(const SessionKey& key) override {
    return Inside([&] { return reads_.LastEvent(key); });
  }
  absl::StatusOr<Wakeups> WaitForEvents(absl::Duration at_most) override {
    return Inside([&] { return change_notifier_.Wait(at_most); });
  }
  absl::StatusOr<AuditPage> ReadAudit(const SessionKey& key, AuditSeq after,
                                      PageLimit limit) override {
    return Inside([&] { return reads_.Audit(key, after, limit); });
  }
  absl::StatusOr<ListPage> List(const ListQuery& query) override {
    return Inside([&] { return ListSessions(database_, query); });
  }
  absl::StatusOr<std::vector<SessionKey>> ListDue(DueKind kind, absl::Duration quiet,
                                                  const std::optional<SessionKey>& after,
                                                  size_t limit) override {
    return Inside([&]() -> absl::StatusOr<std::vector<SessionKey>> {
      // This sweep also deletes what is no longer kept; what fails is reported, and left to the
      // next one.
      if (kind == DueKind::kAbandoned) {
        uploads_.Sweep().IgnoreError();
        retention_.Sweep().IgnoreError();
      }
      return ListDueSessions(database_, kind, quiet, after, limit);
    });
  }
  std::vector<absl::StatusOr<Renewed>> RenewLeases(
      const std::vector<RenewRequest>& requests) override {
    const ShutdownLatch::Entry entry(latch_);
    if (entry.entered()) return Renew(database_, requests);
    return {requests.size(), StoreUnavailable("the store is closing", Fate::kNoEffect)};
  }

  absl::Status CheckHealth() override {
    return Inside([&]() -> absl::Status {
      if (!commits_.healthy()) return Probe();
      ASSIGN_OR_RETURN(const Rows rows, database_.AskWithin(kHealthPatience, kAlive, Params()));
      if (rows.Bool(0, 0)) return absl::OkStatus();
      return StoreUnavailable("the database is a standby, which takes no changes", Fate::kNoEffect);
    });
  }

  absl::StatusOr<StoreCheck> Check() override {
    return Inside([&]() -> absl::StatusOr<StoreCheck> {
      RETURN_IF_ERROR(Probe());
      return StoreCheck();
    });
  }

 private:
  // Does `call` unless the store is closing.
  template <typename Call>
  auto Inside(Call call) -> decltype(call()) {
    const ShutdownLatch::Entry entry(latch_);
    if (entry.entered()) return call();
    return StoreUnavailable("the store is closing", Fate::kNoEffect).ToStatus();
  }

  // A later connection must lead to the store that Init found.
  absl::Status CheckAgain(Connection& connection) {
    const absl::Duration asked = database_.clock.SinceBoot();
    ASSIGN_OR_RETURN(const ConnectionCheck check, CheckConnection(connection));
    RETURN_IF_ERROR(CheckSame(identity_, check.identity));
    store_clock_.Set(check.now, asked);
    return OpenAfterFailover(connection);
  }

  // During a failover no lease could be renewed: the store counts as opened anew with the first
  // connection to the newer timeline, before any other statement runs there.
  absl::Status OpenAfterFailover(Connection& connection) {
    if (connection.timeline() <= opened_on_.load()) return absl::OkStatus();
    const Answer opened = connection.Run(kReopen, Params());
    if (const auto* const failure = std::get_if<Failure>(&opened)) {
      database_.Report(kReopen, *failure);
      return RefusalFor(*failure);
    }
    opened_on_ = connection.timeline();
    return absl::OkStatus();
  }

  // Sees that a write succeeds, and how long its flush takes: where that is long, a second group of
  // changes is written while the first one waits for it.
  absl::Status MeasureFlush() {
    constexpr int kProbes = 3;
    absl::Duration least = absl::InfiniteDuration();
    for (int probe = 0; probe < kProbes; ++probe) {
      const absl::Duration began = database_.clock.SinceBoot();
      RETURN_IF_ERROR(Probe());
      least = std::min(least, database_.clock.SinceBoot() - began);
    }
    if (least >= kLongFlush) groups_at_once_ = least >= kVeryLongFlush ? 4 : 2;
    return absl::OkStatus();
  }

  // Waits for no flush, and costs a look at each of the database's files.
  absl::StatusOr<DatabaseUse> Measure() {
    return Inside([&]() -> absl::StatusOr<DatabaseUse> {
      ASSIGN_OR_RETURN(const Rows step,
                       database_.AskWithin(kHealthPatience, kSchemaStep, Params()));
      DatabaseUse use{.schema_step = step.Int4(0, 0), .schema_step_known = NeededSchema()};
      if (NeededSchema() < kServersStep) return use;
      ASSIGN_OR_RETURN(const Rows rows,
                       database_.AskWithin(kHealthPatience, kDatabaseContents, Params()));
      use.contents = {.bytes = static_cast<uint64_t>(rows.Int(0, 0)),
                      .servers = static_cast<size_t>(rows.Int(0, 1)),
                      .active = static_cast<size_t>(rows.Int(0, 2))};
      return use;
    });
  }

  // Writes a row, waits until it is flushed, and takes it away.
  absl::Status Probe() {
    absl::Status written = database_.AskFlushed(kProbe, Params()).status();
    if (!written.ok()) {
      if (Is(written, Reason::kStorageFull)) return written;
      return StoreUnavailable(
          "nothing can be written to the database: look whether it is reachable, whether it is a "
          "standby or read-only, and what its log says",
          Fate::kNoEffect);
    }
    commits_.NoteHealthy();
    return database_.AskFlushed(kTakeProbesAway, Params()).status();
  }

  void Shut() {
    change_notifier_.Shutdown();  // a call that waits for it holds the latch
    latch_.Close();
    listener_.Stop();
    notifier_.Stop();
    feed_.Stop();
    retention_.Stop();
    pool_.Close();
  }

  const ConnectOptions connect_;
  Identity identity_;                    // as Init found it
  std::vector<std::string> warnings_;    // the same
  std::atomic<uint32_t> opened_on_ = 0;  // the timeline on which leases were given their time
  Pool pool_;
  Random& random_;
  StoreClock store_clock_;
  const size_t group_;
  const size_t connections_;
  size_t groups_at_once_ = 1;
  Database database_;
  ShutdownLatch latch_;
  ChangeNotifier change_notifier_;
  HeadCache heads_{{.entries = kCachedHeads, .bytes = kCachedHeadBytes}};
  Uploads uploads_{database_};
  Retention retention_{database_};
  Interest interest_;
  Notifier notifier_{database_};
  Commits commits_{database_, heads_, uploads_, retention_, change_notifier_, notifier_, group_};
  Reads reads_{database_, heads_, interest_};
  Feed feed_;
  Listener listener_{database_, interest_, feed_};
};

}  // namespace

std::unique_ptr<SessionStore> MakePostgresStore(const PostgresOptions& options, const Clock& clock,
                                                Random& random) {
  return std::make_unique<PostgresStore>(options, clock, random);
}

}  // namespace holdfast::pg
