#include "store-fs/fs_store.h"

#include "platform/exceptions.h"
#include "platform/shutdown_latch.h"
#include "platform/status_macros.h"
#include "session/guard.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/cut_tails.h"
#include "store-fs/description.h"
#include "store-fs/descriptor_limit.h"
#include "store-fs/directory_scanner.h"
#include "store-fs/due_sessions.h"
#include "store-fs/environment.h"
#include "store-fs/fail_stop.h"
#include "store-fs/group_commit.h"
#include "store-fs/lease_table.h"
#include "store-fs/listed_rows.h"
#include "store-fs/listing.h"
#include "store-fs/log_start.h"
#include "store-fs/readers.h"
#include "store-fs/root.h"
#include "store-fs/session_table.h"
#include "store-fs/space.h"
#include "store-fs/store_time.h"
#include "store-fs/tombstones.h"
#include "store-fs/watermarks.h"
#include "store-fs/write_ahead_log.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <algorithm>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::fs {
namespace {

constexpr absl::Duration kIdle = absl::Minutes(10);
// What a probe must find room for once the space had ended: the first step of a journal.
constexpr size_t kProbeBytes = 64 * kKiB;

class FsStore final : public SessionStore {
 public:
  FsStore(FsOptions options, const Clock& clock, Random& random)
      : options_(std::move(options)),
        clock_(clock),
        random_(random),
        fail_stop_(options_.report),
        cut_tails_(options_.report_cut_tail) {}
  FsStore(const FsStore&) = delete;
  FsStore& operator=(const FsStore&) = delete;
  ~FsStore() override { Shut(); }

  [[nodiscard]] StoreDescription Describe() const override {
    StoreDescription description = DescribeFs();
    description.store = root_.record.store;
    description.incarnation = root_.record.incarnation;
    description.durability = ByInterval() ? kByInterval : kBySync;
    description.groups_at_once = ByInterval() ? 0 : 1;
    if (ByInterval()) {
      description.warnings = {
          "acknowledged writes may be lost with the machine: durability is interval"};
    }
    if (space_.ended()) {
      description.warnings.emplace_back(
          "no space is left: what is stored is served, and changes are refused until there is "
          "room");
    }
    return description;
  }

  absl::Status Init() override {
    RETURN_IF_ERROR(CheckDescriptorLimit(options_.open_sessions));
    ASSIGN_OR_RETURN(root_, OpenRoot(OptionsOfRoot(), random_));
    if (root_.is_put_off) {
      space_.Ended().IgnoreError();
      space_.PutOff([this] { return FinishOpening(); });
    }
    absl::StatusOr<std::unique_ptr<WriteAheadLog>> log =
        StartLog(options_, root_, fail_stop_, random_);
    if (!log.ok()) return Explain(log.status());
    log_ = *std::move(log);
    absl::StatusOr<std::unique_ptr<Watermarks>> watermarks =
        Watermarks::Open(*root_.files, WatermarksAreWorth());
    if (!watermarks.ok()) return Explain(watermarks.status());
    watermarks_ = *std::move(watermarks);
    time_.emplace(clock_, std::max(root_.record.time, watermarks_->recorded()));
    absl::StatusOr<std::unique_ptr<Tombstones>> tombstones =
        Tombstones::Open(*root_.files, *watermarks_, *time_);
    if (!tombstones.ok()) return Explain(tombstones.status());
    tombstones_ = *std::move(tombstones);
    if (tombstones_->cut() > 0) cut_tails_.Note(kTombstonesFile, tombstones_->cut());
    leases_.emplace(clock_);
    uploads_.emplace(*root_.files, clock_);
    environment_.emplace(Environment{.files = *root_.files,
                                     .identity = {.store = root_.record.store,
                                                  .incarnation = root_.record.incarnation,
                                                  .unsynced = ByInterval() || root_.unsynced,
                                                  .bounds = options_.bounds},
                                     .clock = clock_,
                                     .random = random_,
                                     .fail_stop = fail_stop_,
                                     .leases = *leases_,
                                     .tombstones = *tombstones_,
                                     .uploads = *uploads_,
                                     .watermarks = *watermarks_,
                                     .time = *time_,
                                     .cut_tails = cut_tails_,
                                     .by_interval = ByInterval(),
                                     .log = ByInterval() ? nullptr : log_.get(),
                                     .rotate_changes = options_.rotate_changes,
                                     .retention = options_.retention,
                                     .item_bounds = options_.item_bounds,
                                     .listing = listing_,
                                     .change_notifier = change_notifier_,
                                     .space = space_,
                                     .compactions = compactions_,
                                     .note = options_.note,
                                     .meter = *options_.meter});
    options_.meter->OnSessions([this] { return listing_.Counts(); });
    table_.emplace(*environment_, options_.open_sessions);
    scanner_.emplace(*environment_, *table_, listing_);
    RETURN_IF_ERROR(Explain(scanner_->FinishDeletes()));
    return Explain(TakeRows());
  }

