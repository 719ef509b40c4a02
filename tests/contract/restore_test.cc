// Restores: histories that begin with the messages of kept ones.
#include "session/guard.h"
#include "tests/contract/suite.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using Texts = std::vector<std::string>;

Digest DigestOf(const Texts& texts) {
  Digest digest{};
  for (const std::string& text : texts) digest = ExtendHistory(digest, Text(text));
  return digest;
}

// A snapshot whose history begins with `texts`, which are the first of a generation.
Change Restoring(Change write, Generation generation, const Texts& texts,
                 std::vector<Message> messages = {}) {
  write.request->method = Method::kRestore;
  write.guard.trigger = Trigger::kRestore;
  write.restores = HistoryCut{
      .generation = generation, .messages = MessageSeq(texts.size()), .digest = DigestOf(texts)};
  write.messages = std::move(messages);
  return write;
}

TEST_P(Contract, C279_ARestoredHistoryIsReadAsItsOwn) {
  Create();
  RunTurn({Text("a"), Text("b")});
  RunTurn({Text("c"), Text("d")});
  const Generation before = LoadHead().generation;
  const Receipt receipt = Apply(Restoring(changes().Write(token()), before, {"a", "b", "c"}));
  EXPECT_EQ(receipt.messages, MessageSeq(3));
  const Head head = LoadHead();
  EXPECT_EQ(head.generation, before.Next());
  EXPECT_EQ(head.messages, MessageSeq(3));
  EXPECT_EQ(head.history, DigestOf({"a", "b", "c"}));
  EXPECT_THAT(MessageTexts(), ElementsAre("a", "b", "c"));
  ASSERT_EQ(Messages().size(), 3U);
  EXPECT_EQ(Messages().back().seq, MessageSeq(3));
  // Nothing of a history is a history, too.
  Apply(Restoring(changes().Write(token()), head.generation, {}));
  EXPECT_THAT(MessageTexts(), ElementsAre());
  EXPECT_EQ(LoadHead().history, Digest());
  RunTurn({Text("x")});
  EXPECT_THAT(MessageTexts(), ElementsAre("x"));
}

TEST_P(Contract, C280_PagesGoOverTheBordersOfARestoredHistory) {
  Create();
  RunTurn({Text("a"), Text("b"), Text("c")});
  Apply(Restoring(changes().Write(token()), Generation(1), {"a", "b"}, {Text("x")}));
  RunTurn({Text("y")});
  Apply(Restoring(changes().Write(token()), Generation(2), {"a", "b", "x"}, {Text("z")}));
  const Texts all = {"a", "b", "x", "z"};
  ASSERT_EQ(MessageTexts(), all);
  for (size_t after = 0; after <= all.size(); ++after) {
    for (uint32_t most = 1; most <= all.size() + 1; ++most) {
      SCOPED_TRACE(testing::Message() << "after " << after << ", " << most << " at most");
      const auto page = store().ReadMessages(key(), std::nullopt, MessageSeq(after),
                                             {.items = most, .bytes = kWholePage.bytes});
      ASSERT_TRUE(page.ok()) << page.status();
      Texts texts;
      for (const Message& message : page->messages) {
        texts.emplace_back(message.data);
        EXPECT_EQ(message.seq, MessageSeq(after + texts.size()));
      }
      const size_t end = std::min(all.size(), after + most);
      EXPECT_EQ(texts, Texts(all.begin() + after, all.begin() + end));
      EXPECT_EQ(page->end, end == all.size());
    }
  }
}

TEST_P(Contract, C281_WhatIsAddedFollowsARestoredHistory) {
  Create();
  RunTurn({Text("a"), Text("b"), Text("c")});
  const Receipt receipt =
      Apply(Restoring(changes().Write(token()), Generation(1), {"a", "b"}, {Text("x")}));
  EXPECT_EQ(receipt.messages, MessageSeq(3));
  EXPECT_THAT(MessageTexts(), ElementsAre("a", "b", "x"));
  RunTurn({Text("y")});
  EXPECT_THAT(MessageTexts(), ElementsAre("a", "b", "x", "y"));
  EXPECT_EQ(Messages().back().seq, MessageSeq(4));
  EXPECT_EQ(LoadHead().history, DigestOf({"a", "b", "x", "y"}));
}

TEST_P(Contract, C282_TheHistoryBeforeARestoreIsReadAtItsSnapshots) {
  Create();
  const Revision first = RunTurn({Text("a"), Text("b")}).revision;
  const Revision second = RunTurn({Text("c")}).revision;
  const Revision third =
      Apply(Restoring(changes().Write(token()), Generation(1), {"a"}, {Text("x")})).revision;
  RunTurn({Text("y")});
  EXPECT_THAT(MessageTexts(first), ElementsAre("a", "b"));
  EXPECT_THAT(MessageTexts(second), ElementsAre("a", "b", "c"));
  EXPECT_THAT(MessageTexts(third), ElementsAre("a", "x"));
  EXPECT_THAT(MessageTexts(), ElementsAre("a", "x", "y"));
}

