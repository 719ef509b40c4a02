// What a store owes across its end and its failures.
#include "tests/contract/suite.h"

#include "absl/synchronization/mutex.h"

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using Kind = CommitResult::Kind;

TEST_P(Contract, C001_WhatALoadShowsIsThereWhenOpenedAgain) {
  Create();
  RunTurn({Text("one")}, {MakeSlot("memory", "a")});
  const TurnNumber turn = Begin();
  Append(turn, {Note(turn, 1, "half way")});
  const Head before = LoadHead();
  Reopen();
  const Head after = LoadHead();
  EXPECT_EQ(after.revision, before.revision);
  EXPECT_EQ(after.lifecycle, Lifecycle::kActive);
  ASSERT_TRUE(after.turn.has_value());
  EXPECT_EQ(after.turn->number, turn);
  EXPECT_EQ(after.turn->last_entry, EntryNumber(1));
  EXPECT_EQ(after.journal, before.journal);
  EXPECT_EQ(after.lease.epoch, before.lease.epoch);
  EXPECT_EQ(after.attributes, before.attributes);
}

TEST_P(Contract, C070_WhatAReadShowsIsThereWhenOpenedAgain) {
  Create();
  RunTurn({Text("one"), Text("two")}, {MakeSlot("memory", "a")});
  const TurnNumber turn = Begin();
  Append(turn, {Note(turn, 1, "half way")});
  const std::string before = Picture();
  Reopen();
  EXPECT_EQ(Picture(), before);
}

TEST_P(Contract, C071_WhatAListingShowsIsThereWhenOpenedAgain) {
  Create();
  Apply(Changes(Key("beta"), random()).Create());
  const std::vector<std::string> before = Ids();
  Reopen();
  EXPECT_EQ(Ids(), before);
  EXPECT_THAT(Ids(), ::testing::ElementsAre("alpha", "beta"));
}

TEST_P(Contract, C072_WhatARepeatIsAnsweredWithIsThereWhenOpenedAgain) {
  Create();
  const Change change = changes().Begin(token());
  Apply(change);
  const auto before = LoadRequest(change.request->id);
  Reopen();
  const auto after = LoadRequest(change.request->id);
  ASSERT_TRUE(before.has_value());
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->receipt.turn, before->receipt.turn);
  EXPECT_EQ(after->receipt.revision, before->receipt.revision);
  EXPECT_EQ(after->stamp.fingerprint, before->stamp.fingerprint);
}

TEST_P(Contract, C002_AFailedWriteHasAnUnknownOutcome) {
  Create();
  under_test().BreakWrites();
  const auto result = store().Commit(changes().Begin(token()));
  under_test().MendWrites();
  EXPECT_EQ(ReasonIn(result), "STORE_UNAVAILABLE");
  EXPECT_EQ(FactIn(RefusalIn(result), "outcome"), "unknown");
}

TEST_P(Contract, C073_AFailedWriteIsThereWholeOrNotAtAll) {
  Create();
  const TurnNumber turn = Begin();
  const std::string before = Picture();
  Change change = changes().CommitTurn(token(), turn);
  change.messages = {Text("one"), Text("two")};
  change.slots = {MakeSlot("memory", "a")};
  under_test().BreakWrites();
  EXPECT_FALSE(store().Commit(change).ok());
  under_test().MendWrites();
  Reopen();
  const bool there = LoadRequest(change.request->id).has_value();
  if (there) {
    EXPECT_THAT(MessageTexts(), ::testing::ElementsAre("one", "two"));
    EXPECT_EQ(SlotData("memory"), "a");
  } else {
    EXPECT_EQ(Picture(), before);
  }
  // Sent again under the same request id it acts exactly once.
  const auto again = store().Commit(change);
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_EQ(again->kind, there ? Kind::kRepeated : Kind::kApplied);
  EXPECT_THAT(MessageTexts(), ::testing::ElementsAre("one", "two"));
}

