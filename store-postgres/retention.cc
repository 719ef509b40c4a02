#include "store-postgres/retention.h"

#include "platform/status_macros.h"
#include "session/history_spans.h"
#include "session/limits.h"
#include "store-postgres/change_rows.h"
#include "store-postgres/feed.h"
#include "store-postgres/pin_reads.h"
#include "store-postgres/stored_head.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::pg {
namespace {

// A session is pruned at every so many revisions, and when it is closed.
constexpr uint64_t kPruneEvery = 32;
// Sessions that wait to be pruned; of more, some are pruned by a sweep.
constexpr size_t kDueMost = 4096;
// Parts of earlier histories that these sessions name altogether.
constexpr size_t kSpansDueMost = 65536;
// Rows of a kind in one statement, and statements in a row.
constexpr int64_t kRowsMost = 1000;
constexpr int kStatementsMost = 64;
// Watchers of every server have looked at the events of a deleted session by then.
constexpr absl::Duration kPurgeAfter = absl::Minutes(1);
// A session that nothing happened to for so long has nothing for a sweep once it is pruned.
constexpr absl::Duration kSettledAfter = absl::Minutes(10);
// Sessions that one statement looks at, statements of a sweep, and sessions that may fail in one.
constexpr int64_t kSessionsPerLook = 64;
constexpr int kLooksMost = 32;
constexpr size_t kFailuresMost = 8;

constexpr Statement kPrune = {
    "prune", "SELECT holdfast.prune($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"};
constexpr Statement kPurgeOne = {"purge_one", "SELECT holdfast.purge_one($1, $2, $3)"};
constexpr Statement kForget = {"forget_feed", "SELECT holdfast.forget_feed($1, $2)"};
// Sessions in the sweeps' sight behind a place. Lifecycle 1 is ACTIVE.
constexpr Statement kInSight = {
    "in_sight",
    "SELECT s.tenant, s.session_id, s.listed_at, s.version, s.deleted, s.due,"
    " CASE WHEN s.due AND NOT s.deleted AND s.store_id = holdfast.store_id() THEN s.head END,"
    " s.head_sum"
    " FROM (SELECT x.tenant, x.session_id, x.listed_at, x.version, x.deleted, x.store_id, x.head,"
    "  x.head_sum, CASE WHEN x.deleted THEN x.active_at <= holdfast.clock() - $1::interval"
    "   ELSE x.lifecycle <> 1 AND x.cancel_requested_at IS NULL"
    "    AND x.active_at <= holdfast.clock() - $2::interval END AS due"
    "  FROM holdfast.session x"
    "  WHERE x.sweep AND (x.tenant, x.listed_at, x.session_id) > ($3, $4, $5)"
    "  ORDER BY x.tenant, x.listed_at, x.session_id LIMIT $6) s"
    " ORDER BY s.tenant, s.listed_at, s.session_id"};
enum SightColumn : size_t {
  kSightTenant,
  kSightSession,
  kSightListedAt,
  kSightVersion,
  kSightDeleted,
  kSightDue,
  kSightHead,
  kSightSum
};
// Takes sessions out of sight that are still as they were looked at. A row that is locked is left
// for later.
constexpr Statement kSettle = {
    "settle",
    "UPDATE holdfast.session SET sweep = false WHERE ctid = ANY (ARRAY("
    " SELECT l.place FROM unnest($1::text[], $2::text[], $3::bigint[])"
    "  AS u (tenant, session_id, version)"
    " CROSS JOIN LATERAL (SELECT x.ctid AS place, x.version FROM holdfast.session x"
    "  WHERE x.tenant = u.tenant AND x.session_id = u.session_id"
    "  FOR NO KEY UPDATE SKIP LOCKED) l"
    " WHERE l.version = u.version))"};
static_assert(static_cast<int>(Lifecycle::kActive) == 1);

// Asks until nothing is left to be done, or it was asked often enough for now. True when nothing
// is: the statement answered less than `enough`.
absl::StatusOr<bool> AskUntilDone(const Database& database, const Statement& statement,
                                  const Params& params, int64_t enough) {
  for (int asked = 0; asked < kStatementsMost; ++asked) {
    ASSIGN_OR_RETURN(const Rows rows, database.AskFlushed(statement, params));
    if (rows.Int(0, 0) < enough) return true;
  }
  return false;
}

bool IsBefore(const std::optional<HistorySpan>& one, const std::optional<HistorySpan>& other) {
  if (!one || !other) return one.has_value();
  return std::pair(one->generation, one->last) < std::pair(other->generation, other->last);
}

// Whether `change`, which left `head`, may have deleted a checkpoint.
bool Unpins(const Change& change, const Head& head) {
  if (change.checkpoints && !change.checkpoints->deletes.empty()) return true;
  if (!change.pins_previous) return false;
  const auto there =
      std::ranges::count(head.checkpoints.own, *change.pins_previous, &OwnCheckpoint::kind);
  return static_cast<uint64_t>(there) == kOwnCheckpointsKept;
}

}  // namespace

