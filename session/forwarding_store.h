// A store that forwards every call to another one: the base of decorators. A decorator overrides
// `Around` for what it does at every call, and a method for what it does at that one.
#ifndef HOLDFAST_SESSION_FORWARDING_STORE_H_
#define HOLDFAST_SESSION_FORWARDING_STORE_H_

#include "session/store.h"
#include "session/store_call.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast {

class ForwardingStore : public SessionStore {
 public:
  // Several decorators may share `store`.
  explicit ForwardingStore(std::shared_ptr<SessionStore> store) : store_(std::move(store)) {}

  // Not surrounded.
  [[nodiscard]] StoreDescription Describe() const override;
  absl::Status Init() override;
  absl::Status Activate() override;
  absl::Status Deactivate() override;
  // Not surrounded.
  void Dispose() override;
  absl::StatusOr<LoadedSession> LoadForDecision(const SessionKey& key,
                                                const std::optional<RequestId>& request) override;
  absl::StatusOr<LoadedSession> LoadForOutcome(const SessionKey& key,
                                               const RequestId& request) override;
  absl::StatusOr<CommitResult> Commit(const Change& change) override;
  // Not surrounded: each change has its own answer.
  std::vector<GroupedResult> CommitMany(const std::vector<GroupedChange>& changes) override;
  // Not surrounded: it does no input or output.
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
  // Not surrounded: its duration is that of the wait for an event.
  absl::StatusOr<Wakeups> WaitForEvents(absl::Duration at_most) override;
  absl::StatusOr<AuditPage> ReadAudit(const SessionKey& key, AuditSeq after,
                                      PageLimit limit) override;
  absl::StatusOr<ListPage> List(const ListQuery& query) override;
  absl::StatusOr<std::vector<SessionKey>> ListDue(DueKind kind, absl::Duration quiet,
                                                  const std::optional<SessionKey>& after,
                                                  size_t limit) override;
  // An error of `Around` is the answer for each lease.
  std::vector<absl::StatusOr<Renewed>> RenewLeases(
      const std::vector<RenewRequest>& requests) override;
  absl::Status CheckHealth() override;
  absl::StatusOr<StoreCheck> Check() override;

 protected:
  [[nodiscard]] SessionStore& store() const { return *store_; }

  // Surrounds `act`, which answers an absl::Status or an absl::StatusOr.
  template <typename Act>
  auto Surrounded(StoreCall call, const Act& act) -> decltype(act()) {
    if constexpr (std::is_same_v<decltype(act()), absl::Status>) {
      return Around(call, act);
    } else {
      decltype(act()) answer;
      absl::Status status = Around(call, [&] {
        answer = act();
        return answer.status();
      });
      if (!status.ok()) return status;
      return answer;
    }
  }

 private:
  // Calls `act` once and returns its status, or returns an error instead, which becomes the answer
  // of the call. Any thread may call.
  virtual absl::Status Around(StoreCall call, absl::FunctionRef<absl::Status()> act);

  const std::shared_ptr<SessionStore> store_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_FORWARDING_STORE_H_