  absl::Status Activate() override {
    scanner_thread_ = std::jthread([this](const std::stop_token& stop) { ScanDirectories(stop); });
    log_->Start();
    compaction_thread_ = std::jthread([this](const std::stop_token& stop) { CompactAll(stop); });
    if (ByInterval()) {
      sync_thread_ = std::jthread([this](const std::stop_token& stop) { SyncAgain(stop); });
    }
    return absl::OkStatus();
  }

  absl::Status Deactivate() override {
    change_notifier_.Shutdown();  // a call that waits for it holds the latch
    latch_.Close();
    StopThreads();
    if (!table_) return absl::OkStatus();
    for (const auto& session : table_->All()) session->Close();
    // The run does not end in order: STORE does not get `clean`.
    if (!fail_stop_.Check().ok()) return absl::OkStatus();
    RETURN_IF_ERROR(Explain(log_->Empty()));
    RETURN_IF_ERROR(Explain(watermarks_->Sync()));
    RETURN_IF_ERROR(Explain(WriteIndex(*root_.files, listing_.All())));
    root_.record.clean = true;
    return Explain(RecordRoot());
  }

  void Dispose() override { Shut(); }

  absl::StatusOr<LoadedSession> LoadForDecision(const SessionKey& key,
                                                const std::optional<RequestId>& request) override {
    return Inside([&]() -> absl::StatusOr<LoadedSession> {
      const std::shared_ptr<OpenSession> session = table_->Get(key);
      ASSIGN_OR_RETURN(LoadedSession loaded, Readers(*environment_, key, *session).Load(request));
      leases_->Evaluate(key, loaded.head);
      const absl::Time oldest = time_->Now() - kRequestsKept;
      std::erase_if(loaded.head.grants,
                    [&](const GrantRecord& grant) { return grant.at < oldest; });
      return loaded;
    });
  }

  // What a load shows is durable already; but after a failure recovery may find more.
  absl::StatusOr<LoadedSession> LoadForOutcome(const SessionKey& key,
                                               const RequestId& request) override {
    absl::StatusOr<LoadedSession> loaded = LoadForDecision(key, request);
    RETURN_IF_ERROR(fail_stop_.Check());
    return loaded;
  }

  absl::StatusOr<CommitResult> Commit(const Change& change) override {
    return Inside([&] { return table_->Get(change.key)->Commit(change); });
  }

  std::vector<GroupedResult> CommitMany(const std::vector<GroupedChange>& changes) override {
    if (ByInterval()) return SessionStore::CommitMany(changes);
    const ShutdownLatch::Entry entry(latch_);
    if (entry.entered()) return CommitGroup(changes, *table_, *log_);
    return std::vector<GroupedResult>(changes.size());  // each is then committed alone, and refused
  }

  std::shared_ptr<const Head> CachedHead(const SessionKey& key) override {
    const ShutdownLatch::Entry entry(latch_);
    if (!entry.entered()) return nullptr;
    const std::shared_ptr<OpenSession> session = table_->Find(key);
    return session ? session->CachedHead() : nullptr;
  }

 private:
  [[nodiscard]] bool ByInterval() const { return options_.durability == Durability::kInterval; }

  absl::Status RecordRoot() {
    root_.record.time = time_->Now();
    return WriteRootRecord(*root_.files, root_.record);
  }

