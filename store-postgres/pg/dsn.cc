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

// The items of the list that `dsn` has under `keyword`.
std::vector<std::string> ItemsOf(const std::string& dsn, std::string_view keyword) {
  const std::unique_ptr<PQconninfoOption, FreeOptions> parsed(
      PQconninfoParse(dsn.c_str(), /*errmsg=*/nullptr));
  if (parsed == nullptr) return {};
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr && keyword == option->keyword) {
      return absl::StrSplit(option->val, ',');
    }
  }
  return {};
}

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
  return std::max({size_t{1}, ItemsOf(dsn, "host").size(), ItemsOf(dsn, "hostaddr").size()});
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): swapped, no host is ever found
std::optional<size_t> HostIn(const std::string& dsn, std::string_view host, std::string_view port) {
  const std::vector<std::string> hosts = ItemsOf(dsn, "host");
  const std::vector<std::string> ports = ItemsOf(dsn, "port");
  std::optional<size_t> found;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const bool same_port = ports.size() < hosts.size() || ports[i].empty() || ports[i] == port;
    if (hosts[i] != host || !same_port) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

std::string Rotated(const std::string& list, size_t count) {
  std::vector<std::string> items = absl::StrSplit(list, ',');
  std::rotate(items.begin(), items.begin() + static_cast<ptrdiff_t>(count % items.size()),
              items.end());
  return absl::StrJoin(items, ",");
}

}  // namespace holdfast::pg
