// WatchSession over the wire: where it starts, what it sends, and every way it ends.
#include "server/rpc/call/admission.h"
#include "server/rpc/watch/watch_cursor.h"
#include "server/rpc/watch/watch_feed.h"
#include "session/limits.h"
#include "session/names.h"
#include "session/refusal.h"
#include "tests/rpc/served.h"
#include "tests/support/changes.h"
#include "tests/support/channel.h"
#include "tests/support/details.h"
#include "tests/support/fake_clock.h"
#include "tests/support/reference_store.h"
#include "tests/support/scrape.h"
#include "tests/support/wait.h"
#include "tests/support/watch_client.h"

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::holdfast::testing::Connected;
using ::holdfast::testing::WaitUntil;
using ::holdfast::testing::Watch;
using ::holdfast::testing::WatchFrom;
using ::holdfast::testing::WatchOn;
using Stub = pb::SessionService::Stub;

class WatchRpc : public Served {
 protected:
  // Turns from the next one on; each has three events.
  void TakeTurns(const std::string& id, const std::string& token, int count) {
    for (int i = 0; i < count; ++i) {
      Commit(id, token, Begin(id, token).turn(), "said");
    }
  }

  std::vector<pb::Event> ListAll(const std::string& id) {
    std::vector<pb::Event> all;
    pb::ListEventsRequest request;
    request.set_session_id(id);
    request.set_page_size(kPageMost);
    pb::ListEventsResponse page;
    do {
      EXPECT_TRUE(Ask(&Stub::ListEvents, request, &page).ok());
      all.insert(all.end(), page.events().begin(), page.events().end());
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return all;
  }

  static std::string Text(const std::vector<pb::Event>& events) {
    std::string text;
    for (const pb::Event& event : events) text += event.ShortDebugString() + "\n";
    return text;
  }

  std::string ReasonOfWatch(const pb::WatchSessionRequest& request) {
    return ReasonOf(Watch(sessions(), request).End());
  }
};

TEST_F(WatchRpc, FromTheFirstEventAndThenEveryLaterOne) {
  const std::string token = Create("one").lease_token();
  TakeTurns("one", token, 40);  // more than a page
  Watch watch(sessions(), WatchFrom("one", 0));
  std::vector<pb::Event> seen = watch.UntilProgress();
  EXPECT_EQ(Text(seen), Text(ListAll("one")));
  TakeTurns("one", token, 2);
  const std::vector<pb::Event> later = watch.Events(6);
  seen.insert(seen.end(), later.begin(), later.end());
  EXPECT_EQ(Text(seen), Text(ListAll("one")));
}

TEST_F(WatchRpc, AProgressMessageSaysThatTheStreamHasCaughtUp) {
  Create("one");
  Watch watch(sessions(), WatchFrom("one", 1));
  const auto message = watch.Next();
  ASSERT_TRUE(message && message->has_progress());
  EXPECT_EQ(message->progress().last_seq(), 1);
  EXPECT_FALSE(message->cursor().empty());
}

TEST_F(WatchRpc, FromANumber) {
  const std::string token = Create("one").lease_token();
  TakeTurns("one", token, 2);
  Watch watch(sessions(), WatchFrom("one", 5));
  std::vector<pb::Event> all = ListAll("one");
  all.erase(all.begin(), all.begin() + 5);
  EXPECT_EQ(Text(watch.UntilProgress()), Text(all));
}

TEST_F(WatchRpc, FromTheCursorOfEveryMessage) {
  const std::string token = Create("one").lease_token();
  TakeTurns("one", token, 2);
  const std::vector<pb::Event> all = ListAll("one");
  Watch first(sessions(), WatchFrom("one", 0));
  std::vector<std::string> cursors;
  for (auto message = first.Next(); message; message = first.Next()) {
    cursors.push_back(message->cursor());
    if (message->has_progress()) break;
  }
  ASSERT_EQ(cursors.size(), all.size() + 1);
  for (size_t at = 0; at < cursors.size(); ++at) {
    Watch again(sessions(), WatchOn("one", cursors[at]));
    const size_t known = std::min(at + 1, all.size());
    EXPECT_EQ(Text(again.UntilProgress()), Text({all.begin() + known, all.end()})) << at;
  }
}

TEST_F(WatchRpc, CursorsOfOthersAreRefused) {
  Create("one");
  Create("two");
  Watch watch(sessions(), WatchFrom("one", 0));
  watch.UntilProgress();
  std::string damaged = watch.cursor();
  damaged[3] = damaged[3] == 'A' ? 'B' : 'A';
  const StoreDescription here{.store = disk().store, .incarnation = disk().incarnation};
  const SessionUid uid = *SessionUid::Parse(Get("one").session_uid());
  const auto made = [&](StoreDescription store, const SessionKey& key, const SessionUid& of) {
    return WatchCursors(store, key, of).Make(EventSeq(1));
  };
  EXPECT_EQ(made(here, Key("one"), uid), watch.cursor());

  const StoreId other_store = *StoreId::Parse("11111111-2222-4333-8444-555555555555");
  const SessionUid other_uid = *SessionUid::Parse("11111111-2222-4333-8444-555555555555");
  const StoreDescription before{.store = disk().store, .incarnation = Incarnation(7)};
  const StoreDescription elsewhere{.store = other_store, .incarnation = disk().incarnation};
  const struct {
    const char* name;
    const char* session;
    std::string cursor;
    const char* why;
  } kCases[] = {
      {"empty", "one", "", "is not a cursor"},
      {"damaged", "one", damaged, "is not a cursor"},
      {"cut", "one", watch.cursor().substr(0, 12), "is not a cursor"},
      {"of another session", "two", watch.cursor(), "belongs to another session or another store"},
      {"of another tenant", "one", made(here, Key("one", "other"), uid),
       "belongs to another session or another store"},
      {"of another store", "one", made(elsewhere, Key("one"), uid),
       "belongs to another session or another store"},
      {"from before a restore", "one", made(before, Key("one"), uid), "restored"},
  };
  for (const auto& one : kCases) {
    const grpc::Status status = Watch(sessions(), WatchOn(one.session, one.cursor)).End();
    EXPECT_EQ(ReasonOf(status), "INVALID_FIELD") << one.name;
    const auto facts = ErrorInfoOf(DetailsOf(status)).metadata();
    EXPECT_EQ(facts.at("field"), "cursor") << one.name;
    EXPECT_EQ(facts.at("why"), one.why) << one.name;
  }
  const std::string deleted = made(here, Key("one"), other_uid);
  const grpc::Status status = Watch(sessions(), WatchOn("one", deleted)).End();
  EXPECT_EQ(ReasonOf(status), "FENCED");
  EXPECT_EQ(ErrorInfoOf(DetailsOf(status)).metadata().at("cause"), "deleted");
}

TEST_F(WatchRpc, StartsThatCannotBe) {
  Create("one");
  EXPECT_EQ(ReasonOfWatch(WatchFrom("absent", 0)), "SESSION_NOT_FOUND");
  EXPECT_EQ(ReasonOfWatch(WatchFrom("", 0)), "INVALID_FIELD");
  const grpc::Status ahead = Watch(sessions(), WatchFrom("one", 2)).End();
  EXPECT_EQ(ReasonOf(ahead), "REVISION_AHEAD");
  const auto facts = ErrorInfoOf(DetailsOf(ahead)).metadata();
  EXPECT_EQ(facts.at("what"), "event");
  EXPECT_EQ(facts.at("known"), "2");
  EXPECT_EQ(facts.at("stored"), "1");
}

TEST_F(WatchRpc, EventsThatAreGoneEndTheStream) {
  Create("one");
  Watch watch(sessions(), WatchFrom("one", 0));
  watch.UntilProgress();
  script().Fail(
      Refusal(Reason::kEventsCompacted, "these events are no longer kept").With("oldest", "7"));
  const grpc::Status status = watch.End();  // the next poll finds them gone
  EXPECT_EQ(ReasonOf(status), "EVENTS_COMPACTED");
  EXPECT_EQ(ErrorInfoOf(DetailsOf(status)).metadata().at("oldest"), "7");
  script().Fail(absl::OkStatus());
}

TEST_F(WatchRpc, TheEndOfTheSessionIsTheLastEvent) {
  const std::string token = Create("one").lease_token();
  Watch watch(sessions(), WatchFrom("one", 0));
  watch.UntilProgress();
  ASSERT_TRUE(Ask(&Stub::DeleteSession, DeleteRequest("one", token)).ok());
  const std::vector<pb::Event> events = watch.Events(2);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name(), kSessionDeleted);
  EXPECT_EQ(events[0].seq(), 2);
  EXPECT_FALSE(events[0].correlation_id().empty());
  EXPECT_TRUE(watch.End().ok());
  EXPECT_EQ(ReasonOfWatch(WatchFrom("one", 0)), "TOMBSTONED");
  EXPECT_EQ(ReasonOfWatch(WatchOn("one", watch.cursor())), "TOMBSTONED");
}

