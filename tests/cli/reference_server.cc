#include "tests/cli/reference_server.h"

#include "session/forwarding_store.h"
#include "session/refusal.h"
#include "tests/support/reference_disk.h"
#include "tests/support/reference_store.h"

#include <utility>

namespace holdfast::test {
namespace {

class FaultyItemStore final : public ForwardingStore {
 public:
  FaultyItemStore(std::unique_ptr<SessionStore> store, ItemFaults& faults)
      : ForwardingStore(std::move(store)), faults_(faults) {}

  absl::StatusOr<CommitResult> Commit(const Change& change) override {
    absl::StatusOr<CommitResult> written = ForwardingStore::Commit(change);
    if (faults_.TakeLostAnswer()) return StoreUnavailable("the answer is lost", Fate::kUnknown);
    return written;
  }

  absl::StatusOr<ItemPage> ReadItems(const SessionKey& key, const ItemQuery& query,
                                     PageLimit limit) override {
    absl::StatusOr<ItemPage> page = ForwardingStore::ReadItems(key, query, limit);
    if (!page.ok()) return page;
    for (ItemView& view : page->items) {
      if (!faults_.IsDamaged(view.item.name.key)) continue;
      view = {.item = {.name = view.item.name}, .size = view.size, .damaged = true};
    }
    return page;
  }

 private:
  ItemFaults& faults_;
};

Config ConfigOfTest() {
  Config config;
  config.server.address = "127.0.0.1:0";
  config.server.drain_timeout = absl::Seconds(5);
  config.stores = {{.name = "local", .active = true, .root = "/unused"}};
  return config;
}

}  // namespace

void ItemFaults::LoseAnswer() {
  const absl::MutexLock lock(&mutex_);
  loses_answer_ = true;
}

void ItemFaults::Damage(const std::string& key) {
  const absl::MutexLock lock(&mutex_);
  damaged_.insert(key);
}

bool ItemFaults::TakeLostAnswer() {
  const absl::MutexLock lock(&mutex_);
  return std::exchange(loses_answer_, false);
}

bool ItemFaults::IsDamaged(const std::string& key) {
  const absl::MutexLock lock(&mutex_);
  return damaged_.contains(key);
}

ReferenceServer::ReferenceServer() : log_([](LogLevel, const std::string&) {}, SystemClock()) {
  const auto disk = std::make_shared<ReferenceDisk>(NewReferenceDisk(random_));
  auto started = App::Start({.config = ConfigOfTest(),
                             .make_store =
                                 [this, disk](const StoreConfig&, const Clock& clock, Random&) {
                                   return std::make_unique<FaultyItemStore>(
                                       std::make_unique<ReferenceStore>(disk, clock), faults_);
                                 },
                             .clock = SystemClock(),
                             .random = random_,
                             .log = log_,
                             .metrics = metrics_,
                             .not_serving_wait = absl::ZeroDuration()});
  app_ = std::move(started).value();  // ends the process with the status when it does not start
  runner_ = std::thread([this] { app_->Run(); });
}

ReferenceServer::~ReferenceServer() {
  app_->RequestStop();
  runner_.join();
}

}  // namespace holdfast::test