TEST_P(Contract, C003_AnotherTenantsSessionDoesNotExist) {
  Create();
  const SessionKey theirs = Key("alpha", "other");
  EXPECT_EQ(ReasonIn(store().LoadForDecision(theirs, std::nullopt)), "SESSION_NOT_FOUND");
  EXPECT_EQ(ReasonIn(store().Commit(Changes(theirs, random()).Update({{"title", "x"}}))),
            "SESSION_NOT_FOUND");
  EXPECT_EQ(ReasonIn(store().ReadMessages(theirs, std::nullopt, MessageSeq(), kWholePage)),
            "SESSION_NOT_FOUND");
  // Both may use the same id.
  Apply(Changes(theirs, random()).Create());
  EXPECT_NE(LoadHead(theirs).uid, LoadHead().uid);
}

TEST_P(Contract, C074_AListingHoldsOneTenantsSessions) {
  Create();
  Apply(Changes(Key("beta", "other"), random()).Create());
  EXPECT_THAT(Ids(), ::testing::ElementsAre("alpha"));
  EXPECT_THAT(Ids({.tenant = *TenantId::Parse("other")}), ::testing::ElementsAre("beta"));
}

TEST_P(Contract, C004_DescribesItselfFromInitOn) {
  const StoreDescription description = store().Describe();
  EXPECT_FALSE(description.kind.empty());
  EXPECT_FALSE(description.contract_version.empty());
  EXPECT_TRUE(StoreId::Parse(description.store.value()).has_value());
  EXPECT_GT(description.incarnation, Incarnation());
  EXPECT_GT(description.snapshot_bytes_limit, 0U);
  EXPECT_FALSE(description.durability.empty());
}

TEST_P(Contract, C005_StoreIdAndIncarnationStay) {
  const StoreDescription before = store().Describe();
  Create();
  EXPECT_EQ(store().Describe().store, before.store);
  EXPECT_EQ(LoadHead().store, before.store);
  EXPECT_EQ(LoadHead().incarnation, before.incarnation);
  Reopen();
  EXPECT_EQ(store().Describe().store, before.store);
  EXPECT_EQ(store().Describe().incarnation, before.incarnation);
}

TEST_P(Contract, C006_InitSeesAnUnwritableBackend) {
  under_test().Close();
  under_test().MakeUnwritable();
  const auto made = under_test().Make();
  const absl::Status status = made->Init();
  made->Dispose();
  EXPECT_EQ(ReasonIn(status), "STORE_UNAVAILABLE");
  EXPECT_EQ(FactIn(status, "outcome"), "known");
  EXPECT_GT(status.message().size(), 10U);
}

// Writes one attribute again and again, at least once after the store's end.
class Writer {
 public:
  explicit Writer(std::string key) : key_(std::move(key)) {}

  using Make = std::function<Change(const std::string& key, const std::string& value)>;

  // False when the store took nothing.
  bool Write(SessionStore& store, const Make& make) {
    const std::string value = std::to_string(++tries_);
    reason_ = ReasonIn(store.Commit(make(key_, value)));
    if (reason_ == "OK") acknowledged_ = value;
    return reason_ == "OK";
  }
  void WriteUntil(const std::atomic<bool>& ended, SessionStore& store, const Make& make) {
    bool last = false;
    do {
      last = ended;
    } while (Write(store, make) && !last);
  }
  void Expect(const Head& head) const {
    const auto there = head.attributes.find(key_);
    EXPECT_EQ(there == head.attributes.end() ? "" : there->second, acknowledged_) << reason_;
    EXPECT_NE(reason_, "OK") << "acknowledged after the end";
  }

 private:
  std::string key_;
  std::string acknowledged_;  // the last value
  std::string reason_ = "OK";
  int tries_ = 0;
};

