#include "session/forwarding_store.h"

#include "session/refusal.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/reference_disk.h"
#include "tests/support/reference_store.h"
#include "tests/support/seeded_random.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

// Lists the calls around which it is, and fails them on command.
class ListingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  std::vector<StoreCall> TakeCalls() { return std::exchange(calls_, {}); }
  void Fail(absl::Status before, absl::Status after) {
    before_ = std::move(before);
    after_ = std::move(after);
  }

 private:
  absl::Status Around(StoreCall call, absl::FunctionRef<absl::Status()> act) override {
    calls_.push_back(call);
    if (!before_.ok()) return before_;
    absl::Status status = act();
    return after_.ok() ? status : after_;
  }

  std::vector<StoreCall> calls_;
  absl::Status before_;
  absl::Status after_;
};

struct Listed {
  FakeClock clock;
  SeededRandom random;
  SessionKey key = {.tenant = *TenantId::Parse("default"), .session = *SessionId::Parse("alpha")};
  Changes changes{key, random};
  ListingStore store{std::make_shared<ReferenceStore>(
      std::make_shared<ReferenceDisk>(NewReferenceDisk(random)), clock)};

  Listed() {
    EXPECT_TRUE(store.Init().ok());
    EXPECT_TRUE(store.Activate().ok());
  }
};

TEST(ForwardingStore, SurroundsEachCallOnce) {
  Listed listed;
  EXPECT_THAT(listed.store.TakeCalls(), ElementsAre(StoreCall::kInit, StoreCall::kActivate));
  EXPECT_TRUE(listed.store.Commit(listed.changes.Create()).ok());
  EXPECT_TRUE(listed.store.LoadForDecision(listed.key, std::nullopt).ok());
  EXPECT_TRUE(listed.store.ReadSlots(listed.key, {}).ok());
  EXPECT_TRUE(listed.store.CheckHealth().ok());
  EXPECT_TRUE(listed.store.Deactivate().ok());
  EXPECT_THAT(listed.store.TakeCalls(),
              ElementsAre(StoreCall::kCommit, StoreCall::kLoadForDecision, StoreCall::kReadSlots,
                          StoreCall::kCheckHealth, StoreCall::kDeactivate));
}

TEST(ForwardingStore, AnErrorBeforeTheCallIsTheAnswerAndNothingIsDone) {
  Listed listed;
  listed.store.Fail(StoreUnavailable("before", Fate::kNoEffect), absl::OkStatus());
  EXPECT_EQ(listed.store.Commit(listed.changes.Create()).status().code(),
            absl::StatusCode::kUnavailable);
  listed.store.Fail(absl::OkStatus(), absl::OkStatus());
  EXPECT_EQ(RefusalOf(listed.store.LoadForDecision(listed.key, std::nullopt).status()).reason(),
            Reason::kSessionNotFound);
}

TEST(ForwardingStore, AnErrorAfterTheCallIsTheAnswerOfWhatIsDone) {
  Listed listed;
  listed.store.Fail(absl::OkStatus(), StoreUnavailable("after", Fate::kUnknown));
  EXPECT_EQ(listed.store.Commit(listed.changes.Create()).status().code(),
            absl::StatusCode::kUnavailable);
  listed.store.Fail(absl::OkStatus(), absl::OkStatus());
  EXPECT_TRUE(listed.store.LoadForDecision(listed.key, std::nullopt).ok());
}

TEST(ForwardingStore, AnErrorIsTheAnswerForEachLease) {
  Listed listed;
  EXPECT_TRUE(listed.store.Commit(listed.changes.Create()).ok());
  listed.store.Fail(absl::OkStatus(), StoreUnavailable("after", Fate::kUnknown));
  const auto answers = listed.store.RenewLeases({{.key = listed.key}, {.key = listed.key}});
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(answers[1].status().code(), absl::StatusCode::kUnavailable);
}

// Each change of a group has its own answer, a wait has the duration of what it waits for, and the
// others do no input or output.
TEST(ForwardingStore, DoesNotSurroundTheOthers) {
  Listed listed;
  listed.store.TakeCalls();
  const Change create = listed.changes.Create();
  EXPECT_EQ(listed.store.CommitMany({{.change = &create}}).size(), 1U);
  EXPECT_TRUE(listed.store.WaitForEvents(absl::ZeroDuration()).ok());
  EXPECT_FALSE(listed.store.Describe().kind.empty());
  listed.store.CachedHead(listed.key);
  listed.store.Dispose();
  EXPECT_TRUE(listed.store.TakeCalls().empty());
}

}  // namespace
}  // namespace holdfast::test
