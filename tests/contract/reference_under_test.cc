#include "tests/contract/reference_under_test.h"

#include "tests/contract/changes.h"
#include "tests/support/reference_disk.h"
#include "tests/support/reference_store.h"

#include <utility>

namespace holdfast::test {
namespace {

class ReferenceUnderTest final : public StoreUnderTest {
 public:
  ReferenceUnderTest() : disk_(std::make_shared<ReferenceDisk>(NewReferenceDisk(random))) {}

  std::unique_ptr<SessionStore> Make() override {
    return std::make_unique<ReferenceStore>(disk_, clock, Mutant::kNone);
  }
  StoreId PlantForeign(const SessionKey& key) override {
    const auto other = std::make_shared<ReferenceDisk>(NewReferenceDisk(random));
    ReferenceStore store(other, clock);
    if (store.Activate().ok() && store.Commit(Changes(key, random).Create()).ok()) {
      disk_->sessions[key] = other->sessions.at(key);
    }
    return other->store;
  }
  StoreId Restamp(const SessionKey& key) override {
    return disk_->sessions.at(key).head.store = NewReferenceDisk(random).store;
  }
  void Damage(const SessionKey& key) override { disk_->sessions.at(key).damaged = true; }
  void MakeUnwritable() override { disk_->writable = false; }
  void BreakWrites() override { disk_->fails_writes = true; }
  void MendWrites() override { disk_->fails_writes = false; }

 private:
  std::shared_ptr<ReferenceDisk> disk_;
};

}  // namespace

std::unique_ptr<StoreUnderTest> MakeReferenceUnderTest() {
  return std::make_unique<ReferenceUnderTest>();
}

}  // namespace holdfast::test
