// The database killed under writers: what was acknowledged is there, and what was not acts once
// when it is sent again.
#include "tests/postgres/store_fixture.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace holdfast::test {
namespace {

constexpr int kKilledWriters = 8;
constexpr int kKillsOfWriters = 3;
constexpr int kLeastChanges = 50;  // changes that are acknowledged between two kills

class SyncedPostgres {
 public:
  SyncedPostgres() { own_.Start(); }
  holdfast::testing::OwnPostgres& own() { return own_; }

 private:
  holdfast::testing::OwnPostgres own_{{"fsync=on", "recovery_init_sync_method=syncfs"}};
};

// One writer's session, with the changes that were acknowledged and the one in doubt.
struct Writer {
  std::unique_ptr<Changes> changes;
  LeaseToken token;
  std::vector<std::string> acknowledged;
  std::optional<Change> in_doubt;  // sent, and not answered
};

class PgKill : public SyncedPostgres, public PostgresStoreTest {
 protected:
  PgKill() : PostgresStoreTest(own().directory()) {}

  void SetUp() override {
    for (int i = 0; i < kKilledWriters; ++i) {
      Writer writer{.changes = std::make_unique<Changes>(Key(absl::StrCat("w", i)), random())};
      writer.token = *LeaseToken::Parse(Apply(writer.changes->Create()).token);
      writers_.push_back(std::move(writer));
    }
  }

  // Writes until the database is gone; what was in doubt before is sent again first.
  void WriteUntilGone(Writer& writer) {
    for (;;) {
      Change change = writer.in_doubt ? *writer.in_doubt : writer.changes->Write(writer.token);
      if (!writer.in_doubt) {
        change.messages = {Text(absl::StrCat("message ", writer.acknowledged.size() + 1))};
      }
      writer.in_doubt = change;
      const auto result = store().Commit(change);
      if (!result.ok()) {
        EXPECT_EQ(ReasonOf(result), "STORE_UNAVAILABLE");
        return;
      }
      ASSERT_EQ(ReasonOf(result), "OK");
      writer.acknowledged.push_back(change.messages.front().data.str());
      writer.in_doubt.reset();
      ++acknowledged_;
    }
  }

  void Check(const Writer& writer) {
    constexpr PageLimit kAll{.items = 100'000, .bytes = size_t{64} * 1024 * 1024};
    const auto page = store().ReadMessages(writer.changes->key(), std::nullopt, MessageSeq(), kAll);
    ASSERT_EQ(ReasonOf(page.status()), "OK");
    std::vector<std::string> there;
    for (const Message& message : page->messages) there.push_back(message.data.str());
    // At most the one that was in doubt is there beside those that were acknowledged.
    std::vector<std::string> known = writer.acknowledged;
    if (there.size() > known.size() && writer.in_doubt) {
      known.push_back(writer.in_doubt->messages.front().data.str());
    }
    EXPECT_EQ(there, known);
  }

  std::vector<Writer> writers_;
  std::atomic<int> acknowledged_ = 0;
};

TEST_F(PgKill, WhatWasAcknowledgedIsThereAndNothingActsTwice) {
  for (int kill = 0; kill < kKillsOfWriters; ++kill) {
    const int before = acknowledged_;
    std::vector<std::jthread> threads;
    for (Writer& writer : writers_) threads.emplace_back([&] { WriteUntilGone(writer); });
    EXPECT_TRUE(
        holdfast::testing::WaitUntil([&] { return acknowledged_ >= before + kLeastChanges; }));
    own().Kill();
    threads.clear();
    EXPECT_EQ(ReasonOf(store().CheckHealth()), "STORE_UNAVAILABLE");
    own().Start();
    EXPECT_EQ(ReasonOf(store().CheckHealth()), "OK");
    for (const Writer& writer : writers_) Check(writer);
  }
  std::cout << acknowledged_ << " changes acknowledged over " << kKillsOfWriters << " kills\n";
}

}  // namespace
}  // namespace holdfast::test
