#include "store-postgres/committer.h"

#include "platform/exceptions.h"
#include "session/limits.h"
#include "store-postgres/item_answers.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace holdfast::pg {
namespace {

constexpr char kChangeMany[] = "change_many";
constexpr char kChangeOne[] = "change";
constexpr char kChangeAlone[] = "change_alone";
constexpr char kChangeItems[] = "change_items";

// The four kinds of calls of holdfast.change. The statement is made of the names that the first
// call of its kind gives its parameters, as every later one does.
template <const char* kName>
const Statement& StatementOf(const Params& params) {
  static const std::string kSql =
      "SELECT version, store_id, deleted, head, head_sum, lease_left, request, token, applied,"
      " uploaded, timeline, skipped" +
      std::string(kName == kChangeItems ? kItemColumns : "") + " FROM holdfast.change(" +
      params.NamedArguments() + ")";
  static const Statement kStatement = {kName, kSql.c_str()};
  return kStatement;
}

WriteResult From(Answer answer, const Statement& statement, const Database& database) {
  WriteResult result;
  if (Failure* const failure = std::get_if<Failure>(&answer)) {
    database.Report(statement, *failure);
    result.failure = std::move(*failure);
  } else {
    result.rows = std::make_shared<const Rows>(std::get<Rows>(std::move(answer)));
  }
  return result;
}

// A reply from a server's newer history makes connections of the older one worthless.
void NoteTimeline(const Rows& rows, Connection& connection, Pool& pool) {
  const auto seen = static_cast<uint32_t>(rows.Int(0, kOutcomeTimeline));
  if (seen == connection.timeline()) return;
  connection.set_timeline(seen);
  pool.SawTimeline(seen);
}

// A connection that turns out to have ended before it could carry the statement out is replaced.
WriteResult TrySend(const Statement& statement, const Params& params,
                    const std::vector<RecordedSpan>& spans, const Database& database) {
  constexpr int kTries = 3;
  WriteResult result;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    result = WriteResult();
    absl::StatusOr<Pool::Lease> connection = database.pool.Take(kConnectionWait, Purpose::kWrite);
    if (!connection.ok()) {
      result.unreached = connection.status();
      return result;
    }
    result = From(database.RunFor(spans, absl::InfiniteDuration(), **connection, statement, params),
                  statement, database);
    if (result.rows) {
      NoteTimeline(*result.rows, **connection, database.pool);
      return result;
    }
    if (result.failure->effect != Effect::kNone || (*connection)->usable()) return result;
  }
  return result;
}

// A creation, a deletion and the taking over of an upload are written alone: they may wait for
// other transactions. So are items, which the database decides on.
bool MustBeAlone(const DecidedChange& change) {
  const Applied& applied = *change.applied;
  return change.change->create || applied.tombstone || applied.upload.has_value() ||
         !applied.items.empty();
}

// A call that writes one change, whatever it does, and waits where its row is locked.
struct Call {
  const Statement& statement;
  Params params;
};
Call CallFor(const DecidedChange& change, const WriterFacts& facts) {
  if (!change.applied->items.empty()) {
    Params params = ParamsOfItems(change, facts);
    return {.statement = StatementOf<kChangeItems>(params), .params = std::move(params)};
  }
  if (MustBeAlone(change)) {
    Params params = ParamsOfAlone(change, facts);
    return {.statement = StatementOf<kChangeAlone>(params), .params = std::move(params)};
  }
  Params params = ParamsOfOne(change, facts, /*waits=*/true);
  return {.statement = StatementOf<kChangeOne>(params), .params = std::move(params)};
}

Failure FailureFor(const std::string& exception) {
  return {.effect = Effect::kUnknown, .sqlstate = "", .text = "an exception: " + exception};
}

// After an exception the answer is taken for lost: the statement may have been carried out.
WriteResult Send(const Statement& statement, const Params& params,
                 const std::vector<RecordedSpan>& spans, const Database& database) {
  WriteResult result;
  const auto what = CatchException([&] { result = TrySend(statement, params, spans, database); });
  return what ? From(FailureFor(*what), statement, database) : std::move(result);
}

}  // namespace

WriteResult Committer::Write(const DecidedChange& change) {
  const Call call = CallFor(change, Facts());
  WriteResult result = Send(call.statement, call.params, database_.CurrentSpans(), database_);
  const GroupedWrite write{.change = &change, .bytes = BytesOf(change), .span = {}};
  Count(result, std::span(&write, 1));
  Note(change.change->key, result);
  return result;
}

bool Committer::MayJoin(const DecidedChange& change) {
  return group_ > 1 && !MustBeAlone(change) && !poisoned_.Find(change.change->key);
}

WriterFacts Committer::Facts() const {
  return {.writer = database_.writer,
          .now = database_.store_clock.Now(),
          .item_bounds = database_.item_bounds};
}

// Reports to the meter what was written.
void Committer::Count(const WriteResult& result, std::span<const GroupedWrite> writes) const {
  if (!result.rows) return;
  WrittenGroup group;
  for (size_t row = 0; row < writes.size(); ++row) {
    if (result.rows->Bool(row, kOutcomeSkipped)) continue;
    ++group.changes;
    group.bytes += writes[row].bytes;
  }
  if (group.changes > 0) database_.meter.GroupWritten(group);
}

void Committer::Note(const SessionKey& key, const WriteResult& result) {
  const bool poisons = result.failure && result.failure->effect == Effect::kNone;
  if (poisons) {
    poisoned_.Put(key, PoisonedSession(), [](const PoisonedSession&) { return true; });
  } else {
    poisoned_.Forget(key);
  }
}

std::vector<std::optional<WriteResult>> Committer::WriteMany(
    const std::vector<GroupedWrite>& writes) const {
  std::vector<std::optional<WriteResult>> results(writes.size());
  for (size_t first = 0; first < writes.size(); first += group_) {
    const size_t size = std::min(group_, writes.size() - first);
    const auto part = std::span(results).subspan(first, size);
    if (const auto what =
            CatchException([&] { WriteInto(std::span(writes).subspan(first, size), part); })) {
      const WriteResult in_doubt = From(FailureFor(*what), {kChangeMany, ""}, database_);
      std::ranges::fill(part, in_doubt);
    }
  }
  return results;
}

void Committer::WriteInto(std::span<const GroupedWrite> writes,
                          std::span<std::optional<WriteResult>> results) const {
  std::vector<RecordedSpan> spans;
  for (const GroupedWrite& write : writes) {
    if (write.span) spans.push_back(*write.span);
  }
  std::vector<const DecidedChange*> changes;
  changes.reserve(writes.size());
  for (const GroupedWrite& write : writes) changes.push_back(write.change);
  const bool one = writes.size() == 1;
  const Params params = one ? ParamsOfOne(*changes.front(), Facts(), /*waits=*/false)
                            : ParamsOfMany(changes, Facts());
  WriteResult all = Send(one ? StatementOf<kChangeOne>(params) : StatementOf<kChangeMany>(params),
                         params, spans, database_);
  Count(all, writes);
  // The statement was certainly rolled back because of one member: each is tried by itself. When it
  // was rolled back in favour of another transaction, each answers that, and is tried after a
  // while.
  if (all.failure && all.failure->effect == Effect::kNone && !LostToAnother(*all.failure)) return;
  for (; all.row < writes.size(); ++all.row) {
    const bool skipped = all.rows && all.rows->Bool(all.row, kOutcomeSkipped);
    if (!skipped) results[all.row] = all;
  }
}

}  // namespace holdfast::pg
