#include "store-postgres/committer.h"

#include "session/exceptions.h"
#include "session/limits.h"
#include "session/saboteur.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace holdfast::pg {
namespace {

constexpr char kChangeMany[] = "change_many";
constexpr char kChangeOne[] = "change";
constexpr char kChangeAlone[] = "change_alone";

// The three kinds of calls of holdfast.change. The statement is made of the names that the first
// call of its kind gives its parameters, as every later one does.
template <const char* kName>
const Statement& StatementOf(const Params& params) {
  static const std::string kSql =
      "SELECT version, store_id, deleted, head, head_sum, lease_left, request, token, applied,"
      " uploaded, timeline, skipped FROM holdfast.change(" +
      params.NamedArguments() + ")";
  static const Statement kStatement = {kName, kSql.c_str()};
  return kStatement;
}

Written From(Answer answer, const Statement& statement, const Database& database) {
  Written written;
  if (Failure* const failure = std::get_if<Failure>(&answer)) {
    database.Report(statement, *failure);
    written.failure = std::move(*failure);
  } else {
    written.rows = std::make_shared<const Rows>(std::get<Rows>(std::move(answer)));
  }
  return written;
}

// A reply from a server's newer history makes connections of the older one worthless.
void NoteTimeline(const Rows& rows, Connection& connection, Pool& pool) {
  const auto seen = static_cast<uint32_t>(rows.Int(0, kOutcomeTimeline));
  if (seen == connection.timeline()) return;
  connection.set_timeline(seen);
  pool.SawTimeline(seen);
}

// A connection that turns out to have ended before it could carry the statement out is replaced.
Written TrySend(const Statement& statement, const Params& params,
                const std::vector<RecordedSpan>& spans, const Database& database) {
  constexpr int kTries = 3;
  Written written;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    written = Written();
    absl::StatusOr<Pool::Lease> connection = database.pool.Take(kConnectionWait, Purpose::kWrite);
    if (!connection.ok()) {
      written.unreached = connection.status();
      return written;
    }
    written =
        From(database.RunFor(spans, absl::InfiniteDuration(), **connection, statement, params),
             statement, database);
    if (written.rows) {
      NoteTimeline(*written.rows, **connection, database.pool);
      return written;
    }
    if (written.failure->effect != Effect::kNone || (*connection)->usable()) return written;
  }
  return written;
}

// A creation, a deletion and the taking over of an upload are written alone: they may wait for
// others.
bool MustBeAlone(const DecidedChange& change) {
  return change.version == 0 || change.applied->tombstone || change.applied->upload.has_value();
}

Failure FailureFor(const std::string& exception) {
  return {.effect = Effect::kUnknown, .sqlstate = "", .text = "an exception: " + exception};
}

// After an exception the answer is taken for lost: the statement may have been carried out.
Written Send(const Statement& statement, const Params& params,
             const std::vector<RecordedSpan>& spans, const Database& database) {
  Written written;
  const auto what = CatchException([&] { written = TrySend(statement, params, spans, database); });
  return what ? From(FailureFor(*what), statement, database) : std::move(written);
}

}  // namespace

Written Committer::Write(const DecidedChange& change) {
  const WriterFacts facts = Facts();
  const bool alone = MustBeAlone(change);
  const Params params =
      alone ? ParamsOfAlone(change, facts) : ParamsOfOne(change, facts, /*waits=*/true);
  Written written =
      Send(alone ? StatementOf<kChangeAlone>(params) : StatementOf<kChangeOne>(params), params,
           database_.CurrentSpans(), database_);
  const GroupedWrite write{.change = &change, .bytes = BytesOf(change), .span = {}};
  Count(written, std::span(&write, 1));
  Note(change.change->key, written);
  return written;
}

bool Committer::MayJoin(const DecidedChange& change) {
  return group_ > 1 && !MustBeAlone(change) && !spoilers_.Find(change.change->key);
}

WriterFacts Committer::Facts() const {
  return {.writer = database_.writer, .now = database_.store_clock.Now()};
}

// Tells the meter of what was written.
void Committer::Count(const Written& written, std::span<const GroupedWrite> writes) const {
  if (!written.rows) return;
  WrittenGroup group;
  for (size_t row = 0; row < writes.size(); ++row) {
    if (written.rows->Bool(row, kOutcomeSkipped)) continue;
    ++group.changes;
    group.bytes += writes[row].bytes;
  }
  if (group.changes > 0) database_.meter.GroupWritten(group);
}

void Committer::Note(const SessionKey& key, const Written& written) {
  const bool spoils = written.failure && written.failure->effect == Effect::kNone;
  if (spoils) {
    spoilers_.Put(key, Spoiler(), [](const Spoiler&) { return true; });
  } else {
    spoilers_.Forget(key);
  }
}

std::vector<std::optional<Written>> Committer::WriteMany(
    const std::vector<GroupedWrite>& writes) const {
  std::vector<std::optional<Written>> written(writes.size());
  for (size_t first = 0; first < writes.size(); first += group_) {
    const size_t size = std::min(group_, writes.size() - first);
    const auto part = std::span(written).subspan(first, size);
    if (const auto what =
            CatchException([&] { WriteInto(std::span(writes).subspan(first, size), part); })) {
      const Written in_doubt = From(FailureFor(*what), {kChangeMany, ""}, database_);
      std::ranges::fill(part, in_doubt);
    }
  }
  return written;
}

void Committer::WriteInto(std::span<const GroupedWrite> writes,
                          std::span<std::optional<Written>> written) const {
  std::vector<RecordedSpan> spans;
  for (const GroupedWrite& write : writes) {
    if (write.span) spans.push_back(*write.span);
  }
  std::vector<const DecidedChange*> changes;
  changes.reserve(writes.size());
  for (const GroupedWrite& write : writes) changes.push_back(write.change);
  const bool one = writes.size() == 1;
  const Params params =
      one ? ParamsOfOne(*changes.front(), Facts(), Sabotaged(Saboteur::kWaitForLockedRow))
          : ParamsOfMany(changes, Facts());
  Written all = Send(one ? StatementOf<kChangeOne>(params) : StatementOf<kChangeMany>(params),
                     params, spans, database_);
  Count(all, writes);
  // Certainly rolled back for the sake of one of them: each is tried by itself. Rolled back for the
  // sake of another transaction, each says so, and is tried after a while.
  if (all.failure && all.failure->effect == Effect::kNone && !LostToAnother(*all.failure)) return;
  for (; all.row < writes.size(); ++all.row) {
    const bool skipped = all.rows && all.rows->Bool(all.row, kOutcomeSkipped);
    if (!skipped) written[all.row] = all;
  }
}

}  // namespace holdfast::pg
