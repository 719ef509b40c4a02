#include "store-postgres/pg/dsn.h"

#include <libpq-fe.h>
#include <memory>
#include <string_view>

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

}  // namespace holdfast::pg