// A feed without the transport, over a store of its own.
class Feed : public ::testing::Test {
 protected:
  using Kind = WatchFeed::Step::Kind;

  // Counts how often it is to go on.
  struct Waiting final : Watcher {
    int resumed = 0;
    void Wake() override {}
    void Resume() override { ++resumed; }
    void Tend(absl::Duration /*now*/) override {}
    absl::Duration Lag(absl::Time) override { return absl::ZeroDuration(); }
    void Leave() override {}
  };

  Feed() {
    EXPECT_TRUE(store_.Init().ok() && store_.Activate().ok());
    EXPECT_TRUE(store_.Commit(creation_).ok());
  }

  [[nodiscard]] WatchStart Start() const {
    const SessionUid& uid = creation_.create->uid;
    return {
        .key = Key("one"), .uid = uid, .cursors = WatchCursors(store_.Describe(), Key("one"), uid)};
  }

  absl::StatusOr<WatchFeed::Step> After(uint64_t seq) {
    return feed_.Next({.after = EventSeq(seq), .known = EventSeq(seq)}, waiting_);
  }
  // The step behind `seq`, and of an event which one it is.
  std::pair<Kind, uint64_t> StepAfter(uint64_t seq) {
    const auto step = After(seq);
    EXPECT_TRUE(step.ok()) << step.status();
    if (!step.ok()) return {Kind::kWait, 0};
    return {step->kind, step->event == nullptr ? 0 : step->event->seq.value()};
  }

