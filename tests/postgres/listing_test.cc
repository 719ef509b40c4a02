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
    EXPECT_THAT(pages, ::testing::ElementsAre(8, 8, 5));
    EXPECT_EQ(ids.size(), 21U);
  }
}

}  // namespace
}  // namespace holdfast::test
