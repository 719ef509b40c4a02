#include "store-postgres/database.h"

#include "platform/status_macros.h"
#include "session/refusal.h"
#include "store-postgres/pg/failure.h"

#include "absl/strings/str_cat.h"

#include <utility>
#include <variant>

namespace holdfast::pg {

absl::StatusOr<Rows> Database::Ask(const Statement& statement, const Params& params) const {
  return AskFor(Purpose::kRead, absl::InfiniteDuration(), statement, params);
}

absl::StatusOr<Rows> Database::AskFlushed(const Statement& statement, const Params& params) const {
  return AskFor(Purpose::kWrite, absl::InfiniteDuration(), statement, params);
}

absl::StatusOr<Rows> Database::AskWithin(absl::Duration patience, const Statement& statement,
                                         const Params& params) const {
  return AskFor(Purpose::kRead, patience, statement, params);
}

absl::StatusOr<Rows> Database::AskFor(Purpose purpose, absl::Duration patience,
                                      const Statement& statement, const Params& params) const {
  constexpr int kTries = 2;
  Failure failure;
  const std::vector<RecordedSpan> spans = CurrentSpans();
  for (int attempt = 0; attempt < kTries; ++attempt) {
    ASSIGN_OR_RETURN(Pool::Lease connection, pool.Take(kConnectionWait, purpose));
    Answer answer = RunFor(spans, patience, *connection, statement, params);
    if (Rows* const rows = std::get_if<Rows>(&answer)) return std::move(*rows);
    failure = std::get<Failure>(std::move(answer));
    Report(statement, failure);
    if (connection->usable()) break;  // the server has answered
  }
  failure.effect = Effect::kNone;
  return RefusalFor(failure);
}

std::vector<RecordedSpan> Database::CurrentSpans() const {
  std::vector<RecordedSpan> spans;
  if (auto span = meter.CurrentSpan()) spans.push_back(*std::move(span));
  return spans;
}

Answer Database::RunFor(const std::vector<RecordedSpan>& spans, absl::Duration patience,
                        Connection& connection, const Statement& statement,
                        const Params& params) const {
  if (spans.empty()) return connection.RunWithin(patience, statement, params);
  const absl::Duration before = clock.SinceBoot();
  Answer answer = connection.RunWithin(patience, statement, params);
  StatementRun run{.name = statement.name, .took = clock.SinceBoot() - before, .error = {}};
  if (const auto* failure = std::get_if<Failure>(&answer)) {
    run.error = failure->sqlstate.empty() ? "connection" : failure->sqlstate;
  }
  meter.StatementEnded(run, spans);
  return answer;
}

void Database::Report(const Statement& statement, const Failure& failure) const {
  if (report) report(absl::StrCat(statement.name, ": ", failure.sqlstate, " ", failure.text));
}

absl::Time Database::Now() const { return absl::FromUnixMicros(absl::ToUnixMicros(clock.Wall())); }

}  // namespace holdfast::pg
