// One server's view of a store that several servers share: it remembers the heads that this server
// was answered with, however old they are by now.
#ifndef HOLDFAST_TESTS_SUPPORT_SERVER_VIEW_H_
#define HOLDFAST_TESTS_SUPPORT_SERVER_VIEW_H_

#include "session/forwarding_store.h"

#include <map>
#include <memory>
#include <optional>

namespace holdfast::test {

// For one thread.
class ServerView final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  absl::StatusOr<LoadedSession> LoadForDecision(const SessionKey& key,
                                                const std::optional<RequestId>& request) override {
    auto loaded = ForwardingStore::LoadForDecision(key, request);
    if (loaded.ok()) Remember(key, loaded->head);
    return loaded;
  }
  absl::StatusOr<CommitResult> Commit(const Change& change) override {
    auto result = ForwardingStore::Commit(change);
    if (result.ok()) Remember(change.key, result->head);
    return result;
  }
  std::shared_ptr<const Head> CachedHead(const SessionKey& key) override {
    const auto found = heads_.find(key);
    return found == heads_.end() ? nullptr : found->second;
  }

 private:
  void Remember(const SessionKey& key, const Head& head) {
    heads_.insert_or_assign(key, std::make_shared<const Head>(head));
  }

  std::map<SessionKey, std::shared_ptr<const Head>> heads_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_SERVER_VIEW_H_