TEST_P(Contract, C007_DeactivateWaitsForTheChangesUnderWay) {
  constexpr int kWriters = 8;
  Create();
  absl::Mutex making;
  const auto make = [&](const std::string& key, const std::string& value) {
    const absl::MutexLock lock(&making);
    return changes().Update({{key, value}});
  };
  std::vector<Writer> writers;
  for (int i = 0; i < kWriters; ++i) writers.emplace_back("key" + std::to_string(i));
  EXPECT_TRUE(writers.front().Write(store(), make)) << "however late the others begin";
  std::atomic<bool> ended = false;
  {
    std::vector<std::jthread> threads;
    for (Writer& writer : writers) {
      threads.emplace_back([&] { writer.WriteUntil(ended, store(), make); });
    }
    EXPECT_TRUE(store().Deactivate().ok());
    ended = true;
  }
  under_test().Open();
  const Head head = LoadHead();
  for (const Writer& writer : writers) writer.Expect(head);
}

TEST_P(Contract, C075_ADeactivatedStoreTakesNothing) {
  Create();
  ASSERT_TRUE(store().Deactivate().ok());
  const auto commit = store().Commit(changes().Update({{"title", "x"}}));
  EXPECT_EQ(ReasonIn(commit), "STORE_UNAVAILABLE");
  EXPECT_EQ(FactIn(RefusalIn(commit), "outcome"), "known");
  EXPECT_EQ(ReasonIn(store().LoadForDecision(key(), std::nullopt)), "STORE_UNAVAILABLE");
  EXPECT_EQ(ReasonIn(store().ReadMessages(key(), std::nullopt, MessageSeq(), kWholePage)),
            "STORE_UNAVAILABLE");
  EXPECT_EQ(ReasonIn(store().List({.tenant = key().tenant, .limit = 1})), "STORE_UNAVAILABLE");
  EXPECT_EQ(ReasonIn(store().ListDue(DueKind::kAbandoned, absl::Seconds(1), std::nullopt, 1)),
            "STORE_UNAVAILABLE");
  const auto renewed = store().RenewLeases({{.key = key(), .token = token()}});
  ASSERT_EQ(renewed.size(), 1U);
  EXPECT_EQ(ReasonIn(renewed[0]), "STORE_UNAVAILABLE");
  under_test().Open();
  EXPECT_TRUE(LoadHead().attributes.empty());
}

TEST_P(Contract, C008_DisposeTwiceIsHarmless) {
  Create();
  ASSERT_TRUE(store().Deactivate().ok());
  store().Dispose();
  store().Dispose();
  under_test().Open();
  EXPECT_EQ(LoadHead().revision, Revision(1));
}

TEST_P(Contract, C068_AStoreThatTakesChangesIsHealthy) {
  EXPECT_EQ(ReasonIn(store().CheckHealth()), "OK");
  Create();
  EXPECT_EQ(ReasonIn(store().CheckHealth()), "OK");
}

TEST_P(Contract, C144_AStoreThatFailedIsNotHealthyUntilOpenedAgain) {
  Create();
  under_test().BreakWrites();
  EXPECT_FALSE(store().Commit(changes().Begin(token())).ok());
  EXPECT_EQ(ReasonIn(store().CheckHealth()), "STORE_UNAVAILABLE");
  EXPECT_FALSE(store().CheckHealth().message().empty());
  under_test().MendWrites();
  Reopen();
  EXPECT_EQ(ReasonIn(store().CheckHealth()), "OK");
}

TEST_P(Contract, C194_AStoreThatHealsIsHealthyAgainByItselfAndNoOther) {
  Create();
  under_test().BreakWrites();
  EXPECT_FALSE(store().Commit(changes().Begin(token())).ok());
  EXPECT_EQ(ReasonIn(store().CheckHealth()), "STORE_UNAVAILABLE");
  under_test().MendWrites();
  const bool heals = store().Describe().heals;
  EXPECT_EQ(ReasonIn(store().CheckHealth()), heals ? "OK" : "STORE_UNAVAILABLE");
  Reopen();
  EXPECT_EQ(ReasonIn(store().CheckHealth()), "OK");
}

}  // namespace
}  // namespace holdfast::test
