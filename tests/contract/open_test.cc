// Sessions of kind OPEN: any number of writers, no lease and no turns.
#include "tests/contract/suite.h"

#include "absl/strings/str_cat.h"

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

Change CreateOpen(Changes& changes) {
  Change change = changes.Create();
  change.grant.reset();
  change.create->kind = SessionKind::kOpen;
  change.create->group = "app/one";
  return change;
}

// A snapshot that names no token.
Change WriteOpen(Changes& changes, std::vector<Message> messages) {
  Change change = changes.Write(LeaseToken());
  change.guard.token.reset();
  change.messages = std::move(messages);
  return change;
}

// A token that is right in everything but that there is no lease.
LeaseToken TokenOf(const Head& head) {
  return {.store = head.store,
          .incarnation = head.incarnation,
          .uid = head.uid,
          .epoch = head.lease.epoch,
          .secret = std::string(16, 's')};
}

TEST_P(Contract, C241_KeepsKindAndGroupOfCreation) {
  EXPECT_EQ(Apply(CreateOpen(changes())).token, "");
  Apply(WriteOpen(changes(), {Text("a")}));
  Changes leased(Key("leased"), random());
  Apply(leased.Create());
  for (int opened = 0; opened < 2; ++opened) {
    const Head head = LoadHead();
    EXPECT_EQ(head.kind, SessionKind::kOpen);
    EXPECT_EQ(head.group, "app/one");
    EXPECT_EQ(head.lease.epoch, Epoch());
    EXPECT_FALSE(head.lease.held);
    EXPECT_EQ(head.lease.state, LeaseState::kFree);
    EXPECT_TRUE(head.grants.empty());
    EXPECT_EQ(LoadHead(leased.key()).kind, SessionKind::kLeased);
    EXPECT_EQ(LoadHead(leased.key()).group, "");
    Reopen();
  }
}

TEST_P(Contract, C242_NoChangeNeedsToken) {
  Apply(CreateOpen(changes()));
  Apply(WriteOpen(changes(), {Text("a")}));
  Apply(changes().Update({{"title", "x"}}));
  Change close = changes().Close(LeaseToken());
  close.guard.token.reset();
  Apply(close);
  EXPECT_EQ(LoadHead().lifecycle, Lifecycle::kClosed);
  Reopen();
  EXPECT_THAT(MessageTexts(), ::testing::ElementsAre("a"));
  Apply(changes().Delete());
}

TEST_P(Contract, C243_TokenIsRefused) {
  Apply(CreateOpen(changes()));
  Change write = WriteOpen(changes(), {Text("a")});
  write.guard.token = TokenOf(LoadHead());
  for (const Epoch epoch : {Epoch(), Epoch(7)}) {
    write.guard.token->epoch = epoch;
    const auto refused = store().Commit(write);
    EXPECT_EQ(ReasonIn(refused), "INVALID_FIELD");
    EXPECT_EQ(FactIn(RefusalIn(refused), "field"), "lease_token");
  }
  EXPECT_TRUE(Messages().empty());
}

TEST_P(Contract, C244_RefusesWhatIsOfLeaseOrTurn) {
  Apply(CreateOpen(changes()));
  Apply(WriteOpen(changes(), {Text("a")}));
  const LeaseToken token = TokenOf(LoadHead());
  const std::vector<Change> changes_of_leases = {
      changes().Resume(LeaseRule::kForce),
      changes().Begin(token),
      changes().CommitTurn(token, TurnNumber(1)),
      changes().Abandon(token, TurnNumber(1)),
      changes().Append(token, TurnNumber(), {Note(TurnNumber(), 1, "n")}),
      changes().Release(token)};
  for (const Change& change : changes_of_leases) {
    const auto refused = store().Commit(change);
    EXPECT_EQ(ReasonIn(refused), "ILLEGAL_TRANSITION") << Name(change.guard.trigger);
    EXPECT_EQ(FactIn(RefusalIn(refused), "legal"),
              "Write,Close,Delete,Update,Cancel,EndCancelled,AppendAudit,PutItems,Restore,"
              "PutCheckpoint,DeleteCheckpoint");
  }
  const auto renewed = store().RenewLeases({{.key = key(), .token = token, .ttl = {}}});
  ASSERT_EQ(renewed.size(), 1U);
  EXPECT_EQ(ReasonIn(renewed[0]), "ILLEGAL_TRANSITION");
  EXPECT_EQ(LoadHead().lease.epoch, Epoch());
}

TEST_P(Contract, C245_SeveralWritersAddMessagesAtOnce) {
  constexpr int kWriters = 8;
  constexpr int kMessages = 25;
  Apply(CreateOpen(changes()));
  std::vector<std::vector<Change>> all(kWriters);
  std::vector<std::string> expected;
  for (int writer = 0; writer < kWriters; ++writer) {
    for (int number = 0; number < kMessages; ++number) {
      const std::string text = absl::StrCat(writer, "-", number);
      expected.push_back(text);
      all[writer].push_back(WriteOpen(changes(), {Text(text)}));
    }
  }
  std::vector<std::thread> writers;
  for (const std::vector<Change>& of_writer : all) {
    writers.emplace_back([&] {
      for (const Change& change : of_writer) {
        const auto result = store().Commit(change);
        EXPECT_EQ(ReasonIn(result), "OK");
        if (result.ok()) {
          EXPECT_EQ(result->kind, CommitResult::Kind::kApplied);
        }
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  Reopen();
  EXPECT_EQ(LoadHead().messages, MessageSeq(kWriters * kMessages));
  EXPECT_THAT(MessageTexts(), ::testing::UnorderedElementsAreArray(expected));
}

}  // namespace
}  // namespace holdfast::test
