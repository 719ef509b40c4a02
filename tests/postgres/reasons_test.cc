// Every reason, from a holdfastd over PostgreSQL as it is shipped: word for word as over files
// (tests/golden/reasons.golden) where both stores can give it in one way, and as in
// reasons_postgres.golden where it takes a database.
#include "session/reasons.h"

#include "tests/postgres/small_database.h"
#include "tests/support/golden.h"
#include "tests/support/postgres_store.h"
#include "tests/support/reason_cases.h"
#include "tests/support/requests.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <regex>
#include <string>

namespace holdfast::testing {
namespace {

namespace pb = ::holdfast::v1;

using test::RefusalCases;
using ::testing::HasSubstr;

// How far events are tidied away, and when, is each store's own.
std::string WithoutOldest(const std::string& text) {
  static const std::regex kOldest("oldest=[0-9]+");
  return std::regex_replace(text, kOldest, "oldest=SEQ");
}

class DatabaseReasons : public ReasonCases {
 public:
  explicit DatabaseReasons(test::StoreDatabase& database)
      : ReasonCases({.dsn = database.dsn()}), database_(database) {}

  void Damage();
  void FullDisk();
  void Outage();

 private:
  // By the database's clock.
  void LetEightDaysPass(ReasonPlace& /*place*/) override { database_.Advance(absl::Hours(8 * 24)); }

  test::StoreDatabase& database_;
};

// Rows that were edited.
void DatabaseReasons::Damage() {
  ReasonPlace place({.dsn = database_.dsn()});
  RefusalCases& cases = place.cases();
  cases.Create("drift");
  const std::string token = cases.Create("damaged");
  cases.Begin("damaged", token);
  cases.Commit("damaged", token, 1);
  database_.Run(
      "UPDATE holdfast.session SET head = set_byte(head, 20, get_byte(head, 20) # 1)"
      " WHERE session_id = 'drift';"
      "UPDATE holdfast.log SET msgs = set_byte(msgs, 2, get_byte(msgs, 2) # 1)"
      " WHERE session_id = 'damaged' AND msgs IS NOT NULL");
  cases.Refused("a session's record that was edited", "", [&] { return cases.AskGet("drift"); });
  cases.Refused("a message that was edited", "damaged", [&] {
    pb::ListMessagesRequest request;
    request.set_session_id("damaged");
    return cases.Ask(&RefusalCases::Stub::ListMessages, request);
  });
  Keep(cases);
  place.Stop();
}

void DatabaseReasons::FullDisk() {
  const SmallDatabase small;
  OwnPostgres postgres({"fsync=off"});
  postgres.Start();
  small.MakeIn(postgres);
  ReasonPlace place({.dsn = postgres.dsn(SmallDatabase::kName)});
  RefusalCases& cases = place.cases();
  const std::string token = cases.Create("full");
  cases.Begin("full", token);
  const auto large = test::CommitRequest("full", token, 1, MegabyteOfNoise());
  const DiskFiller filler(small.disk());
  for (const char* name : {"a full disk", "a full disk again", "a full disk for the third time"}) {
    cases.Refused(name, "full", [&] { return cases.Ask(&RefusalCases::Stub::CommitTurn, large); });
  }
  filler.Free();
  EXPECT_TRUE(cases.Ask(&RefusalCases::Stub::CommitTurn, large).ok())
      << "the same request, with room";
  Keep(cases);
  place.Stop();
}

void DatabaseReasons::Outage() {
  OwnPostgres postgres({"fsync=off"});
  postgres.Start();
  ASSERT_TRUE(pg::Migrate(*ConnectAdmin(postgres.dsn())).ok());
  ReasonPlace place({.dsn = postgres.dsn()});
  RefusalCases& cases = place.cases();
  const std::string token = cases.Create("unreached");
  const auto begin = test::BeginRequest("unreached", token);
  postgres.Stop();
  cases.Refused("a read without a database", "", [&] { return cases.AskGet("unreached"); });
  cases.Refused("a change without a database", "", [&] { return cases.AskBegin(begin); });
  postgres.Start();
  EXPECT_TRUE(cases.AskBegin(begin).ok()) << "the same request, with the database";
  Keep(cases);
  place.Stop();
}

TEST(PgReasons, EachIsReachedFromOutside) {
  test::StoreDatabase database(test::WhoseStore::kCommon);
  DatabaseReasons reasons(database);
  // These refusals are the same over both stores.
  const std::string over_files =
      WithoutOldest(test::ReadProjectFile("tests/golden/reasons.golden"));
  for (const auto part :
       {&ReasonCases::Asked, &ReasonCases::Draining, &ReasonCases::Load, &ReasonCases::OldEvents}) {
    (reasons.*part)();
    const std::string text = WithoutOldest(reasons.TakeText());
    EXPECT_NE(text, "");
    EXPECT_THAT(over_files, HasSubstr(text));
  }
  reasons.Damage();
  reasons.FullDisk();
  reasons.Outage();
  test::ExpectGolden("reasons_postgres.golden", reasons.TakeText());
  reasons.ExpectAllSeen();
}

}  // namespace
}  // namespace holdfast::testing
