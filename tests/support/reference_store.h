// The store in memory with which the others are compared: one mutex, everything kept, and rules of
// its own (reference_rules.h, reference_effects.h, reference_bounds.h), so that it does not share
// the mistakes of the product's. Tests of the domain and of the edge use it.
//
//   auto disk = std::make_shared<ReferenceDisk>(NewReferenceDisk(random));
//   ReferenceStore store(disk, clock);
//   ... store.Init(), store.Activate() ...
//   ReferenceStore again(disk, clock);  // after the first one's Dispose: opened again
#ifndef HOLDFAST_TESTS_SUPPORT_REFERENCE_STORE_H_
#define HOLDFAST_TESTS_SUPPORT_REFERENCE_STORE_H_

#include "platform/clock.h"
#include "session/change_notifier.h"
#include "session/store.h"
#include "tests/support/reference_disk.h"
#include "tests/support/reference_effects.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace holdfast::test {

// An empty disk with a store id of its own.
ReferenceDisk NewReferenceDisk(Random& random);

class ReferenceStore final : public SessionStore {
 public:
  // `clock` must outlive the store.
  ReferenceStore(std::shared_ptr<ReferenceDisk> disk, const Clock& clock);

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
  // Returns the current head: this store caches none.
  std::shared_ptr<const Head> CachedHead(const SessionKey& key) override;
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
  absl::StatusOr<ItemPage> ReadItems(const SessionKey& key, const ItemQuery& query,
                                     PageLimit limit) override;
  absl::StatusOr<EventPage> ReadEvents(const SessionKey& key, EventSeq after,
                                       PageLimit limit) override;
  absl::StatusOr<Event> ReadLastEvent(const SessionKey& key) override;
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
  enum class State : uint8_t { kMade, kServing, kFailed, kClosed };

  // State of a session that is kept in memory alone and ends with the process.
  struct Live {
    absl::Duration lease_ends;  // since boot
    absl::Duration active_at;
    std::optional<absl::Duration> cancel_seen_at;  // of the first request to end it
  };

  // By which it is counted how long something is kept: a machine of its own that never stops.
  [[nodiscard]] absl::Time Now() const { return absl::UnixEpoch() + clock_.SinceBoot(); }
  [[nodiscard]] absl::Status Serving() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The session that may be read: found, ours, not deleted, not damaged.
  absl::StatusOr<StoredSession*> Find(const SessionKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Live& LiveOf(const SessionKey& key, const StoredSession& session)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The head as it is now: with incarnation and the lease's state.
  Head HeadNow(const SessionKey& key, const StoredSession& session)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] std::optional<RequestRow> KeptRequest(const StoredSession& session,
                                                      const std::optional<RequestId>& id) const;
  // The answer that needs no guard: a repeat, or a refusal for the session's being there or not.
  absl::StatusOr<std::optional<CommitResult>> AnswerEarly(const Change& change,
                                                          StoredSession* session)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether it creates a session in the place of the deleted one that is there.
  [[nodiscard]] bool TakesThePlaceOf(const Change& change) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<CommitResult> Decide(const Change& change, StoredSession* session)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether all that `link` says is staged for this session.
  bool HasStaged(const SessionKey& key, const UploadLink& link)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Store(const Change& change, const Effects& effects) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Renewed> Renew(const RenewRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<ReferenceDisk> disk_;
  const Clock& clock_;
  ChangeNotifier change_notifier_;
  absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kMade;
  absl::Duration opened_at_ ABSL_GUARDED_BY(mutex_);
  std::map<SessionKey, Live> live_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_REFERENCE_STORE_H_