  FakeClock clock_;
  SeededRandom random_;
  ReferenceStore store_{std::make_shared<ReferenceDisk>(NewReferenceDisk(random_)), clock_};
  Admission admission_{kMemoryBudgetDefault};
  Changes changes_{Key("one"), random_};
  const Change creation_ = changes_.Create();
  const std::shared_ptr<Waiting> waiting_ = std::make_shared<Waiting>();
  WatchFeed feed_{store_, admission_, Start()};
};

// The delete comes between two reads.
TEST_F(Feed, WhatADeleteTookAlongIsNoGap) {
  EXPECT_EQ(StepAfter(0), std::pair(Kind::kSend, uint64_t{1}));
  clock_.Advance(absl::Hours(1));
  ASSERT_TRUE(store_.Commit(changes_.Delete()).ok());
  feed_.Touch();
  EXPECT_EQ(StepAfter(1), std::pair(Kind::kSend, uint64_t{2}));
  EXPECT_EQ(StepAfter(2), std::pair(Kind::kOver, uint64_t{0}));
  WatchFeed behind(store_, admission_, Start());
  const auto gap = behind.Next({}, waiting_);
  EXPECT_TRUE(Is(gap.status(), Reason::kTombstoned)) << gap.status();
  EXPECT_EQ(RefusalOf(gap.status()).facts().at("last_event"), "2");
}

