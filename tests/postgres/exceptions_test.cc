// The work on a group of changes throws: each member is written once, and each caller is answered.
#include "store-postgres/postgres_store.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/grouped_commit.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::Contains;
using ::testing::Each;

constexpr int kGroupedSessions = 4;
constexpr PageLimit kAllMessages{.items = 100, .bytes = 1 << 20};

// Throws once a group is written.
class ThrowingMeter final : public StoreMeter {
 public:
  void GroupWritten(const WrittenGroup& group) override {
    if (group.changes > 1) throw std::bad_alloc();
  }
};

class PgExceptions : public PostgresStoreTest {
 protected:
  // Commits a message into each of several sessions, in one statement.
  void CommitTogether(SessionStore& store) {
    std::vector<Change> changes;
    for (int i = 0; i < kGroupedSessions; ++i) {
      many_.push_back(std::make_unique<Changes>(Key(absl::StrCat("s", i)), random()));
      const auto created = store.Commit(many_.back()->Create());
      ASSERT_EQ(ReasonOf(created), "OK");
      changes.push_back(many_.back()->Write(*LeaseToken::Parse(created->receipt.token)));
      changes.back().messages = {Text("one")};
    }
    results_ = test::CommitTogether(store, changes);
  }

  void ExpectWrittenOnce(SessionStore& store) {
    std::vector<std::string> reasons;
    for (const auto& result : results_) reasons.push_back(ReasonOf(result));
    EXPECT_THAT(reasons, Each("OK"));
    for (const auto& session : many_) {
      const auto page =
          store.ReadMessages(session->key(), std::nullopt, MessageSeq(), kAllMessages);
      ASSERT_TRUE(page.ok());
      EXPECT_EQ(page->messages.size(), 1U);
    }
  }

 private:
  std::vector<std::unique_ptr<Changes>> many_;
  std::vector<absl::StatusOr<CommitResult>> results_;
};

TEST_F(PgExceptions, BehindTheStatementOfAGroupLoseItsAnswerAlone) {
  statements().ThrowBehind("change_many");
  CommitTogether(store());
  EXPECT_THAT(statements().Take(), Contains("change_many"));
  ExpectWrittenOnce(store());
}

TEST_F(PgExceptions, BetweenAGroupAndItsMembersLoseNone) {
  ThrowingMeter meter;
  pg::PostgresOptions options;
  options.connect.dsn = database().dsn();
  options.connect.tap = statements().tap();
  options.meter = &meter;
  std::string reported;
  options.report = [&](const std::string& why) { reported = why; };
  const auto other = pg::MakePostgresStore(options, clock(), random());
  ASSERT_TRUE(other->Init().ok());
  CommitTogether(*other);
  EXPECT_THAT(statements().Take(), Contains("change_many"));
  EXPECT_EQ(reported, "change_many:  an exception: std::bad_alloc");
  ExpectWrittenOnce(*other);
  Close(other);
}

}  // namespace
}  // namespace holdfast::test
