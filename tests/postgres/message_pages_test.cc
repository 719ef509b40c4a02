// Pages of messages, each of which begins where the one before it ended.
#include "session/limits.h"
#include "tests/postgres/store_fixture.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

constexpr PageLimit kTwo{.items = 2, .bytes = kPageBytes};

class PgMessagePages : public PostgresStoreTest {
 protected:
  void SetUp() override {
    Create();
    for (int i = 1; i <= 6; ++i) RunTurn({Text(absl::StrCat("message ", i))});
  }

  // The texts of the two messages behind `after`.
  std::vector<std::string> Page(uint64_t after, std::optional<Revision> revision = std::nullopt) {
    const auto page = store().ReadMessages(key(), revision, MessageSeq(after), kTwo);
    EXPECT_EQ(ReasonOf(page.status()), "OK");
    std::vector<std::string> texts;
    if (page.ok()) {
      for (const Message& message : page->messages) texts.emplace_back(message.data.str());
    }
    return texts;
  }
};

TEST_F(PgMessagePages, GoOnAndBeginAgain) {
  EXPECT_THAT(Page(0), ElementsAre("message 1", "message 2"));
  EXPECT_THAT(Page(2), ElementsAre("message 3", "message 4"));
  EXPECT_THAT(Page(3), ElementsAre("message 4", "message 5"));
  EXPECT_THAT(Page(0), ElementsAre("message 1", "message 2"));
  EXPECT_THAT(Page(2), ElementsAre("message 3", "message 4"));
  EXPECT_THAT(Page(4), ElementsAre("message 5", "message 6"));
}

TEST_F(PgMessagePages, GoOnInTheHistoryThatTookTheOthersPlace) {
  EXPECT_THAT(Page(0), ElementsAre("message 1", "message 2"));
  Change replace = changes().Write(token());
  replace.replaces_history = true;
  replace.messages = {Text("new 1"), Text("new 2"), Text("new 3"), Text("new 4")};
  Apply(replace);
  EXPECT_THAT(Page(2), ElementsAre("new 3", "new 4"));
  // And back: the former one is read as a snapshot before the new one left it.
  const Revision before(store().LoadForDecision(key(), std::nullopt)->head.revision.value() - 1);
  EXPECT_THAT(Page(1), ElementsAre("new 2", "new 3"));
  EXPECT_THAT(Page(3, before), ElementsAre("message 4", "message 5"));
}

// As after a failover that lost changes: the rows of the messages that were read hold other ones.
TEST_F(PgMessagePages, GoOnWhereTheRowsHaveMoved) {
  EXPECT_THAT(Page(2), ElementsAre("message 3", "message 4"));
  // Without those of three turns that began, what the next page begins with lies before it.
  database().Run(
      "DELETE FROM holdfast.log WHERE n IN (2, 4, 6);"
      "UPDATE holdfast.log SET n = n + 1000;"
      "UPDATE holdfast.log l SET n = r.place FROM"
      " (SELECT n, row_number() OVER (ORDER BY n) AS place FROM holdfast.log) r WHERE l.n = r.n");
  EXPECT_THAT(Page(4), ElementsAre("message 5", "message 6"));
}

}  // namespace
}  // namespace holdfast::test
