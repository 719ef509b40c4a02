// What a listing reads of the database at once.
#include "tests/postgres/store_fixture.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

class PgListing : public PostgresStoreTest {
 protected:
  // Sessions whose heads have `bytes` bytes, which is all that counts here.
  void Fill(int sessions, int bytes) {
    for (int i = 0; i < sessions; ++i) {
      Apply(Changes(Key(absl::StrCat("large-", i)), random()).Create());
    }
    database().Run(absl::StrCat("UPDATE holdfast.session SET head = convert_to(repeat('x', ", bytes,
                                "), 'UTF8')"));
  }
  ListPage Page(ListQuery query) {
    absl::StatusOr<ListPage> page = store().List(query);
    EXPECT_EQ(ReasonOf(page.status()), "OK");
    return page.ok() ? *std::move(page) : ListPage{.rows = {}, .end = true};
  }
};

constexpr int kMiB = 1024 * 1024;

TEST_F(PgListing, APageEndsBeforeItsHeadsAreTooManyBytes) {
  Fill(21, kMiB);
  for (const bool descending : {false, true}) {
    ListQuery query{.tenant = key().tenant, .descending = descending, .limit = 1000};
    std::vector<size_t> pages;
    std::set<std::string> ids;
    for (bool end = false; !end;) {
      const ListPage page = Page(query);
      ASSERT_FALSE(page.rows.empty());
      pages.push_back(page.rows.size());
      for (const SessionRow& row : page.rows) ids.insert(row.id.value());
      const SessionRow& last = page.rows.back();
      query.after = ListKey{.created_at = last.created_at, .id = last.id.value()};
      end = page.end;
    }
    EXPECT_THAT(pages, ElementsAre(8, 8, 5));
    EXPECT_EQ(ids.size(), 21U);
  }
}

// Twenty-five thousand idle sessions, and a few that are active among the newest.
class PgFilteredListing : public PgListing {
 protected:
  static constexpr int kIdle = 25'000;
  static constexpr int kActive = 3;

  void SetUp() override {
    Create();
    CopySession(key().session.value(), kIdle - 1);
    for (int i = 0; i < kActive; ++i) {
      clock().Advance(absl::Seconds(1));
      Changes active(Key(absl::StrCat("zz-active-", i)), random());
      const LeaseToken token = *LeaseToken::Parse(Apply(active.Create()).token);
      Apply(active.Begin(token));
    }
    statements().Take();
  }

  // The ids of the whole listing, `limit` at a time.
  std::vector<std::string> Ids(ListQuery query) {
    query.tenant = key().tenant;
    std::vector<std::string> ids;
    for (bool end = false; !end;) {
      const ListPage page = Page(query);
      for (const SessionRow& row : page.rows) ids.push_back(row.id.value());
      end = page.end;
      if (end) break;
      if (page.rows.empty()) return {"an empty page that is not the last"};
      query.after = ListKey{.created_at = page.rows.back().created_at, .id = ids.back()};
    }
    return ids;
  }
};

TEST_F(PgFilteredListing, LooksForActiveSessionsAmongThoseThatASweepLooksAt) {
  ListQuery query{.lifecycles = {Lifecycle::kActive}, .limit = 2};
  EXPECT_THAT(Ids(query), ElementsAre("zz-active-0", "zz-active-1", "zz-active-2"));
  EXPECT_THAT(statements().Take(), ElementsAre("list_active_up", "list_active_up"));
  query.descending = true;
  EXPECT_THAT(Ids(query), ElementsAre("zz-active-2", "zz-active-1", "zz-active-0"));
  EXPECT_THAT(statements().Take(), ElementsAre("list_active_down", "list_active_down"));
  EXPECT_LT(CloseAndCountReads(), 1000) << "others were looked at too";
}

TEST_F(PgFilteredListing, NoStatementLooksAtMoreThanSoManySessions) {
  ListQuery query{.lifecycles = {Lifecycle::kActive, Lifecycle::kClosed}, .limit = 10};
  EXPECT_THAT(Ids(query), ElementsAre("zz-active-0", "zz-active-1", "zz-active-2"));
  EXPECT_THAT(statements().Take(), ElementsAre("list_up", "list_up", "list_up"));
  query.lifecycles = {Lifecycle::kClosed};
  EXPECT_THAT(Ids(query), ElementsAre());
  EXPECT_THAT(statements().Take(), ElementsAre("list_up", "list_up", "list_up"));
  query.descending = true;
  query.lifecycles = {Lifecycle::kIdle};
  query.limit = 9'999;  // a statement ends with the last row it may look at
  EXPECT_EQ(Ids(query).size(), size_t{kIdle});
}

}  // namespace
}  // namespace holdfast::test
