#include "tests/contract/reference_under_test.h"

#include "server/telemetry/observed_store.h"
#include "tests/contract/mutants.h"
#include "tests/support/changes.h"
#include "tests/support/faulty_store.h"
#include "tests/support/reference_disk.h"
#include "tests/support/reference_store.h"

#include <utility>

namespace holdfast::test {
namespace {

using Wrap =
    std::function<std::unique_ptr<SessionStore>(std::unique_ptr<SessionStore>, const Clock&)>;

class ReferenceUnderTest final : public StoreUnderTest {
 public:
  explicit ReferenceUnderTest(Wrap wrap)
      : wrap_(std::move(wrap)),
        disk_(std::make_shared<ReferenceDisk>(NewReferenceDisk(random()))) {}

  std::unique_ptr<SessionStore> Make() override {
    ++openings_;
    disk_->retention = retention();
    disk_->item_bounds = item_bounds();
    if (const Mutant* const mutant = MutantOfThisRun()) {
      return std::make_unique<MutantStore>(disk_, clock(), mutant->hooks, openings_);
    }
    return wrap_(std::make_unique<ReferenceStore>(disk_, clock()), clock());
  }
  StoreId PlantForeign(const SessionKey& key) override {
    const auto other = std::make_shared<ReferenceDisk>(NewReferenceDisk(random()));
    ReferenceStore store(other, clock());
    if (store.Activate().ok() && store.Commit(Changes(key, random()).Create()).ok()) {
      disk_->sessions[key] = other->sessions.at(key);
    }
    return other->store;
  }
  StoreId Restamp(const SessionKey& key) override {
    return disk_->sessions.at(key).head.store = NewReferenceDisk(random()).store;
  }
  void Damage(const SessionKey& key) override { disk_->sessions.at(key).damaged = true; }
  void MakeUnwritable() override { disk_->writable = false; }
  void BreakWrites() override { disk_->fails_writes = true; }
  void MendWrites() override { disk_->fails_writes = false; }

 private:
  Wrap wrap_;
  std::shared_ptr<ReferenceDisk> disk_;
  int openings_ = 0;
};

}  // namespace

std::unique_ptr<StoreUnderTest> MakeReferenceUnderTest() {
  return std::make_unique<ReferenceUnderTest>(
      [](std::unique_ptr<SessionStore> store, const Clock&) { return store; });
}

std::unique_ptr<StoreUnderTest> MakeObservedUnderTest() {
  return std::make_unique<ReferenceUnderTest>(
      [](std::unique_ptr<SessionStore> store, const Clock& clock) {
        static Metrics metrics;
        return std::make_unique<ObservedStore>(std::move(store), clock, metrics);
      });
}

std::unique_ptr<StoreUnderTest> MakeFaultyUnderTest() {
  return std::make_unique<ReferenceUnderTest>(
      [](std::unique_ptr<SessionStore> store, const Clock&) {
        return std::make_unique<FaultyStore>(std::move(store));
      });
}

}  // namespace holdfast::test