  // Adopting a root that was not moved declares its files current, whatever the watermarks say.
  [[nodiscard]] WatermarkUse WatermarksAreWorth() const {
    if (!options_.adopt) return WatermarkUse::kOfTheseFiles;
    return root_.moved && root_.was_clean ? WatermarkUse::kOfCopies : WatermarkUse::kOfNothing;
  }

  // When every session was opened, no frame of an earlier run is unsynced any more.
  void ScanDirectories(const std::stop_token& stop) {
    scanner_->Run(stop, rows_of_ns_);
    if (!root_.unsynced || ByInterval() || !listing_.complete()) return;
    const absl::MutexLock lock(&record_mutex_);
    root_.record.durability = kBySync;
    const absl::Status written = RecordRoot();
    // Without it the next start is as careful as this one was.
    if (!written.ok() && !IsLack(written)) fail_stop_.Fail(written).IgnoreError();
  }

  // The rows of a run that ended in order, so that the directory scanner opens only what was
  // changed since.
  absl::Status TakeRows() {
    ASSIGN_OR_RETURN(const auto index, TakeIndex(*root_.files));
    if (!index || !root_.was_clean) return absl::OkStatus();
    for (const IndexRow& entry : index->rows) listing_.PutIfUnknown(entry.tenant, entry.row);
    rows_of_ns_ = index->written_ns;
    return absl::OkStatus();
  }

  // Does `call` unless the store is closing.
  template <typename Call>
  auto Inside(Call call) -> decltype(call()) {
    const ShutdownLatch::Entry entry(latch_);
    if (entry.entered()) return call();
    return StoreUnavailable("the store is closing", Fate::kNoEffect).ToStatus();
  }

  template <typename Call>
  auto Read(const SessionKey& key, Call call) {
    return Inside([&] { return ReadOfOne(*environment_, key, *table_->Get(key), call); });
  }

 public:
  absl::Status StageUpload(const SessionKey& key, const UploadId& upload, uint64_t offset,
                           std::string_view bytes) override {
    return Inside([&]() -> absl::Status {
      RETURN_IF_ERROR(fail_stop_.Check());
      RETURN_IF_ERROR(space_.Check());
      return ClassifyUpload(uploads_->Stage(key, upload, offset, bytes));
    });
  }
  absl::Status DropUpload(const SessionKey& key, const UploadId& upload) override {
    return Inside([&]() -> absl::Status {
      RETURN_IF_ERROR(fail_stop_.Check());
      return ClassifyUpload(uploads_->Drop(key, upload));
    });
  }
  absl::StatusOr<std::string> ReadStaged(const SessionKey& key, const StagedBytes& bytes,
                                         uint64_t offset, size_t count) override {
    return Read(key, [&](Readers readers) { return readers.Staged(bytes, offset, count); });
  }

  absl::StatusOr<MessagePage> ReadMessages(const SessionKey& key, std::optional<Revision> revision,
                                           MessageSeq after, PageLimit limit) override {
    return Read(key, [&](Readers readers) { return readers.Messages(revision, after, limit); });
  }
  absl::StatusOr<SlotPage> ReadSlots(const SessionKey& key, const SlotQuery& query) override {
    return Read(key, [&](Readers readers) { return readers.Slots(query); });
  }
  absl::StatusOr<JournalPage> ReadJournal(const SessionKey& key, const JournalQuery& query,
                                          PageLimit limit) override {
    return Read(key, [&](Readers readers) { return readers.Entries(query, limit); });
  }
  absl::StatusOr<ItemPage> ReadItems(const SessionKey& key, const ItemQuery& query,
                                     PageLimit limit) override {
    return Read(key, [&](Readers readers) { return readers.Items(query, limit); });
  }
  absl::StatusOr<EventPage> ReadEvents(const SessionKey& key, EventSeq after,
                                       PageLimit limit) override {
    return Read(key, [&](Readers readers) { return readers.Events(after, limit); });
  }
  absl::StatusOr<Event> ReadLastEvent(const SessionKey& key) override {
    return Inside([&]() -> absl::StatusOr<Event> {
      auto tombstone = tombstones_->Find(key);
      const bool replaced = tombstone && tombstone->next &&
                            !Is(table_->Get(key)->DurableHead().status(), Reason::kTombstoned);
      if (tombstone && !replaced) return std::move(tombstone->last_event);
      return Refusal(Reason::kSessionNotFound, "no deleted session has this id");
    });
  }
  absl::StatusOr<Wakeups> WaitForEvents(absl::Duration at_most) override {
    return Inside([&] { return change_notifier_.Wait(at_most); });
  }
  absl::StatusOr<AuditPage> ReadAudit(const SessionKey& key, AuditSeq after,
                                      PageLimit limit) override {
    return Read(key, [&](Readers readers) { return readers.Audits(after, limit); });
  }

