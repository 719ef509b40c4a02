#include "store-postgres/pg/dsn.h"

#include "store-postgres/pg/libpq.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <libpq-fe.h>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::pg {
namespace {

// The value under `keyword`, empty when there is none.
std::string ValueIn(const PQconninfoOption* options, std::string_view keyword) {
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (option->val != nullptr && keyword == option->keyword) return option->val;
  }
  return "";
}

bool IsOnThisMachine(std::string_view host) {
  if (host.empty() || host.front() == '/' || host.front() == '@') return true;  // a socket
  if (host == "localhost" || host == "::1") return true;
  // Digits and dots only: 127.example.org is a name, and may be anywhere.
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

// Of each host the address counts where there is one.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): swapped, names would count as addresses
bool AreOnThisMachine(const std::string& addresses, const std::string& hosts) {
  const std::vector<std::string> address = absl::StrSplit(addresses, ',');
  const std::vector<std::string> host = absl::StrSplit(hosts, ',');
  for (size_t i = 0; i < std::max(address.size(), host.size()); ++i) {
    const bool named = i >= address.size() || address[i].empty();
    const std::string& where = named ? host[std::min(i, host.size() - 1)] : address[i];
    if (!IsOnThisMachine(where)) return false;
  }
  return true;
}

// The items of the list that `dsn` has under `keyword`.
std::vector<std::string> ItemsOf(const std::string& dsn, std::string_view keyword) {
  const ConninfoOptions parsed(PQconninfoParse(dsn.c_str(), /*errmsg=*/nullptr));
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
  // Without room for an error text libpq writes none, which would repeat parts of the dsn.
  const ConninfoOptions parsed(PQconninfoParse(dsn.c_str(), /*errmsg=*/nullptr));
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

std::string TransportProblem(const std::string& dsn) {
  const ConninfoOptions said(PQconninfoParse(dsn.c_str(), /*errmsg=*/nullptr));
  const ConninfoOptions defaults(PQconndefaults());
  if (said == nullptr || defaults == nullptr) return "";  // refused as a dsn
  // What a service file says is known to libpq alone.
  const bool service = !ValueIn(said.get(), "service").empty();
  const auto value = [&](std::string_view keyword) {
    std::string own = ValueIn(said.get(), keyword);
    return own.empty() && !service ? ValueIn(defaults.get(), keyword) : own;
  };
  if (value("sslmode") == "verify-full") return "";
  const std::string addresses = value("hostaddr");
  const std::string hosts = value("host");
  const bool known = !service || !addresses.empty() || !hosts.empty();
  if (known && AreOnThisMachine(addresses, hosts)) return "";
  return "leads to another machine whose identity is not verified: say sslmode=verify-full, with "
         "sslrootcert where the system does not know the issuer";
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