// Events of the session that has the id by then are none of the one that is watched.
TEST_F(Feed, EndsWhereAnotherSessionHasTheId) {
  EXPECT_EQ(StepAfter(1), std::pair(Kind::kWait, uint64_t{0}));
  clock_.Advance(absl::Hours(1));
  ASSERT_TRUE(store_.Commit(changes_.Delete()).ok());
  Change again = changes_.Create();
  again.create->replaces = creation_.create->uid;
  ASSERT_TRUE(store_.Commit(again).ok());
  feed_.Touch();
  const auto step = After(1);
  EXPECT_TRUE(Is(step.status(), Reason::kFenced)) << step.status();
}

TEST_F(Feed, HoldsOneMessageForAllAndLetsGoOfIt) {
  const auto first = After(0);
  const auto second = After(0);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->event.get(), second->event.get());
  feed_.Trim();  // used since the one before, which never was
  EXPECT_EQ(After(0)->event.get(), first->event.get());
  feed_.Trim();
  feed_.Trim();
  EXPECT_NE(After(0)->event.get(), first->event.get()) << "it is kept for ever";
}

TEST_F(Feed, LooksOnceMoreOnlyWhenTouched) {
  EXPECT_EQ(StepAfter(1), std::pair(Kind::kWait, uint64_t{0}));
  clock_.Advance(absl::Hours(1));
  ASSERT_TRUE(store_.Commit(changes_.Delete()).ok());
  EXPECT_EQ(StepAfter(1), std::pair(Kind::kWait, uint64_t{0})) << "it read without a reason";
  const auto known = feed_.Next({.after = EventSeq(1), .known = EventSeq(2)}, waiting_);
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known->kind, Kind::kSend) << "events up to `known` were not read";
}

TEST_F(Feed, WithoutMemoryForAPageSaysSo) {
  Admission full(1);
  WatchFeed feed(store_, full, Start());
  const auto step = feed.Next({}, waiting_);
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(step->kind, Kind::kNoRoom);
}

TEST(Admission, APageIsMemoryAndNoCall) {
  Admission admission(100);
  auto call = admission.Admit(40);
  ASSERT_TRUE(call.ok());
  {
    const auto page = admission.AdmitBytes(60);
    ASSERT_TRUE(page.ok());
    EXPECT_EQ(admission.InProgress(), 1U);
    EXPECT_TRUE(Is(admission.AdmitBytes(1).status(), Reason::kOverloaded));
  }
  EXPECT_TRUE(admission.AdmitBytes(60).ok()) << "it was given back";
  *call = Admission::Ticket();
  EXPECT_TRUE(admission.AwaitIdle(absl::ZeroDuration()));
}

TEST_F(WatchRpc, AnIdleStreamShowsThatItLives) {
  // A message may have been read before its writer knows that it was taken.
  config().limits.watch_write_timeout = absl::Hours(1);
  Create("one");
  Watch watch(sessions(), WatchFrom("one", 0));
  watch.UntilProgress();
  const std::string cursor = watch.cursor();
  for (int beats = 0; beats < 2; ++beats) {
    clock().Advance(kWatchProgressDefault);
    const auto message = watch.Next();
    ASSERT_TRUE(message && message->has_progress());
    EXPECT_EQ(message->progress().last_seq(), 1);
    EXPECT_EQ(message->cursor(), cursor);
  }
}