  absl::StatusOr<ListPage> List(const ListQuery& query) override {
    return Inside([&] { return ListRows(*environment_, *table_, query); });
  }

  absl::StatusOr<std::vector<SessionKey>> ListDue(DueKind kind, absl::Duration quiet,
                                                  const std::optional<SessionKey>& after,
                                                  size_t limit) override {
    return Inside([&]() -> absl::StatusOr<std::vector<SessionKey>> {
      const KnownSessions known{.sessions = *table_, .leases = *leases_, .listing = listing_};
      const DueQuery query{.since = quiet, .after = after, .limit = limit};
      if (kind == DueKind::kCancelled) return DueToEnd(known, query);
      RETURN_IF_ERROR(Tidy());
      return DueToRecover(known, query);
    });
  }

  std::vector<absl::StatusOr<Renewed>> RenewLeases(
      const std::vector<RenewRequest>& requests) override {
    std::vector<absl::StatusOr<Renewed>> results;
    results.reserve(requests.size());
    for (const RenewRequest& request : requests) {
      results.push_back(Inside([&] { return Renew(request); }));
    }
    return results;
  }

  absl::Status CheckHealth() override { return fail_stop_.Check(); }

  absl::StatusOr<StoreCheck> Check() override {
    return Inside([&]() -> absl::StatusOr<StoreCheck> {
      RETURN_IF_ERROR(fail_stop_.Check());
      RETURN_IF_ERROR(Probe());
      return StoreCheck{.reappeared = scanner_->Reappeared(kReappearedShown)};
    });
  }

 private:
  // A failure here affects nothing that was acknowledged, so it does not stop the store; the next
  // write fails by itself. After the space ended, the probe needs as much as a change.
  absl::Status Probe() {
    const size_t bytes = space_.ended() ? kProbeBytes : 1;
    const absl::Status probed = ProbeRoot(*root_.files, UuidText(random_.Bytes(16), 4), bytes);
    if (Is(probed, Reason::kStorageFull)) space_.Ended().IgnoreError();
    RETURN_IF_ERROR(probed);
    RETURN_IF_ERROR(space_.Check());
    space_.Taken();
    return absl::OkStatus();
  }

  [[nodiscard]] RootOptions OptionsOfRoot() const {
    return {.path = options_.root,
            .durability = ByInterval() ? kByInterval : kBySync,
            .allow_network_file_system = options_.allow_network_file_system,
            .adopt = options_.adopt,
            .wrap_files = options_.wrap_files};
  }

  // Writes what a start without space has left.
  absl::Status FinishOpening() {
    const absl::MutexLock lock(&record_mutex_);
    const absl::Status finished = fs::FinishOpening(OptionsOfRoot(), root_);
    const bool explained = finished.ok() || absl::IsResourceExhausted(finished) ||
                           RefusalOf(finished).reason() != Reason::kInternal;
    return explained ? finished : fail_stop_.FailUnwritten(finished);
  }

  // Every refusal a store answers is one of the closed list, also before it serves.
  static absl::Status Explain(const absl::Status& status) {
    if (status.ok() || RefusalOf(status).reason() != Reason::kInternal) return status;
    return StoreUnavailable(std::string(status.message()), Fate::kNoEffect);
  }

  // An upload is acknowledged only by its link, so a lack of space fails its call alone. Any other
  // failure of the disk stops the store.
  absl::Status ClassifyUpload(const absl::Status& status) {
    if (status.ok() || RefusalOf(status).reason() != Reason::kInternal) return status;
    if (absl::IsResourceExhausted(status)) return space_.Ended();
    return fail_stop_.FailUnwritten(status);
  }

