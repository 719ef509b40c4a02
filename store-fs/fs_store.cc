#include "store-fs/fs_store.h"

#include "session/gate.h"
#include "session/guard.h"
#include "session/limits.h"
#include "session/marks.h"
#include "session/refusal.h"
#include "session/saboteur.h"
#include "session/status_macros.h"
#include "store-fs/census.h"
#include "store-fs/environment.h"
#include "store-fs/fail_stop.h"
#include "store-fs/lease_table.h"
#include "store-fs/listing.h"
#include "store-fs/readers.h"
#include "store-fs/root.h"
#include "store-fs/session_table.h"
#include "store-fs/stored_request.h"
#include "store-fs/tombstones.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <algorithm>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::fs {
namespace {

constexpr absl::Duration kIdle = absl::Minutes(10);
// For connections, and for files that are open for the length of a call.
constexpr rlim_t kOtherDescriptors = 256;
constexpr char kContractVersion[] = "1.0.0";
constexpr char kConfigSchema[] = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["name", "kind"],
  "properties": {
    "name": {"type": "string", "minLength": 1},
    "kind": {"const": "fs"},
    "enabled": {"type": "boolean"},
    "active": {"type": "boolean"},
    "root": {"type": "string", "pattern": "^/"},
    "durability": {"enum": ["sync", "interval"]},
    "interval": {"type": "string"},
    "allow_network_file_system": {"type": "boolean"}
  }
})";

// Each open session keeps a descriptor: running out of them later would stop the store.
absl::Status CheckDescriptors(size_t open_sessions) {
  rlimit limit{};
  const rlim_t needed = open_sessions + kOtherDescriptors;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return absl::OkStatus();
  return StoreUnavailable("the process may have " + std::to_string(limit.rlim_cur) +
                              " files open and the store needs " + std::to_string(needed) +
                              ": raise the limit (ulimit -n, LimitNOFILE)",
                          Fate::kNoEffect);
}

class FsStore final : public SessionStore {
 public:
  FsStore(FsOptions options, const Clock& clock, Random& random)
      : options_(std::move(options)), clock_(clock), random_(random), fail_stop_(options_.report) {}
  FsStore(const FsStore&) = delete;
  FsStore& operator=(const FsStore&) = delete;
  ~FsStore() override { Shut(); }

  [[nodiscard]] StoreDescription Describe() const override {
    StoreDescription description;
    description.kind = "fs";
    description.contract_version = kContractVersion;
    description.config_schema = kConfigSchema;
    description.store = root_.record.store;
    description.incarnation = root_.record.incarnation;
    description.snapshot_bytes_limit = kSnapshotBytes;
    description.large_slot_streaming = true;
    description.durability = ByInterval() ? kByInterval : kBySync;
    if (ByInterval()) {
      description.warnings = {
          "acknowledged writes may be lost with the machine: durability is interval"};
    }
    return description;
  }

  absl::Status Init() override {
    RETURN_IF_ERROR(CheckDescriptors(options_.open_sessions));
    ASSIGN_OR_RETURN(root_,
                     OpenRoot({.path = options_.root,
                               .durability = ByInterval() ? kByInterval : kBySync,
                               .allow_network_file_system = options_.allow_network_file_system,
                               .adopt = options_.adopt,
                               .wrap_files = options_.wrap_files},
                              random_));
    absl::StatusOr<std::unique_ptr<Tombstones>> tombstones = Tombstones::Open(*root_.files);
    if (!tombstones.ok()) return Explain(tombstones.status());
    tombstones_ = *std::move(tombstones);
    leases_.emplace(clock_);
    uploads_.emplace(*root_.files, clock_);
    environment_.emplace(Environment{.files = *root_.files,
                                     .identity = {.store = root_.record.store,
                                                  .incarnation = root_.record.incarnation,
                                                  .unsynced = ByInterval() || root_.unsynced},
                                     .clock = clock_,
                                     .random = random_,
                                     .fail_stop = fail_stop_,
                                     .leases = *leases_,
                                     .tombstones = *tombstones_,
                                     .uploads = *uploads_,
                                     .by_interval = ByInterval(),
                                     .rotate_changes = options_.rotate_changes,
                                     .listing = listing_,
                                     .bell = bell_});
    table_.emplace(*environment_, options_.open_sessions);
    census_.emplace(*environment_, *table_, listing_);
    RETURN_IF_ERROR(Explain(census_->FinishDeletes()));
    return Explain(TakeRows());
  }

