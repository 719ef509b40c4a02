// Tests of a server over each kind of store.
//
//   class Attack : public ::testing::TestWithParam<StoreKind> {
//     StoreUnderServer store_{GetParam()};
//     ServerProcess server_{folder_, store_.Settings({.more = "limits: {watchers: 10}\n"})};
//   };
//   INSTANTIATE_TEST_SUITE_P(Stores, Attack, EachStore(), NameOfStore);
#ifndef HOLDFAST_TESTS_SUPPORT_EACH_STORE_H_
#define HOLDFAST_TESTS_SUPPORT_EACH_STORE_H_

#include "tests/support/postgres.h"
#include "tests/support/server_process.h"

#include "gtest/gtest.h"

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::testing {

enum class StoreKind : uint8_t { kFiles, kPostgres };

inline auto EachStore() { return ::testing::Values(StoreKind::kFiles, StoreKind::kPostgres); }

inline std::string NameOfStore(const ::testing::TestParamInfo<StoreKind>& made) {
  return made.param == StoreKind::kFiles ? "Files" : "Postgres";
}

// What a server of this kind of store needs. Must outlive the server. For one thread.
class StoreUnderServer final {
 public:
  explicit StoreUnderServer(StoreKind kind) {
    if (kind == StoreKind::kPostgres) database_.emplace(Contents::kStore);
  }

  // `settings` with this store. Several servers over files have one each, those over PostgreSQL
  // share the database.
  [[nodiscard]] ServerSettings Settings(ServerSettings settings = {}) const {
    if (database_.has_value()) settings.dsn = database_->dsn();
    return settings;
  }

 private:
  std::optional<TestDatabase> database_;  // none for files: those are in the server's folder
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_EACH_STORE_H_
