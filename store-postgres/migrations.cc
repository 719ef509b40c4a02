#include "store-postgres/migrations.h"

#include "platform/status_macros.h"
#include "session/refusal.h"
#include "session/saboteur.h"
#include "store-postgres/embedded_schema.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <variant>

namespace holdfast::pg {
namespace {

Refusal SchemaRefused(std::string_view why) {
  return StoreUnavailable(absl::StrCat("the database's schema: ", std::string(why)),
                          Fate::kNoEffect);
}

Refusal SchemaRefused(const Failure& failure) { return SchemaRefused(failure.text); }

// "0001_tables" is step 1, "tables".
std::vector<Migration> ReadSteps() {
  constexpr size_t kDigits = 4;
  std::vector<Migration> steps;
  for (const SchemaFile& file : kSchemaFiles) {
    const std::string_view name = file.name;
    int32_t version = 0;
    const bool numbered = absl::SimpleAtoi(std::string(name.substr(0, kDigits)), &version) &&
                          version == static_cast<int32_t>(steps.size()) + 1;
    if (!numbered) std::abort();  // the files are part of the program
    steps.push_back({.version = version, .name = name.substr(kDigits + 1), .sql = file.sql});
  }
  if (Sabotaged(Saboteur::kOneStepBehind)) steps.pop_back();
  return steps;
}

absl::StatusOr<Rows> AskSchema(Connection& connection, const Statement& statement) {
  Answer answer = connection.Run(statement, Params());
  if (const auto* failure = std::get_if<Failure>(&answer)) return SchemaRefused(*failure);
  return std::get<Rows>(std::move(answer));
}

}  // namespace

constexpr Statement kMigrationsPrepared = {"migrations_prepared",
                                           "SELECT to_regclass('holdfast.migration') IS NOT NULL"};
constexpr Statement kMigrationsApplied = {
    "migrations_applied",
    "SELECT version, name, digest, oldest_server, (extract(epoch FROM at) * 1000000)::bigint "
    "FROM holdfast.migration ORDER BY version"};

std::span<const Migration> Migrations() {
  static const std::vector<Migration> kSteps = ReadSteps();
  return kSteps;
}

int32_t NeededSchema() { return static_cast<int32_t>(Migrations().size()); }

int32_t OldestServer(const Migration& step) {
  constexpr std::string_view kMark = "-- oldest server: ";
  int32_t oldest = step.version;
  if (step.sql.starts_with(kMark)) {
    const std::string_view line = step.sql.substr(0, step.sql.find('\n'));
    if (!absl::SimpleAtoi(std::string(line.substr(kMark.size())), &oldest)) oldest = step.version;
  }
  return oldest;
}

std::string Difference(std::span<const AppliedMigration> applied,
                       std::span<const Migration> known) {
  for (size_t i = 0; i < std::min(applied.size(), known.size()); ++i) {
    if (applied[i].version != known[i].version || applied[i].digest != Sha256(known[i].sql)) {
      return absl::StrCat("its step ", applied[i].version, " (", applied[i].name,
                          ") is not the one that this program knows by that number: use the "
                          "holdfastd that made this database, or restore it from a backup");
    }
  }
  return "";
}

absl::StatusOr<std::vector<AppliedMigration>> ReadApplied(Connection& connection) {
  std::vector<AppliedMigration> applied;
  ASSIGN_OR_RETURN(const Rows prepared, AskSchema(connection, kMigrationsPrepared));
  if (!prepared.Bool(0, 0)) return applied;
  ASSIGN_OR_RETURN(const Rows rows, AskSchema(connection, kMigrationsApplied));
  for (size_t row = 0; row < rows.size(); ++row) {
    applied.push_back({.version = rows.Int4(row, 0),
                       .name = std::string(rows.Text(row, 1)),
                       .digest = DigestFrom(rows.Bytes(row, 2)),
                       .oldest_server = rows.Int4(row, 3),
                       .at = absl::FromUnixMicros(rows.Int(row, 4))});
  }
  return applied;
}

absl::Status CheckSchema(std::span<const AppliedMigration> applied,
                         std::span<const Migration> known) {
  if (const std::string why = Difference(applied, known); !why.empty()) return SchemaRefused(why);
  const auto newest_known = static_cast<int32_t>(known.size());
  if (applied.size() < known.size()) {
    return SchemaRefused(absl::StrCat("it is at version ", applied.size(),
                                      ", and this server needs ", newest_known,
                                      ": run holdfastd migrate"));
  }
  for (const AppliedMigration& step : applied.subspan(known.size())) {
    if (step.oldest_server > newest_known) {
      return SchemaRefused(absl::StrCat("it is at version ", applied.size(),
                                        ", which servers of version ", newest_known,
                                        " may not serve: start a newer holdfastd"));
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast::pg
