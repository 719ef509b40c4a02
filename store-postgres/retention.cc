#include "store-postgres/retention.h"

#include "session/limits.h"
#include "session/status_macros.h"

#include <algorithm>
#include <cstdint>

namespace holdfast::pg {
namespace {

// A session is pruned at every so many revisions, and when it is closed.
constexpr uint64_t kPruneEvery = 32;
// Sessions that wait to be pruned; of more, some are pruned with a later change.
constexpr size_t kDueMost = 4096;
// Rows of a kind in one statement, and statements in a row.
constexpr int64_t kRowsMost = 1000;
constexpr int kStatementsMost = 64;
constexpr int64_t kSessionsMost = 100;
// Watchers of every server have looked at the events of a deleted session by then.
constexpr absl::Duration kPurgeAfter = absl::Minutes(1);
// A session that nothing happened to for so long has nothing for a sweep.
constexpr absl::Duration kSettledAfter = absl::Minutes(10);

constexpr Statement kPrune = {"prune", "SELECT holdfast.prune($1, $2, $3, $4, $5, $6, $7, $8)"};
constexpr Statement kPurge = {"purge", "SELECT holdfast.purge($1, $2, $3)"};
constexpr Statement kSettle = {"settle", "SELECT holdfast.settle($1, $2)"};
constexpr Statement kForget = {"forget_requests",
                               "SELECT next FROM holdfast.forget_requests($1, $2, $3)"};
// Of the table of replies, in one statement.
constexpr int64_t kBlocksMost = 256;

int64_t Signed(uint64_t value) { return static_cast<int64_t>(value); }

bool IsDue(const Change& change, const Head& head) {
  if (change.tombstone || !change.moves_revision) return false;
  return head.revision.value() % kPruneEvery == 0 || head.lifecycle == Lifecycle::kClosed;
}

// Asks until nothing is left to be done, or it was asked often enough for now.
absl::Status AskUntilDone(const Database& database, const Statement& statement,
                          const Params& params, int64_t enough) {
  for (int asked = 0; asked < kStatementsMost; ++asked) {
    ASSIGN_OR_RETURN(const Rows rows, database.AskFlushed(statement, params));
    if (rows.Int(0, 0) < enough) break;
  }
  return absl::OkStatus();
}

}  // namespace

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

void Retention::Note(const Change& change, const Head& head) {
  if (!IsDue(change, head)) return;
  const absl::MutexLock lock(&mutex_);
  if (due_.size() < kDueMost) due_.insert_or_assign(change.key, head);
}

std::optional<Retention::Due> Retention::Take() {
  const absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &Retention::HasWork));
  if (stopping_) return std::nullopt;
  const auto first = due_.begin();
  Due due(first->first, std::move(first->second));
  due_.erase(first);
  return due;
}

void Retention::Run() {
  while (const auto due = Take()) Prune(due->first, due->second).IgnoreError();
}

absl::Status Retention::Prune(const SessionKey& key, const Head& head) const {
  Generation oldest = head.generation;
  for (const SnapshotRecord& snapshot : head.snapshots) {
    oldest = std::min(oldest, snapshot.generation);
  }
  const uint64_t last = head.last_event.value();
  const uint64_t events = last > kEventsKeptLeast ? last - kEventsKeptLeast : 0;
  Params params;
  params.Text(key.tenant.value()).Text(key.session.value());
  params.Int(Signed(JournalFloor(head).value())).Int(Signed(OldestKept(head).revision.value()));
  params.Int(Signed(oldest.value())).Int(Signed(events)).Interval(kEventsKept);
  params.Int(kRowsMost);
  return AskUntilDone(database_, kPrune, params, kRowsMost);
}

absl::Status Retention::Sweep() {
  RETURN_IF_ERROR(ForgetRequests());
  RETURN_IF_ERROR(AskUntilDone(
      database_, kPurge, Params().Interval(kPurgeAfter).Int(kSessionsMost).Int(kRowsMost), 1));
  return AskUntilDone(database_, kSettle, Params().Interval(kSettledAfter).Int(kRowsMost),
                      kRowsMost);
}

absl::Status Retention::ForgetRequests() {
  const absl::Time before = database_.store_clock.Now() - kRequestsKept;
  for (int asked = 0; asked < kStatementsMost; ++asked) {
    const Params params = Params().Time(before).Int(forgotten_to_).Int(kBlocksMost);
    ASSIGN_OR_RETURN(const Rows rows, database_.AskFlushed(kForget, params));
    forgotten_to_ = rows.Int(0, 0);
    if (forgotten_to_ == 0) break;
  }
  return absl::OkStatus();
}

}  // namespace holdfast::pg
