#include "store-postgres/servers.h"

#include "platform/status_macros.h"
#include "session/refusal.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <utility>
#include <variant>

namespace holdfast::pg {
namespace {

constexpr Statement kIsThere = {"serving_there",
                                "SELECT to_regclass('holdfast.serving') IS NOT NULL"};
constexpr Statement kServing = {
    "serving",
    "SELECT writer, schema, backend, started_at FROM holdfast.serving ORDER BY started_at, writer"};

absl::StatusOr<Rows> Ask(Connection& connection, const Statement& statement) {
  Answer answer = connection.Run(statement, Params());
  if (const auto* failure = std::get_if<Failure>(&answer)) {
    return StoreUnavailable(absl::StrCat("the servers of the database: ", failure->text),
                            Fate::kNoEffect);
  }
  return std::get<Rows>(std::move(answer));
}

}  // namespace

absl::StatusOr<std::vector<ServingServer>> ReadServing(Connection& connection) {
  std::vector<ServingServer> servers;
  ASSIGN_OR_RETURN(const Rows there, Ask(connection, kIsThere));
  if (!there.Bool(0, 0)) return servers;
  ASSIGN_OR_RETURN(const Rows rows, Ask(connection, kServing));
  for (size_t row = 0; row < rows.size(); ++row) {
    servers.push_back({.writer = rows.Int(row, 0),
                       .schema = rows.Int4(row, 1),
                       .backend = rows.Int4(row, 2),
                       .since = rows.Time(row, 3)});
  }
  return servers;
}

std::string Describe(const ServingServer& server) {
  return absl::StrFormat("server %016x serves since %s, knows schema %d, backend %d",
                         static_cast<uint64_t>(server.writer), absl::FormatTime(server.since),
                         server.schema, server.backend);
}

}  // namespace holdfast::pg
