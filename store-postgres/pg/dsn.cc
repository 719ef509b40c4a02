#include "store-postgres/pg/dsn.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <libpq-fe.h>
#include <memory>
#include <string_view>
#include <vector>

namespace holdfast::pg {
namespace {

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

}  // namespace

std::string DsnProblem(const std::string& dsn) {
  // Without a place for it libpq keeps its reason to itself, which would repeat parts of the dsn.
  const std::unique_ptr<PQconninfoOption, FreeOptions> parsed(
      PQconninfoParse(dsn.c_str(), /*errmsg=*/nullptr));
  if (dsn.empty() || parsed == nullptr) {
    return "must be a connection string of libpq, for example host=/run/postgresql "
           "dbname=holdfast, or postgresql://db/holdfast";
  }
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    if ((keyword == "password" || keyword == "sslpassword") && option->val != nullptr) {
      return "must not hold a password: name it by reference, password: env:NAME or file:PATH";
    }
  }
  return "";
}

size_t HostsIn(const std::string& dsn) {
  const std::unique_ptr<PQconninfoOption, FreeOptions> parsed(
      PQconninfoParse(dsn.c_str(), /*errmsg=*/nullptr));
  size_t hosts = 1;
  if (parsed == nullptr) return hosts;
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    if (option->val == nullptr || (keyword != "host" && keyword != "hostaddr")) continue;
    const std::string_view list = option->val;
    hosts = std::max(hosts, static_cast<size_t>(std::ranges::count(list, ',')) + 1);
  }
  return hosts;
}

std::string Rotated(const std::string& list, size_t count) {
  std::vector<std::string> items = absl::StrSplit(list, ',');
  std::rotate(items.begin(), items.begin() + static_cast<ptrdiff_t>(count % items.size()),
              items.end());
  return absl::StrJoin(items, ",");
}

}  // namespace holdfast::pg