bool NeedsPrune(const Change& change, const Head& head) {
  if (change.tombstone || !change.moves_revision) return false;
  return head.revision.value() % kPruneEvery == 0 || head.lifecycle == Lifecycle::kClosed;
}

PruneBounds PruneBoundsOf(const Head& head) {
  PruneBounds bounds{.uid = head.uid,
                     .has_pins = !head.checkpoints.empty(),
                     .journal = JournalFloor(head),
                     .oldest = OldestKept(head).revision,
                     .generation = head.generation,
                     .named = {},
                     .dead = HistorySpan{.generation = Generation(1), .last = MessageSeq()}};
  for (const auto& [generation, last] : NamedMessages(head)) {
    if (generation == head.generation) continue;
    bounds.named.push_back({.generation = generation, .last = last});
  }
  return bounds;
}

PruneBounds PruneBoundsOf(const Head& before, const Head& after) {
  PruneBounds bounds = PruneBoundsOf(after);
  bounds.dead.reset();
  if (before.generation == Generation(1)) return bounds;
  const std::map<Generation, MessageSeq> named = NamedMessages(after);
  for (const auto& [generation, last] : NamedMessages(before)) {
    const auto found = named.find(generation);
    const MessageSeq left = found == named.end() ? MessageSeq() : found->second;
    if (left >= last || generation == after.generation) continue;
    bounds.dead = HistorySpan{.generation = generation, .last = left};
    break;
  }
  return bounds;
}

void Retention::Start() {
  thread_ = std::jthread([this] { Run(); });
}

void Retention::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_ = std::jthread();
}

void Retention::Note(const Change& change, const Head* before, const Head& head) {
  const bool needs_prune = NeedsPrune(change, head);
  const bool has_earlier = before != nullptr && before->generation > Generation(1);
  const bool unpins = Unpins(change, head);
  if (change.tombstone || (!needs_prune && !has_earlier && !unpins)) return;
  const bool compares = before != nullptr && !unpins;
  PruneBounds bounds = compares ? PruneBoundsOf(*before, head) : PruneBoundsOf(head);
  if (!needs_prune && !bounds.dead) return;
  const absl::MutexLock lock(&mutex_);
  const auto waiting = due_.find(change.key);
  if (waiting == due_.end()) {
    if (due_.size() >= kDueMost || spans_due_ + bounds.named.size() > kSpansDueMost) return;
  } else {
    spans_due_ -= waiting->second.named.size();
    const bool same = waiting->second.uid == bounds.uid;
    if (same && waiting->second.dead && !IsBefore(bounds.dead, waiting->second.dead)) {
      bounds.dead = waiting->second.dead;
    }
  }
  spans_due_ += bounds.named.size();
  due_.insert_or_assign(change.key, std::move(bounds));
}

std::optional<Retention::Due> Retention::Take() {
  const absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &Retention::HasWork));
  if (stopping_) return std::nullopt;
  const auto first = due_.begin();
  Due due = *first;
  due_.erase(first);
  spans_due_ -= due.second.named.size();
  return due;
}

// What fails is still in the sweeps' sight.
void Retention::Run() {
  while (const auto due = Take()) {
    guard_.Run([&] { Prune(due->first, due->second).status().IgnoreError(); });
  }
}

