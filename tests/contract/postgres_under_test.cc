#include "tests/contract/postgres_under_test.h"

#include "tests/support/changes.h"
#include "tests/support/faulty_store.h"
#include "tests/support/postgres_store.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace holdfast::test {
namespace {

std::string Where(const SessionKey& key) {
  return absl::StrCat(" WHERE tenant = ", Quoted(key.tenant.value()),
                      " AND session_id = ", Quoted(key.session.value()));
}

class PostgresUnderTest final : public StoreUnderTest {
 public:
  explicit PostgresUnderTest(bool grouped) : grouped_(grouped) {
    database_.StopClock();
    clock().MovesAlong([this](absl::Duration passed) { database_.Advance(passed); });
  }

  std::unique_ptr<SessionStore> Make() override {
    database_.SetRetention(retention());
    database_.SetItemBounds(item_bounds());
    std::unique_ptr<SessionStore> store = database_.Make(clock(), random());
    if (!grouped_) return store;
    auto in_groups = std::make_unique<FaultyStore>(std::move(store));
    in_groups->CommitInGroups();
    return in_groups;
  }

  // The row of another database, copied as a hand would.
  StoreId PlantForeign(const SessionKey& key) override {
    StoreDatabase other(WhoseStore::kOfItsOwn);
    const std::unique_ptr<SessionStore> store = other.Make(clock(), random());
    EXPECT_TRUE(store->Init().ok() && store->Activate().ok());
    EXPECT_TRUE(store->Commit(Changes(key, random()).Create()).ok());
    const StoreId id = store->Describe().store;
    EXPECT_TRUE(store->Deactivate().ok());
    store->Dispose();
    const std::string columns = other.AskText(
        "SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid ="
        " 'holdfast.session'::regclass AND attnum > 0 AND attgenerated = ''");
    const std::string row = other.AskText(
        absl::StrCat("SELECT ROW(", columns, ")::text FROM holdfast.session", Where(key)));
    database_.Run(absl::StrCat("CREATE TYPE holdfast.test_row AS (", ColumnTypes(other), ");"));
    database_.Run(absl::StrCat("INSERT INTO holdfast.session (", columns, ") SELECT (r).* FROM (",
                               "SELECT ", Quoted(row), "::holdfast.test_row AS r) x;",
                               "DROP TYPE holdfast.test_row"));
    return id;
  }

  StoreId Restamp(const SessionKey& key) override {
    const StoreId other = *StoreId::Parse(UuidText(random().Bytes(16), 4));
    database_.Run(
        absl::StrCat("UPDATE holdfast.session SET store_id = ", Quoted(other.value()), Where(key)));
    return other;
  }

  void Damage(const SessionKey& key) override {
    database_.Run(
        absl::StrCat("UPDATE holdfast.session SET head = set_byte(head, length(head) / 2,",
                     " get_byte(head, length(head) / 2) # 1)", Where(key)));
  }

  void MakeUnwritable() override {
    database_.Run(absl::StrCat("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET",
                               " default_transaction_read_only = on', current_database());",
                               " END $$"));
  }
  void BreakWrites() override { database_.BreakWrites(); }
  void MendWrites() override { database_.MendWrites(); }

 private:
  static std::string ColumnTypes(StoreDatabase& database) {
    return database.AskText(
        "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY"
        " attnum) FROM pg_attribute WHERE attrelid = 'holdfast.session'::regclass AND attnum > 0"
        " AND attgenerated = ''");
  }

  const bool grouped_;
  StoreDatabase database_{WhoseStore::kCommon};
};

}  // namespace

std::unique_ptr<StoreUnderTest> MakePostgresUnderTest() {
  return std::make_unique<PostgresUnderTest>(false);
}

std::unique_ptr<StoreUnderTest> MakeGroupedPostgresUnderTest() {
  return std::make_unique<PostgresUnderTest>(true);
}

}  // namespace holdfast::test
