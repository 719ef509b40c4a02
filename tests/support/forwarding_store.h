// A store that hands every call on to another one: what a decorator of a test derives from.
#ifndef HOLDFAST_TESTS_SUPPORT_FORWARDING_STORE_H_
#define HOLDFAST_TESTS_SUPPORT_FORWARDING_STORE_H_

#include "session/store.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

class ForwardingStore : public SessionStore {
 public:
  // `store` must outlive this.
  explicit ForwardingStore(SessionStore& store) : store_(store) {}

  [[nodiscard]] StoreDescription Describe() const override { return store_.Describe(); }
  absl::Status Init() override { return store_.Init(); }
  absl::Status Activate() override { return store_.Activate(); }
  absl::Status Deactivate() override { return store_.Deactivate(); }
  void Dispose() override { store_.Dispose(); }
  absl::StatusOr<LoadedSession> LoadForDecision(const SessionKey& key,
                                                const std::optional<RequestId>& request) override {
    return store_.LoadForDecision(key, request);
  }
  absl::StatusOr<LoadedSession> LoadForOutcome(const SessionKey& key,
                                               const RequestId& request) override {
    return store_.LoadForOutcome(key, request);
  }
  absl::StatusOr<CommitResult> Commit(const Change& change) override {
    return store_.Commit(change);
  }
  std::vector<GroupedResult> CommitMany(const std::vector<GroupedChange>& changes) override {
    return store_.CommitMany(changes);
  }
  std::shared_ptr<const Head> CachedHead(const SessionKey& key) override {
    return store_.CachedHead(key);
  }
  absl::Status StageUpload(const SessionKey& key, const UploadId& upload, uint64_t offset,
                           std::string_view bytes) override {
    return store_.StageUpload(key, upload, offset, bytes);
  }
  absl::Status DropUpload(const SessionKey& key, const UploadId& upload) override {
    return store_.DropUpload(key, upload);
  }
  absl::StatusOr<std::string> ReadStaged(const SessionKey& key, const StagedBytes& bytes,
                                         uint64_t offset, size_t count) override {
    return store_.ReadStaged(key, bytes, offset, count);
  }
  absl::StatusOr<MessagePage> ReadMessages(const SessionKey& key, std::optional<Revision> revision,
                                           MessageSeq after, PageLimit limit) override {
    return store_.ReadMessages(key, revision, after, limit);
  }
  absl::StatusOr<SlotPage> ReadSlots(const SessionKey& key, const SlotQuery& query) override {
    return store_.ReadSlots(key, query);
  }
  absl::StatusOr<JournalPage> ReadJournal(const SessionKey& key, const JournalQuery& query,
                                          PageLimit limit) override {
    return store_.ReadJournal(key, query, limit);
  }
  absl::StatusOr<EventPage> ReadEvents(const SessionKey& key, EventSeq after,
                                       PageLimit limit) override {
    return store_.ReadEvents(key, after, limit);
  }
  absl::StatusOr<Event> ReadLastEvent(const SessionKey& key) override {
    return store_.ReadLastEvent(key);
  }
  absl::StatusOr<Wakeups> WaitForEvents(absl::Duration at_most) override {
    return store_.WaitForEvents(at_most);
  }
  absl::StatusOr<AuditPage> ReadAudit(const SessionKey& key, AuditSeq after,
                                      PageLimit limit) override {
    return store_.ReadAudit(key, after, limit);
  }
  absl::StatusOr<ListPage> List(const ListQuery& query) override { return store_.List(query); }
  absl::StatusOr<std::vector<SessionKey>> ListDue(DueKind kind, absl::Duration quiet,
                                                  const std::optional<SessionKey>& after,
                                                  size_t limit) override {
    return store_.ListDue(kind, quiet, after, limit);
  }
  std::vector<absl::StatusOr<Renewed>> RenewLeases(
      const std::vector<RenewRequest>& requests) override {
    return store_.RenewLeases(requests);
  }
  absl::Status CheckHealth() override { return store_.CheckHealth(); }
  absl::StatusOr<StoreCheck> Check() override { return store_.Check(); }

 private:
  SessionStore& store_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_FORWARDING_STORE_H_
