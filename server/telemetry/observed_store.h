// A store whose calls are counted and timed, by the clock it was given, and whose applied changes
// are counted as transitions and grants. It passes every call on and changes no answer.
#ifndef HOLDFAST_SERVER_TELEMETRY_OBSERVED_STORE_H_
#define HOLDFAST_SERVER_TELEMETRY_OBSERVED_STORE_H_

#include "platform/clock.h"
#include "server/telemetry/commit_spans.h"
#include "server/telemetry/metrics.h"
#include "session/store.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace holdfast {

// The calls of the contract that cost time.
enum class StoreCall : uint8_t {
  kInit,
  kActivate,
  kDeactivate,
  kLoadForDecision,
  kLoadForOutcome,
  kCommit,
  kStageUpload,
  kDropUpload,
  kReadStaged,
  kReadMessages,
  kReadSlots,
  kReadJournal,
  kReadEvents,
  kReadAudit,
  kList,
  kListDue,
  kRenewLeases,
  kCheckHealth,
  kCheck,
};
inline constexpr size_t kStoreCalls = 19;

// "Commit", "ReadMessages": a label of metrics and of the slow log.
std::string_view Name(StoreCall call);

struct SlowStoreCall {
  StoreCall call = StoreCall::kCommit;
  absl::Duration took;
  absl::StatusCode code = absl::StatusCode::kOk;
};

struct ObservedStoreOptions {
  absl::Duration slow = absl::Seconds(1);  // what takes at least this long is slow
  // Called on the calling thread, after the call; must be quick. May be empty.
  std::function<void(const SlowStoreCall&)> on_slow;
  std::optional<CommitSpans> spans;  // where spans are exported
};

// Any thread may call.
class ObservedStore final : public SessionStore {
 public:
  // Takes `store`; `clock` and `metrics` must outlive this.
  ObservedStore(std::unique_ptr<SessionStore> store, const Clock& clock, Metrics& metrics,
                ObservedStoreOptions options = {});

  [[nodiscard]] StoreDescription Describe() const override;
  absl::Status Init() override;
  absl::Status Activate() override;
  absl::Status Deactivate() override;
  void Dispose() override;
  absl::StatusOr<LoadedSession> LoadForDecision(const SessionKey& key,
                                                const std::optional<RequestId>& request) override;
  absl::StatusOr<LoadedSession> LoadForOutcome(const SessionKey& key,
                                               const RequestId& request) override;
  absl::StatusOr<CommitResult> Commit(const Change& change) override;
  // Each change that is done counts as a Commit, and took as long as all.
  std::vector<GroupedResult> CommitMany(const std::vector<GroupedChange>& changes) override;
  // Not counted: it asks nothing.
  std::shared_ptr<const Head> CachedHead(const SessionKey& key) override {
    return store_->CachedHead(key);
  }
  absl::Status StageUpload(const SessionKey& key, const UploadId& upload, uint64_t offset,
                           std::string_view bytes) override;
  absl::Status DropUpload(const SessionKey& key, const UploadId& upload) override;
  absl::StatusOr<std::string> ReadStaged(const SessionKey& key, const StagedBytes& bytes,
                                         uint64_t offset, size_t count) override;
  absl::StatusOr<MessagePage> ReadMessages(const SessionKey& key, std::optional<Revision> revision,
                                           MessageSeq after, PageLimit limit) override;
  absl::StatusOr<SlotPage> ReadSlots(const SessionKey& key, const SlotQuery& query) override;
  absl::StatusOr<JournalPage> ReadJournal(const SessionKey& key, const JournalQuery& query,
                                          PageLimit limit) override;
  absl::StatusOr<EventPage> ReadEvents(const SessionKey& key, EventSeq after,
                                       PageLimit limit) override;
  // Counts as ReadEvents.
  absl::StatusOr<Event> ReadLastEvent(const SessionKey& key) override;
  // Not counted: its duration is that of the wait for an event.
  absl::StatusOr<Wakeups> WaitForEvents(absl::Duration at_most) override;
  absl::StatusOr<AuditPage> ReadAudit(const SessionKey& key, AuditSeq after,
                                      PageLimit limit) override;
  absl::StatusOr<ListPage> List(const ListQuery& query) override;
  absl::StatusOr<std::vector<SessionKey>> ListDue(DueKind kind, absl::Duration quiet,
                                                  const std::optional<SessionKey>& after,
                                                  size_t limit) override;
  std::vector<absl::StatusOr<Renewed>> RenewLeases(
      const std::vector<RenewRequest>& requests) override;
  absl::Status CheckHealth() override;
  absl::StatusOr<StoreCheck> Check() override;

 private:
  void Record(StoreCall call, absl::Duration took, const absl::Status& status);
  void CountAnswer(const Change& change, const absl::StatusOr<CommitResult>& answer);
  void CountApplied(const Change& change, const CommitResult& result);
  // Times `act` and records its answer; says in `took` how long it took.
  template <typename Act>
  auto Watch(StoreCall call, const Act& act, absl::Duration* took = nullptr);

  const std::unique_ptr<SessionStore> store_;
  const Clock& clock_;
  Metrics& metrics_;
  const ObservedStoreOptions options_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_OBSERVED_STORE_H_