  absl::Status Activate() override {
    census_thread_ = std::jthread([this](const std::stop_token& stop) { TakeCensus(stop); });
    if (ByInterval()) {
      sync_thread_ = std::jthread([this](const std::stop_token& stop) { SyncAgain(stop); });
    }
    return absl::OkStatus();
  }

  absl::Status Deactivate() override {
    bell_.Silence();  // whoever waits for it is inside the gate
    gate_.Close();
    StopThreads();
    if (!table_) return absl::OkStatus();
    for (const auto& session : table_->All()) session->Close();
    // Ended, but not in order: no clean mark.
    if (!fail_stop_.Check().ok()) return absl::OkStatus();
    RETURN_IF_ERROR(Explain(WriteIndex(*root_.files, listing_.All())));
    root_.record.clean = true;
    return Explain(WriteRootRecord(*root_.files, root_.record));
  }

  void Dispose() override { Shut(); }

  absl::StatusOr<Loaded> LoadForDecision(const SessionKey& key,
                                         const std::optional<RequestId>& request) override {
    return Inside([&]() -> absl::StatusOr<Loaded> {
      Loaded loaded;
      absl::Status read;
      RETURN_IF_ERROR(table_->Get(key)->Look([&](const Contents& contents, const auto&) {
        loaded.head = contents.head;
        if (request && !Sabotaged(Saboteur::kNoRequestCheck)) {
          read = ReadFresh(key, contents, *request, loaded.request);
        }
      }));
      RETURN_IF_ERROR(read);
      leases_->Evaluate(key, loaded.head);
      const absl::Time oldest = clock_.Wall() - kRequestsKept;
      std::erase_if(loaded.head.grants,
                    [&](const GrantRecord& grant) { return grant.at < oldest; });
      return loaded;
    });
  }

  // What a load shows is durable already; but after a failure recovery may find more.
  absl::StatusOr<Loaded> LoadForOutcome(const SessionKey& key, const RequestId& request) override {
    absl::StatusOr<Loaded> loaded = LoadForDecision(key, request);
    RETURN_IF_ERROR(fail_stop_.Check());
    return loaded;
  }

  absl::StatusOr<CommitResult> Commit(const Change& change) override {
    return Inside([&] { return table_->Get(change.key)->Commit(change); });
  }

 private:
  [[nodiscard]] bool ByInterval() const { return options_.durability == Durability::kInterval; }

  // Once every session was opened, no frame of an earlier run is unsynced any more.
  void TakeCensus(const std::stop_token& stop) {
    census_->Run(stop, rows_of_ns_);
    if (!root_.unsynced || ByInterval() || !listing_.complete()) return;
    root_.record.durability = kBySync;
    const absl::Status written = WriteRootRecord(*root_.files, root_.record);
    if (!written.ok()) fail_stop_.Fail(written).IgnoreError();
  }