TEST_F(WatchRpc, AServerThatStopsEndsItWithItsCursor) {
  const std::string token = Create("one").lease_token();
  TakeTurns("one", token, 1);
  Watch idle(sessions(), WatchFrom("one", 0));
  idle.UntilProgress();
  app().RequestStop();
  const grpc::Status status = idle.End();
  EXPECT_EQ(Describe(status),
            "UNAVAILABLE WATCH_ENDED: this server is stopping\n"
            "    ErrorInfo{holdfast WATCH_ENDED; cause=draining; cursor=CURSOR}\n"
            "    RetryInfo{a while}\n"
            "    RequestInfo{TRACE}\n");
  EXPECT_EQ(ErrorInfoOf(DetailsOf(status)).metadata().at("cursor"), idle.cursor());
  EXPECT_EQ(Stop(), 0);
}

// A stream that buffers as little as it can.
std::shared_ptr<grpc::Channel> NarrowChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1024);
  return testing::Connected(address, arguments);
}

// Much less than a write timeout: what happens next is seen before more can happen.
constexpr absl::Duration kASmallStep = absl::Milliseconds(100);

TEST_F(WatchRpc, ASlowReaderIsEndedAndGoesOnFromItsCursor) {
  const std::string token = Create("one").lease_token();
  TakeTurns("one", token, 400);
  const auto narrow = pb::SessionService::NewStub(NarrowChannel(app().address()));
  Watch slow(*narrow, WatchFrom("one", 0));
  const bool ended = WaitUntil([&] {
    clock().Advance(kASmallStep);
    for (const std::string& line : LogLines()) {
      if (line.find("\"reason\":\"WATCH_ENDED\"") != std::string::npos) return true;
    }
    return false;
  });
  ASSERT_TRUE(ended);
  std::vector<pb::Event> seen;
  for (auto message = slow.Next(); message; message = slow.Next()) {
    if (message->has_event()) seen.push_back(message->event());
  }
  ASSERT_FALSE(seen.empty());
  const grpc::Status status = slow.End();
  EXPECT_EQ(ReasonOf(status), "WATCH_ENDED");
  const auto facts = ErrorInfoOf(DetailsOf(status)).metadata();
  EXPECT_EQ(facts.at("cause"), "slow");
  EXPECT_EQ(facts.at("cursor"), slow.cursor());
  Watch again(sessions(), WatchOn("one", slow.cursor()));
  for (const pb::Event& event : again.UntilProgress()) seen.push_back(event);
  EXPECT_EQ(Text(seen), Text(ListAll("one")));
}

TEST_F(WatchRpc, TheLagOfAReaderIsAMetric) {
  config().telemetry.metrics_address = "127.0.0.1:0";
  const auto lag = [&] {
    return testing::Scrape(app().metrics_address()).at("holdfast_watch_lag_seconds");
  };
  const std::string token = Create("one").lease_token();
  const auto narrow = pb::SessionService::NewStub(NarrowChannel(app().address()));
  Watch slow(*narrow, WatchFrom("one", 0));
  const size_t seen = slow.UntilProgress().size();
  EXPECT_TRUE(WaitUntil([&] { return lag() == 0; }));
  constexpr int kTurns = 400;
  TakeTurns("one", token, kTurns);
  EXPECT_TRUE(WaitUntil([&] { return lag() > 0.1; })) << "it reads nothing";
  EXPECT_EQ(slow.Events(ListAll("one").size() - seen).size(), 3 * kTurns);
  EXPECT_TRUE(WaitUntil([&] { return lag() == 0; }));
}

TEST_F(WatchRpc, EndsWatchWhenClientNeverReads) {
  config().limits.watchers = 1;
  const std::string token = Create("one").lease_token();
  TakeTurns("one", token, 400);
  const auto narrow = pb::SessionService::NewStub(NarrowChannel(app().address()));
  Watch never(*narrow, WatchFrom("one", 0));
  std::vector<pb::Event> seen = never.Events(1);
  // Its place is free only when the transport, too, has let it go.
  std::unique_ptr<Watch> next;
  EXPECT_TRUE(WaitUntil([&] {
    clock().Advance(kASmallStep);
    next = std::make_unique<Watch>(sessions(), WatchFrom("one", 0));
    return next->Next().has_value();
  }));
  for (const pb::Event& event : never.UntilProgress()) seen.push_back(event);
  EXPECT_EQ(never.End().error_code(), grpc::StatusCode::CANCELLED);
  std::vector<pb::Event> all = ListAll("one");
  ASSERT_LT(seen.size(), all.size()) << "it was not slow at all";
  EXPECT_EQ(never.cursor().empty(), seen.empty());
  all.resize(seen.size());
  EXPECT_EQ(Text(seen), Text(all));
}

