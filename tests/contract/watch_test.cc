// How a store notifies its server of new events, and the last event of a deleted session.
#include "session/limits.h"
#include "session/names.h"
#include "tests/contract/suite.h"

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

// Longer than any wake-up takes; only a store that does not wake lets it pass.
constexpr absl::Duration kPatience = absl::Seconds(10);

// The ids that one call names, in order, or why it failed.
std::vector<std::string> Notified(SessionStore& store, absl::Duration at_most) {
  const absl::StatusOr<Wakeups> wakeups = store.WaitForEvents(at_most);
  if (!wakeups.ok()) return {ReasonIn(wakeups)};
  std::vector<std::string> ids;
  for (const SessionKey& key : wakeups->sessions) ids.push_back(key.session.value());
  if (wakeups->all) ids.emplace_back("all of them");
  std::ranges::sort(ids);
  return ids;
}

std::vector<std::string> NotifiedNow(SessionStore& store) {
  return Notified(store, absl::ZeroDuration());
}

// Changes of different sessions, by several threads, for a disk's sake.
void CommitAtOnce(SessionStore& store, const std::vector<Change>& changes) {
  constexpr size_t kWriters = 8;
  std::vector<std::jthread> writers;
  for (size_t writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      for (size_t at = writer; at < changes.size(); at += kWriters) {
        EXPECT_EQ(ReasonIn(store.Commit(changes[at])), "OK");
      }
    });
  }
}

TEST_P(Contract, C150_NotifiesOfSessionWithNewEventsOnce) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  Create();
  EXPECT_THAT(NotifiedNow(store()), ElementsAre("alpha"));
  Changes beta(Key("beta"), random());
  ASSERT_TRUE(store().Commit(beta.Create()).ok());
  RunTurn();
  RunTurn();
  EXPECT_THAT(NotifiedNow(store()), ElementsAre("alpha", "beta"));
  EXPECT_THAT(NotifiedNow(store()), IsEmpty());
  LetLeaseExpire();
  Apply(changes().Delete());
  EXPECT_THAT(NotifiedNow(store()), ElementsAre("alpha")) << "of a delete too";
  ASSERT_TRUE(store().Commit(beta.Resume(LeaseRule::kForce)).ok());
  Reopen();
  EXPECT_THAT(NotifiedNow(store()), IsEmpty()) << "what was before is not new";
}

TEST_P(Contract, C151_WakesWaitingCallWithEvent) {
  Create();
  ASSERT_THAT(NotifiedNow(store()), ::testing::ElementsAre("alpha"));
  std::vector<std::string> notified;
  std::thread waiting([&] { notified = Notified(store(), kPatience); });
  Begin();
  waiting.join();
  EXPECT_THAT(notified, ::testing::ElementsAre("alpha"));
}

TEST_P(Contract, C152_DoesNotNotifyWithoutEvents) {
  EXPECT_THAT(NotifiedNow(store()), ::testing::IsEmpty());
  Create();
  ASSERT_THAT(NotifiedNow(store()), ::testing::ElementsAre("alpha"));
  EXPECT_THAT(Notified(store(), absl::Milliseconds(1)), ::testing::IsEmpty());
}

TEST_P(Contract, C153_NotifiesOfReadableEvents) {
  constexpr int kTurns = 25;
  Create();
  const EventSeq newest(1 + 3 * kTurns);  // a turn has three, creation one
  std::thread writer([&] {
    for (int turn = 0; turn < kTurns; ++turn) RunTurn();
  });
  EventSeq seen;
  while (seen < newest) {
    // Each of the first reads follows a wake-up, so they miss an event whose notification came
    // before its commit.
    const std::vector<std::string> notified = Notified(store(), kPatience);
    if (notified.empty()) break;
    const auto page = store().ReadEvents(key(), seen, kWholePage);
    ASSERT_EQ(ReasonIn(page), "OK");
    if (!page->events.empty()) seen = page->events.back().seq;
  }
  writer.join();
  EXPECT_EQ(seen, newest);
  NotifiedNow(store());
  under_test().BreakWrites();
  EXPECT_FALSE(store().Commit(changes().Begin(token())).ok());
  EXPECT_THAT(NotifiedNow(store()), ::testing::IsEmpty()) << "of a change that failed";
  under_test().MendWrites();
}

TEST_P(Contract, C154_OfTooManySessionsNoneIsNamed) {
  std::vector<Changes> many;
  for (size_t number = 0; number <= kWakeupsMost; ++number) {
    many.emplace_back(Key("many-" + std::to_string(number)), random());
  }
  std::vector<Change> create;
  for (size_t number = 0; number < kWakeupsMost; ++number) create.push_back(many[number].Create());
  CommitAtOnce(store(), create);
  EXPECT_EQ(NotifiedNow(store()).size(), kWakeupsMost);
  std::vector<Change> more = {many.back().Create()};
  for (size_t number = 0; number < kWakeupsMost; ++number) {
    more.push_back(many[number].Resume(LeaseRule::kForce));
  }
  CommitAtOnce(store(), more);
  EXPECT_THAT(NotifiedNow(store()), ::testing::ElementsAre("all of them"));
  EXPECT_THAT(NotifiedNow(store()), ::testing::IsEmpty());
}

TEST_P(Contract, C155_TheEndOfTheStoreEndsACallThatWaits) {
  std::vector<std::string> notified;
  std::thread waiting([&] { notified = Notified(store(), kPatience); });
  EXPECT_TRUE(store().Deactivate().ok());
  waiting.join();
  EXPECT_THAT(notified, ::testing::ElementsAre("STORE_UNAVAILABLE"));
  EXPECT_THAT(NotifiedNow(store()), ::testing::ElementsAre("STORE_UNAVAILABLE"));
  under_test().Open();
}

TEST_P(Contract, C156_TheLastEventOfADeletedSessionIsThere) {
  Create();
  RunTurn();
  LetLeaseExpire();
  Change remove = changes().Delete();
  remove.correlation_id = "why";
  remove.trace.id = "0af7651916cd43dd8448eb211c80319c";
  remove.events.back().payload["by"] = "hand";
  const CommitResult deleted = ApplyWhole(remove);
  ASSERT_EQ(deleted.events.size(), 1U);
  const absl::StatusOr<Event> last = store().ReadLastEvent(key());
  ASSERT_EQ(ReasonIn(last), "OK");
  EXPECT_EQ(last->name, kSessionDeleted);
  EXPECT_EQ(last->payload.at("by"), "hand");
  EXPECT_EQ(*last, deleted.events.front());
}

TEST_P(Contract, C157_TheLastEventIsThereWhenOpenedAgain) {
  Create();
  LetLeaseExpire();
  const CommitResult deleted = ApplyWhole(changes().Delete());
  Reopen();
  const absl::StatusOr<Event> last = store().ReadLastEvent(key());
  ASSERT_EQ(ReasonIn(last), "OK");
  EXPECT_EQ(last->seq, deleted.events.front().seq);
  EXPECT_EQ(last->revision, deleted.events.front().revision);
  EXPECT_EQ(last->correlation_id, deleted.events.front().correlation_id);
}

TEST_P(Contract, C158_OnlyADeletedSessionHasALastEvent) {
  EXPECT_EQ(ReasonIn(store().ReadLastEvent(key())), "SESSION_NOT_FOUND");
  Create();
  EXPECT_EQ(ReasonIn(store().ReadLastEvent(key())), "SESSION_NOT_FOUND");
}

}  // namespace
}  // namespace holdfast::test