  absl::StatusOr<Renewed> Renew(const RenewRequest& request) {
    Head head;
    RETURN_IF_ERROR(table_->Get(request.key)->Look([&](const SessionState& state, const auto&) {
      head = state.head;
    }));
    leases_->Evaluate(request.key, head);
    Guard guard;
    guard.trigger = Trigger::kRenew;
    guard.lease = LeaseRule::kMustHold;
    guard.token = request.token;
    if (auto refusal = CheckGuard(head, guard, {})) return refusal->ToStatus();
    const absl::Duration ttl = request.ttl.value_or(head.lease.ttl);
    leases_->Renew(request.key, head, ttl);
    return Renewed{.expires_in = ttl,
                   .revision = head.revision,
                   .cancel_requests = std::move(head.cancel_requests)};
  }

  // Sweeps also free what exceeds its bound.
  absl::Status Tidy() {
    if (space_.ended()) Probe().IgnoreError();
    RETURN_IF_ERROR(ClassifyUpload(uploads_->Sweep(kUploadsKept)));
    table_->CutBackIdle(kIdle);
    scanner_->Compare();
    if (options_.compact_in_sweeps) {
      while (const auto key = compactions_.Take()) CompactOne(*key);
    }
    return absl::OkStatus();
  }

  void SyncAgain(const std::stop_token& stop) {
    absl::Mutex mutex;
    const std::stop_callback wake(stop, [&] { const absl::MutexLock lock(&mutex); });
    while (!stop.stop_requested()) {
      absl::MutexLock lock(&mutex);
      const auto stopped = [&] { return stop.stop_requested(); };
      mutex.AwaitWithTimeout(absl::Condition(&stopped), options_.interval);
      const auto what = CatchException([this] {
        for (const auto& session : table_->All()) session->SyncNow();
      });
      // What was acknowledged may never become durable: as after a failed sync.
      if (what) fail_stop_.Fail(absl::InternalError(*what)).IgnoreError();
    }
  }

  void CompactAll(const std::stop_token& stop) {
    if (options_.compact_in_sweeps) return;
    LoopGuard guard("compaction", options_.note);
    while (const auto key = compactions_.Await(stop)) {
      guard.Run([&] { CompactOne(*key); });
    }
  }

  // Further work on the session waits behind the other sessions.
  void CompactOne(const SessionKey& key) {
    if (table_->Get(key)->Compact()) compactions_.Add(key);
  }

  void StopThreads() {
    compaction_thread_ = std::jthread();
    scanner_thread_ = std::jthread();
    sync_thread_ = std::jthread();
    if (log_) log_->Stop();
  }

  void Shut() {
    change_notifier_.Shutdown();
    latch_.Close();
    StopThreads();
    if (table_) table_->Clear();
    root_.lock.reset();
  }

  const FsOptions options_;
  const Clock& clock_;
  Random& random_;
  Root root_;
  FailStop fail_stop_;
  CutTails cut_tails_;
  Space space_{clock_, options_.note};
  CompactionQueue compactions_;
  absl::Mutex record_mutex_;  // while the file STORE is written beside the service
  ShutdownLatch latch_;
  Listing listing_;
  ChangeNotifier change_notifier_;
  std::unique_ptr<WriteAheadLog> log_;
  std::unique_ptr<Watermarks> watermarks_;
  std::optional<StoreTime> time_;
  std::unique_ptr<Tombstones> tombstones_;
  std::optional<LeaseTable> leases_;
  std::optional<Uploads> uploads_;
  std::optional<Environment> environment_;
  std::optional<SessionTable> table_;
  std::optional<DirectoryScanner> scanner_;
  std::optional<int64_t> rows_of_ns_;  // when the rows that came from the index were written
  std::jthread compaction_thread_;
  std::jthread scanner_thread_;
  std::jthread sync_thread_;
};

}  // namespace

std::unique_ptr<SessionStore> MakeFsStore(FsOptions options, const Clock& clock, Random& random) {
  return std::make_unique<FsStore>(std::move(options), clock, random);
}

}  // namespace holdfast::fs