absl::StatusOr<bool> Retention::Prune(const SessionKey& key, const PruneBounds& bounds) const {
  std::map<Generation, MessageSeq> named;
  for (const HistorySpan& span : bounds.named) named[span.generation] = span.last;
  // Read behind the bounds: what is pinned later was kept by them.
  std::vector<int64_t> pins;
  if (bounds.has_pins) {
    ASSIGN_OR_RETURN(const std::vector<PinnedSnapshot> pinned, ReadPins(database_, key));
    for (const PinnedSnapshot& pin : pinned) {
      NamePinned(pin, named);
      pins.push_back(Signed(pin.record.at.revision));
    }
    std::ranges::sort(pins);
  }
  named.erase(named.lower_bound(bounds.generation), named.end());
  Params params;
  params.Text(key.tenant.value()).Text(key.session.value()).Text(bounds.uid.value());
  params.Int(Signed(bounds.journal)).Int(Signed(bounds.oldest));
  params.Int(Signed(bounds.generation));
  std::vector<int64_t> generations;
  std::vector<int64_t> lasts;
  for (const auto& [generation, last] : named) {
    generations.push_back(Signed(generation));
    lasts.push_back(Signed(last));
  }
  params.Ints(generations).Ints(lasts);
  if (bounds.dead) {
    params.Int(Signed(bounds.dead->generation)).Int(Signed(bounds.dead->last));
  } else {
    params.Null().Null();
  }
  params.Ints(pins).Int(kRowsMost);
  return AskUntilDone(database_, kPrune, params, kRowsMost);
}

absl::StatusOr<bool> Retention::Purge(const SessionKey& key, int64_t rows) const {
  for (int64_t removed = 0; removed < rows;) {
    const int64_t most = std::min(kRowsMost, rows - removed);
    const Params params = Params().Text(key.tenant.value()).Text(key.session.value()).Int(most);
    ASSIGN_OR_RETURN(const Rows answer, database_.AskFlushed(kPurgeOne, params));
    if (answer.Int(0, 0) == 0) return true;
    removed += std::max(answer.Int(0, 0), most);
  }
  return false;
}

absl::Status Retention::Sweep() {
  const absl::MutexLock lock(&sweeping_);
  const absl::Status forgotten =
      AskUntilDone(database_, kForget, Params().Interval(kFeedKept).Int(kRowsMost), kRowsMost)
          .status();
  const absl::Status tidied = TidySessions();
  return forgotten.ok() ? tidied : forgotten;
}

absl::Status Retention::TidySessions() {
  Round round;
  for (int look = 0; look < kLooksMost && round.failures < kFailuresMost; ++look) {
    Params params;
    params.Interval(kPurgeAfter).Interval(kSettledAfter);
    params.Text(tidied_to_.tenant).Time(tidied_to_.listed_at).Text(tidied_to_.session);
    params.Int(kSessionsPerLook);
    ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kInSight, params));
    RETURN_IF_ERROR(TidyAll(rows, round));
    if (rows.size() < static_cast<size_t>(kSessionsPerLook) && round.failures < kFailuresMost) {
      tidied_to_ = Place();
      break;
    }
  }
  return round.first_error;
}

absl::Status Retention::TidyAll(const Rows& rows, Round& round) {
  std::vector<std::string> tenants;
  std::vector<std::string> sessions;
  std::vector<int64_t> versions;
  for (size_t row = 0; row < rows.size() && round.failures < kFailuresMost; ++row) {
    tidied_to_ = {.tenant = std::string(rows.Text(row, kSightTenant)),
                  .listed_at = rows.Time(row, kSightListedAt),
                  .session = std::string(rows.Text(row, kSightSession))};
    if (!rows.Bool(row, kSightDue)) continue;
    const absl::StatusOr<bool> done = Tidy(rows, row);
    if (!done.ok()) {
      if (++round.failures == 1) round.first_error = done.status();
    } else if (*done) {
      tenants.push_back(tidied_to_.tenant);
      sessions.push_back(tidied_to_.session);
      versions.push_back(rows.Int(row, kSightVersion));
    }
  }
  if (tenants.empty()) return absl::OkStatus();
  return database_.AskFlushed(kSettle, Params().Texts(tenants).Texts(sessions).Ints(versions))
      .status();
}

absl::StatusOr<bool> Retention::Tidy(const Rows& rows, size_t row) const {
  const auto tenant = TenantId::Parse(rows.Text(row, kSightTenant));
  const auto session = SessionId::Parse(rows.Text(row, kSightSession));
  if (!tenant || !session) return true;
  if (rows.Bool(row, kSightDeleted)) {
    return Purge({.tenant = *tenant, .session = *session}, kRowsMost * kStatementsMost);
  }
  if (rows.IsNull(row, kSightHead)) return true;  // another store's
  const std::optional<Head> head =
      ReadHead(rows.Bytes(row, kSightHead), rows.Bytes(row, kSightSum));
  if (!head) return true;  // what a damaged session needs is not known
  return Prune({.tenant = *tenant, .session = *session}, PruneBoundsOf(*head));
}

}  // namespace holdfast::pg