TEST_P(Contract, C283_ARestoredHistoryIsThereWhenTheStoreIsOpenedAgain) {
  Create();
  const Revision old = RunTurn({Text("a"), Text("b"), Text("c")}).revision;
  const Revision restored =
      Apply(Restoring(changes().Write(token()), Generation(1), {"a", "b"})).revision;
  RunTurn({Text("x")});
  for (int opened = 0; opened < 2; ++opened) {
    EXPECT_THAT(MessageTexts(old), ElementsAre("a", "b", "c"));
    EXPECT_THAT(MessageTexts(restored), ElementsAre("a", "b"));
    EXPECT_THAT(MessageTexts(), ElementsAre("a", "b", "x"));
    Reopen();
  }
}

TEST_P(Contract, C284_ARestoredHistoryOutlivesTheSnapshotsOfItsSource) {
  Create();
  const Revision old = RunTurn({Text("a"), Text("b"), Text("c")}).revision;
  Apply(Restoring(changes().Write(token()), Generation(1), {"a", "b"}, {Text("x")}));
  Texts all = {"a", "b", "x"};
  for (size_t turn = 0; turn < 3 * kSnapshotsKeptDefault; ++turn) {
    all.push_back("turn" + std::to_string(turn));
    RunTurn({Text(all.back())});
  }
  EXPECT_EQ(ReasonIn(store().ReadMessages(key(), old, MessageSeq(), kWholePage)),
            "REVISION_PRUNED");
  EXPECT_EQ(MessageTexts(), all);
  Reopen();
  EXPECT_EQ(MessageTexts(), all);
  EXPECT_EQ(LoadHead().history, DigestOf(all));
}

TEST_P(Contract, C285_ARestoredHistoryIsRestoredAsAnyOther) {
  Create();
  RunTurn({Text("a"), Text("b"), Text("c")});
  Apply(Restoring(changes().Write(token()), Generation(1), {"a", "b"}, {Text("x"), Text("y")}));
  const Revision second = LoadHead().revision;
  // Of its own messages, then of those that it shares, then of a history that was left before.
  Apply(Restoring(changes().Write(token()), Generation(2), {"a", "b", "x"}, {Text("z")}));
  EXPECT_THAT(MessageTexts(), ElementsAre("a", "b", "x", "z"));
  Apply(Restoring(changes().Write(token()), Generation(3), {"a"}, {Text("w")}));
  EXPECT_THAT(MessageTexts(), ElementsAre("a", "w"));
  Apply(Restoring(changes().Write(token()), Generation(2), {"a", "b", "x", "y"}));
  EXPECT_THAT(MessageTexts(), ElementsAre("a", "b", "x", "y"));
  EXPECT_THAT(MessageTexts(second), ElementsAre("a", "b", "x", "y"));
  for (size_t turn = 0; turn < 2 * kSnapshotsKeptDefault; ++turn) RunTurn();
  Reopen();
  EXPECT_THAT(MessageTexts(), ElementsAre("a", "b", "x", "y"));
}

TEST_P(Contract, C286_TheLastMessageOfAChangeHasTheDigestOfTheHistory) {
  Create();
  RunTurn({Text("a"), Text("b")});
  Apply(Restoring(changes().Write(token()), Generation(1), {"a"}, {Text("x"), Text("y")}));
  for (int opened = 0; opened < 2; ++opened) {
    const std::vector<Message> messages = Messages();
    ASSERT_EQ(messages.size(), 3U);
    EXPECT_FALSE(messages[0].history);
    EXPECT_FALSE(messages[1].history);
    EXPECT_EQ(messages[2].history, DigestOf({"a", "x", "y"}));
    Reopen();
  }
}

TEST_P(Contract, C287_TheReceiptHasWhatTheHistoryLost) {
  Create();
  RunTurn({Text("a"), Text("b"), Text("c")});
  Change change = Restoring(changes().Write(token()), Generation(1), {"a"});
  change.removed_messages = 2;
  change.removed = {Messages().back()};
  change.removed.front().history.reset();
  const Receipt receipt = Apply(change);
  for (int opened = 0; opened < 2; ++opened) {
    const auto loaded = store().LoadForDecision(key(), change.request->id);
    ASSERT_TRUE(loaded.ok() && loaded->request) << loaded.status();
    for (const Receipt& answer : {receipt, loaded->request->receipt}) {
      EXPECT_EQ(answer.removed_messages, 2U);
      ASSERT_EQ(answer.removed.size(), 1U);
      EXPECT_EQ(answer.removed.front(), change.removed.front());
    }
    Reopen();
  }
}

TEST_P(Contract, C288_APremiseOfAPositionHoldsThereAlone) {
  Create();
  RunTurn({Text("a"), Text("b")});
  const Head head = LoadHead();
  Change change = Restoring(changes().Write(token()), Generation(1), {"a"});
  change.premise = PremiseOf(head);
  change.premise->at = Position{.revision = head.revision, .journal = head.journal};
  // It moves no revision, and changes a slot at once.
  Append(TurnNumber(), {SlotUpdate(TurnNumber(), 1, MakeSlot("memory", "m"))});
  const auto moved = store().Commit(change);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(moved->kind, CommitResult::Kind::kMoved);
  EXPECT_THAT(MessageTexts(), ElementsAre("a", "b"));
  change.premise->at->journal = LoadHead().journal;
  Apply(change);
  EXPECT_THAT(MessageTexts(), ElementsAre("a"));
}

}  // namespace
}  // namespace holdfast::test