// What a connection has open is bounded, so that a server that is offered more than it can refuse
// does not fill up with it; the call that waits is in its client, and nothing of it is here.
TEST_F(WatchRpc, MoreThanAConnectionMayHaveOpenWaitsInItsClient) {
  config().limits.calls_per_connection = 2;
  Create("one");
  Watch first(sessions(), WatchFrom("one", 0));
  first.UntilProgress();
  pb::GetSessionRequest get;
  get.set_session_id("one");
  pb::GetSessionResponse response;
  {
    Watch second(sessions(), WatchFrom("one", 0));
    second.UntilProgress();
    const size_t lines = LogLines().size();
    grpc::ClientContext soon;
    soon.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
    EXPECT_EQ(sessions().GetSession(&soon, get, &response).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(LogLines().size(), lines);
    const auto other = pb::SessionService::NewStub(Connected(app().address()));
    grpc::ClientContext context;
    EXPECT_TRUE(other->GetSession(&context, get, &response).ok());
  }
  EXPECT_TRUE(Ask(&Stub::GetSession, get).ok());
}

TEST_F(WatchRpc, OneTooManyIsOverloaded) {
  config().limits.watchers = 2;
  Create("one");
  Watch first(sessions(), WatchFrom("one", 0));
  first.UntilProgress();
  {
    Watch second(sessions(), WatchFrom("one", 0));
    second.UntilProgress();
    Watch refused(sessions(), WatchFrom("one", 0));
    ASSERT_FALSE(refused.Next().has_value()) << "it is one too many";
    const grpc::Status status = refused.End();
    EXPECT_EQ(ReasonOf(status), "OVERLOADED");
    EXPECT_EQ(ErrorInfoOf(DetailsOf(status)).metadata().at("field"), "limits.watchers");
  }
  // A watch that ended frees its place.
  EXPECT_TRUE(WaitUntil([&] {
    Watch third(sessions(), WatchFrom("one", 0));
    return third.Next().has_value();
  }));
}

TEST_F(WatchRpc, ALostWakeupCostsNoEvent) {
  script().LoseWakeups();
  const std::string token = Create("one").lease_token();
  Watch watch(sessions(), WatchFrom("one", 0));
  watch.UntilProgress();
  TakeTurns("one", token, 1);
  const std::vector<pb::Event> later = watch.Events(3);
  ASSERT_EQ(later.size(), 3U);
  EXPECT_EQ(later[2].seq(), 4);
}

TEST_F(WatchRpc, WatchersHoldNoWorker) {
  config().server.workers = 1;
  const std::string token = Create("one").lease_token();
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 20; ++i) {
    watches.push_back(std::make_unique<Watch>(sessions(), WatchFrom("one", 0)));
  }
  for (const auto& watch : watches) watch->UntilProgress();
  TakeTurns("one", token, 1);
  for (const auto& watch : watches) EXPECT_EQ(watch->Events(3).size(), 3U);
}

TEST_F(WatchRpc, AReaderThatGoesAwayEndsItsStream) {
  Create("one");
  {
    Watch watch(sessions(), WatchFrom("one", 0));
    watch.UntilProgress();
  }
  EXPECT_NE(AwaitLog("WatchSession").find("\"reason\":\"CANCELLED\""), std::string::npos);
}

}  // namespace
}  // namespace holdfast::test
