// Which servers serve the store (schema/0005_servers.sql).
#ifndef HOLDFAST_STORE_POSTGRES_SERVERS_H_
#define HOLDFAST_STORE_POSTGRES_SERVERS_H_

#include "absl/time/time.h"

#include <cstdint>
#include <string>

namespace holdfast::pg {

// The step of the schema that introduced the list of servers.
inline constexpr int32_t kServersStep = 5;

// A server that runs; those that know no kServersStep are not listed.
struct ServingServer {
  int64_t writer = 0;   // its number, as in holdfast.feed
  int32_t schema = 0;   // the newest step that it knows
  int32_t backend = 0;  // the process of PostgreSQL that its lasting connection leads to
  absl::Time since;
};

// For people.
std::string Describe(const ServingServer& server);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_SERVERS_H_
