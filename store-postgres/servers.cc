#include "store-postgres/servers.h"

#include "absl/strings/str_format.h"

namespace holdfast::pg {

std::string Describe(const ServingServer& server) {
  return absl::StrFormat("server %016x serves since %s, knows schema %d, backend %d",
                         static_cast<uint64_t>(server.writer), absl::FormatTime(server.since),
                         server.schema, server.backend);
}

}  // namespace holdfast::pg