  // The rows of a run that ended in order, so that the census opens only what was changed since.
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
    if (!gate_.Enter()) return StoreUnavailable("the store is closing", Fate::kNoEffect).ToStatus();
    auto result = call();
    gate_.Leave();
    return result;
  }

  template <typename Call>
  auto Read(const SessionKey& key, Call call) {
    return Inside([&] {
      const std::shared_ptr<OpenSession> session = table_->Get(key);
      return call(Readers(*environment_, key, *session));
    });
  }

 public:
  absl::Status StageUpload(const SessionKey& key, const UploadId& upload, uint64_t offset,
                           std::string_view bytes) override {
    return Inside([&]() -> absl::Status {
      RETURN_IF_ERROR(fail_stop_.Check());
      return JudgeUpload(uploads_->Stage(key, upload, offset, bytes));
    });
  }
  absl::Status DropUpload(const SessionKey& key, const UploadId& upload) override {
    return Inside([&]() -> absl::Status {
      RETURN_IF_ERROR(fail_stop_.Check());
      return JudgeUpload(uploads_->Drop(key, upload));
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
  absl::StatusOr<EventPage> ReadEvents(const SessionKey& key, EventSeq after,
                                       PageLimit limit) override {
    return Read(key, [&](Readers readers) { return readers.Events(after, limit); });
  }
  absl::StatusOr<Event> ReadLastEvent(const SessionKey& key) override {
    return Inside([&]() -> absl::StatusOr<Event> {
      if (auto tombstone = tombstones_->Find(key)) return std::move(tombstone->last_event);
      return Refusal(Reason::kSessionNotFound, "no deleted session has this id");
    });
  }
  absl::StatusOr<Wakeups> WaitForEvents(absl::Duration at_most) override {
    return Inside([&] { return bell_.Wait(at_most); });
  }
  absl::StatusOr<AuditPage> ReadAudit(const SessionKey& key, AuditSeq after,
                                      PageLimit limit) override {
    return Read(key, [&](Readers readers) { return readers.Audits(after, limit); });
  }

  absl::StatusOr<ListPage> List(const ListQuery& query) override {
    return Inside([&]() -> absl::StatusOr<ListPage> { return listing_.Page(query); });
  }

  absl::StatusOr<std::vector<SessionKey>> ListDue(DueKind kind, absl::Duration quiet,
                                                  size_t limit) override {
    return Inside([&]() -> absl::StatusOr<std::vector<SessionKey>> {
      return kind == DueKind::kCancelled ? DueToEnd(quiet, limit) : DueToRecover(quiet, limit);
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
      return StoreCheck{.reappeared = census_->Reappeared(kReappearedShown)};
    });
  }

 private:
  // Writes a file of its own, syncs it and takes it away. What fails here says nothing of what was
  // acknowledged, so it does not stop the store: whoever writes meets it.
  absl::Status Probe() {
    const std::string path = std::string(kTmp) + "/probe." + UuidText(random_.Bytes(16), 4);
    absl::Status probed = WriteNew(*root_.files, path, "probe");
    const absl::Status removed = RemoveTree(*root_.files, path);
    if (probed.ok()) probed = removed;
    if (probed.ok()) return probed;
    if (absl::IsResourceExhausted(probed)) {
      return Refusal(Reason::kStorageFull, "no space is left for the store: free some");
    }
    return StoreUnavailable(
        "nothing can be written in the store's root: look at its owner, mode and mount, and at the "
        "disk",
        Fate::kNoEffect);
  }

  // Every refusal a store answers is one of the closed list, also before it serves.
  static absl::Status Explain(const absl::Status& status) {
    if (status.ok() || RefusalOf(status).reason() != Reason::kInternal) return status;
    return StoreUnavailable(std::string(status.message()), Fate::kNoEffect);
  }

  // Nothing of an upload is acknowledged but by its link; a disk that fails under it fails all the
  // same.
  absl::Status JudgeUpload(const absl::Status& status) {
    if (status.ok() || RefusalOf(status).reason() != Reason::kInternal) return status;
    if (absl::IsResourceExhausted(status)) {
      return Refusal(Reason::kStorageFull, "there is no space left for this upload")
          .RetryAfter(absl::Seconds(5));
    }
    return fail_stop_.Fail(status);
  }

  absl::Status ReadFresh(const SessionKey& key, const Contents& contents, const RequestId& id,
                         std::optional<RequestRow>& row) const {
    ASSIGN_OR_RETURN(row,
                     ReadRequest(*root_.files, key, contents, id, clock_.Wall() - kRequestsKept));
    if (row && row->receipt.epoch != contents.head.lease.epoch) row->receipt.token.clear();
    return absl::OkStatus();
  }

  absl::StatusOr<Renewed> Renew(const RenewRequest& request) {
    Head head;
    RETURN_IF_ERROR(table_->Get(request.key)->Look([&](const Contents& contents, const auto&) {
      head = contents.head;
    }));
    leases_->Evaluate(request.key, head);
    Guard guard;
    guard.trigger = Trigger::kRenew;
    guard.lease = LeaseRule::kMustHold;
    guard.token = request.token;
    if (auto refusal = CheckGuard(head, guard, {})) return refusal->ToStatus();
    const absl::Duration ttl = request.ttl.value_or(head.lease.ttl);
    leases_->Renew(request.key, head.lease.epoch, ttl);
    return Renewed{.expires_in = ttl, .revision = head.revision, .marks = std::move(head.marks)};
  }

  absl::StatusOr<std::vector<SessionKey>> DueToRecover(absl::Duration quiet, size_t limit) {
    // A sweep is also when the house is tidied.
    RETURN_IF_ERROR(JudgeUpload(uploads_->Sweep(kUploadsKept)));
    table_->CutBackIdle(kIdle);
    census_->Compare();
    std::vector<SessionKey> due;
    for (const SessionKey& key : listing_.Active()) {
      if (due.size() == limit) break;
      if (leases_->Quiet(key) >= quiet && Expired(key)) due.push_back(key);
    }
    return due;
  }

  absl::StatusOr<std::vector<SessionKey>> DueToEnd(absl::Duration grace, size_t limit) {
    std::vector<SessionKey> due;
    for (const SessionKey& key : listing_.Cancelling()) {
      if (due.size() == limit) break;
      const std::optional<Head> head = HeadOf(key);
      if (head && EndIsDue(*head, leases_->MarkedFor(key), grace)) due.push_back(key);
    }
    return due;
  }

  // The head as it is durable; nothing of a session that cannot be read.
  std::optional<Head> HeadOf(const SessionKey& key) {
    Head head;
    const absl::Status looked = table_->Get(key)->Look(
        [&](const Contents& contents, const auto&) { head = contents.head; });
    return looked.ok() ? std::optional(std::move(head)) : std::nullopt;
  }

  bool Expired(const SessionKey& key) {
    std::optional<Head> head = HeadOf(key);
    if (!head) return false;
    leases_->Evaluate(key, *head);
    return head->lifecycle == Lifecycle::kActive && head->lease.state != LeaseState::kLive;
  }

  void SyncAgain(const std::stop_token& stop) {
    absl::Mutex mutex;
    const std::stop_callback wake(stop, [&] { const absl::MutexLock lock(&mutex); });
    while (!stop.stop_requested()) {
      absl::MutexLock lock(&mutex);
      const auto stopped = [&] { return stop.stop_requested(); };
      mutex.AwaitWithTimeout(absl::Condition(&stopped), options_.interval);
      for (const auto& session : table_->All()) session->SyncNow();
    }
  }

  void StopThreads() {
    census_thread_ = std::jthread();
    sync_thread_ = std::jthread();
  }

  void Shut() {
    bell_.Silence();
    gate_.Close();
    StopThreads();
    if (table_) table_->Clear();
    root_.lock.reset();
  }

  const FsOptions options_;
  const Clock& clock_;
  Random& random_;
  Root root_;
  FailStop fail_stop_;
  Gate gate_;
  Listing listing_;
  EventBell bell_;
  std::unique_ptr<Tombstones> tombstones_;
  std::optional<LeaseTable> leases_;
  std::optional<Uploads> uploads_;
  std::optional<Environment> environment_;
  std::optional<SessionTable> table_;
  std::optional<Census> census_;
  std::optional<int64_t> rows_of_ns_;  // when the rows that came from the index were written
  std::jthread census_thread_;
  std::jthread sync_thread_;
};

}  // namespace

std::unique_ptr<SessionStore> MakeFsStore(FsOptions options, const Clock& clock, Random& random) {
  return std::make_unique<FsStore>(std::move(options), clock, random);
}

}  // namespace holdfast::fs
