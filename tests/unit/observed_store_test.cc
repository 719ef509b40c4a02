#include "server/telemetry/observed_store.h"

#include "session/refusal.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/faulty_store.h"
#include "tests/support/reference_disk.h"
#include "tests/support/reference_store.h"
#include "tests/support/seeded_random.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

// Every look at it is 10 ms later than the one before: a call takes 10 ms.
class CountingClock final : public Clock {
 public:
  [[nodiscard]] absl::Time Wall() const override { return absl::UnixEpoch(); }
  [[nodiscard]] absl::Duration SinceBoot() const override {
    return absl::Milliseconds(10) * ++looks_;
  }

 private:
  mutable int looks_ = 0;
};

struct Watched {
  FakeClock clock;
  SeededRandom random;
  CountingClock counting;
  Metrics metrics;
  std::vector<SlowStoreCall> slow;
  FaultyStore* faulty = nullptr;
  std::unique_ptr<ObservedStore> store;

  explicit Watched(absl::Duration threshold) {
    auto disk = std::make_shared<ReferenceDisk>(NewReferenceDisk(random));
    auto inner = std::make_unique<FaultyStore>(std::make_unique<ReferenceStore>(disk, clock));
    faulty = inner.get();
    store = std::make_unique<ObservedStore>(
        std::move(inner), counting, metrics,
        ObservedStoreOptions{.slow = threshold, .on_slow = [this](const SlowStoreCall& call) {
                               slow.push_back(call);
                             }});
    EXPECT_TRUE(store->Init().ok());
    EXPECT_TRUE(store->Activate().ok());
  }

  // The series of `metric` whose labels have these values; an empty one if it is not shown.
  [[nodiscard]] Series Shown(Metric metric, const std::vector<std::string_view>& values) const {
    for (const MetricFamily& family : metrics.Collect()) {
      if (family.row->metric != metric) continue;
      for (const Series& series : family.series) {
        std::vector<std::string_view> found;
        for (const auto& label : series.labels) found.push_back(label.second);
        if (found == values) return series;
      }
    }
    return {};
  }
  // How many calls were timed.
  [[nodiscard]] uint64_t Calls(std::string_view call) const {
    const Series series = Shown(Metric::kStoreCallDuration, {call});
    return std::accumulate(series.buckets.begin(), series.buckets.end(), uint64_t{0});
  }
};

TEST(ObservedStore, CountsAndTimesEachKindOfCall) {
  Watched watched(absl::Seconds(1));
  Changes changes(Key("alpha"), watched.random);
  EXPECT_TRUE(watched.store->Commit(changes.Create()).ok());
  EXPECT_TRUE(watched.store->Commit(changes.Update({{"title", "x"}})).ok());
  EXPECT_TRUE(watched.store->LoadForDecision(Key("alpha"), std::nullopt).ok());
  EXPECT_FALSE(watched.store->LoadForDecision(Key("beta"), std::nullopt).ok());
  EXPECT_EQ(watched.Calls("Commit"), 2U);
  EXPECT_DOUBLE_EQ(watched.Shown(Metric::kStoreCallDuration, {"Commit"}).sum, 0.020);
  // 10 ms is in the bucket that ends with it.
  EXPECT_EQ(watched.Shown(Metric::kStoreCallDuration, {"Commit"}).buckets.at(4), 2U);
  EXPECT_EQ(watched.Calls("LoadForDecision"), 2U);
  EXPECT_EQ(watched.Shown(Metric::kStoreErrors, {"LoadForDecision", "SESSION_NOT_FOUND"}).value, 1);
  EXPECT_EQ(watched.Calls("List"), 0U);
  EXPECT_EQ(watched.Calls("Init"), 1U);
  EXPECT_TRUE(watched.slow.empty());
}

TEST(ObservedStore, ARefusedCommitIsAnAnswer) {
  Watched watched(absl::Seconds(1));
  Changes changes(Key("alpha"), watched.random);
  EXPECT_TRUE(watched.store->Commit(changes.Create()).ok());
  const auto refused = watched.store->Commit(changes.Resume());
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->kind, CommitResult::Kind::kRefused);
  EXPECT_EQ(watched.Shown(Metric::kStoreCommits, {"applied"}).value, 1);
  EXPECT_EQ(watched.Shown(Metric::kStoreCommits, {"refused"}).value, 1);
  EXPECT_EQ(watched.Shown(Metric::kLeaseGrants, {"none"}).value, 1) << "of the creation alone";
}

TEST(ObservedStore, ReportsSlowCallsWithFate) {
  Watched watched(absl::Milliseconds(10));
  watched.slow.clear();
  watched.faulty->Fail(FaultyCall::kHealth);
  EXPECT_FALSE(watched.store->CheckHealth().ok());
  EXPECT_TRUE(watched.store->CheckHealth().ok());
  ASSERT_EQ(watched.slow.size(), 2U);
  EXPECT_EQ(watched.slow[0].call, StoreCall::kCheckHealth);
  EXPECT_EQ(watched.slow[0].took, absl::Milliseconds(10));
  EXPECT_EQ(watched.slow[0].code, absl::StatusCode::kUnavailable);
  EXPECT_EQ(watched.slow[1].code, absl::StatusCode::kOk);
}

TEST(ObservedStore, EveryKindHasAName) {
  for (size_t call = 0; call < kStoreCalls; ++call) {
    EXPECT_FALSE(Name(static_cast<StoreCall>(call)).empty());
  }
  EXPECT_EQ(Name(StoreCall::kCheckHealth), "CheckHealth");
}

}  // namespace
}  // namespace holdfast::test
