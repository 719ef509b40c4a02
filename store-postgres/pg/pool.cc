#include "store-postgres/pg/pool.h"

#include "platform/scoped_blocking_call.h"
#include "platform/status_macros.h"
#include "session/refusal.h"
#include "store-postgres/pg/dsn.h"

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace holdfast::pg {

Pool::Pool(PoolOptions options, const Clock& clock)
    : options_(std::move(options)), hosts_(HostsIn(options_.connect.dsn)), clock_(clock) {
  // Returning a connection must not allocate.
  idle_.reserve(options_.size);
  unanswered_.reserve(options_.size);
}

absl::StatusOr<Pool::Lease> Pool::Take(absl::Duration at_most, Purpose purpose) {
  const absl::Duration until = clock_.SinceBoot() + at_most;
  for (;;) {
    ASSIGN_OR_RETURN(std::optional<Lease> found, TakeIdle(until - clock_.SinceBoot(), purpose));
    if (found) return *std::move(found);
    absl::StatusOr<Lease> made = Make();
    if (made.ok() || !AwaitOthers(until - clock_.SinceBoot())) return made;
  }
}

absl::StatusOr<std::optional<Pool::Lease>> Pool::TakeIdle(absl::Duration at_most, Purpose purpose) {
  std::vector<Kept> stale;  // closed when the lock is free again
  stale.reserve(options_.size);
  const absl::MutexLock lock(&mutex_);
  TakeEnded(stale);
  if (!AwaitRoom(at_most, purpose)) {
    return StoreUnavailable("no connection to the database came free in time", Fate::kNoEffect);
  }
  if (closed_) return StoreUnavailable("the store is closed", Fate::kNoEffect);
  while (!idle_.empty()) {
    Kept kept = std::move(idle_.back());
    idle_.pop_back();
    if (Keeps(*kept.connection, kept.born) && kept.connection->LooksUsable()) {
      return Lease(*this, std::move(kept.connection), kept.born);
    }
    --stats_.open;
    stale.push_back(std::move(kept));
  }
  ++stats_.open;
  return std::nullopt;
}

absl::StatusOr<Pool::Lease> Pool::Make() {
  absl::Cleanup give_up_place = [this] {
    const absl::MutexLock lock(&mutex_);
    --stats_.open;
  };
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> made, MakeFromAny());
  std::move(give_up_place).Cancel();
  return Lease(*this, std::move(made), clock_.SinceBoot());
}

absl::StatusOr<std::unique_ptr<Connection>> Pool::Apart(const std::string& what) {
  absl::StatusOr<std::unique_ptr<Connection>> made = MakeFromAny();
  if (!made.ok()) return made;
  const std::string name =
      absl::StrCat("SET application_name = '", options_.connect.application_name, " ", what, "'");
  const std::optional<Failure> failure = (*made)->Try(name);
  if (!failure) return made;
  if (options_.report) options_.report(failure->text);
  return StoreUnavailable(
      "no usable connection to the database: the server's standard error says why",
      Fate::kNoEffect);
}

absl::StatusOr<std::unique_ptr<Connection>> Pool::MakeFromAny() {
  size_t host = 0;
  {
    const absl::MutexLock lock(&mutex_);
    host = first_host_;
  }
  Made made = MakeFrom(host);
  for (size_t asked = 1; made.refused && asked < hosts_; ++asked) {
    host = (host + 1) % hosts_;
    made = MakeFrom(host);
  }
  if (made.connection.ok()) {
    // The one that was reached: a host that is gone without a word costs each try a timeout.
    const size_t reached = (*made.connection)->Host(options_.connect.dsn).value_or(host);
    const absl::MutexLock lock(&mutex_);
    first_host_ = reached;
    return std::move(made.connection);
  }
  if (options_.report) options_.report(std::string(made.connection.status().message()));
  return StoreUnavailable(
      "no usable connection to the database: the server's standard error says why",
      Fate::kNoEffect);
}

// One that is ended while it is looked at is made once more.
Pool::Made Pool::MakeFrom(size_t host) {
  Made made = TryFrom(host);
  return made.broke ? TryFrom(host) : std::move(made);
}

Pool::Made Pool::TryFrom(size_t host) {
  ConnectOptions connect = options_.connect;
  connect.first_host = host;
  Made made = {.connection = Connection::Open(connect)};
  if (!made.connection.ok()) return made;
  absl::Status checked = options_.check ? options_.check(**made.connection) : absl::OkStatus();
  if (checked.ok()) checked = Admit(**made.connection);
  if (checked.ok()) return made;
  const bool broke = !(*made.connection)->usable();
  return {.connection = std::move(checked), .refused = !broke, .broke = broke};
}

absl::Status Pool::Admit(const Connection& connection) {
  const absl::MutexLock lock(&mutex_);
  if (connection.timeline() < newest_timeline_) {
    return absl::UnavailableError("the server is on an older timeline than one seen before");
  }
  newest_timeline_ = connection.timeline();
  ++stats_.opened;
  return absl::OkStatus();
}

void Pool::GiveBack(std::unique_ptr<Connection> connection, absl::Duration born) {
  const absl::MutexLock lock(&mutex_);
  newest_timeline_ = std::max(newest_timeline_, connection->timeline());
  if (!closed_ && Keeps(*connection, born)) {
    idle_.push_back({.connection = std::move(connection), .born = born});
  } else if (!closed_ && connection->IsStillAtWork()) {
    unanswered_.push_back({.connection = std::move(connection), .born = born});
  } else {
    --stats_.open;
  }
}

void Pool::SawTimeline(uint32_t timeline) {
  const absl::MutexLock lock(&mutex_);
  newest_timeline_ = std::max(newest_timeline_, timeline);
}

uint32_t Pool::newest_timeline() const {
  const absl::MutexLock lock(&mutex_);
  return newest_timeline_;
}

void Pool::Close() {
  std::vector<Kept> idle;
  std::vector<Kept> unanswered;
  const absl::MutexLock lock(&mutex_);
  closed_ = true;
  stats_.open -= idle_.size() + unanswered_.size();
  idle.swap(idle_);
  unanswered.swap(unanswered_);
}

PoolStats Pool::stats() const {
  const absl::MutexLock lock(&mutex_);
  PoolStats stats = stats_;
  stats.idle = idle_.size();
  stats.unanswered = unanswered_.size();
  return stats;
}

void Pool::TakeEnded(std::vector<Kept>& ended) {
  const absl::Duration now = clock_.SinceBoot();
  const auto first = std::partition(unanswered_.begin(), unanswered_.end(), [&](const Kept& kept) {
    return now - kept.born < options_.lifetime && kept.connection->IsStillAtWork();
  });
  stats_.open -= static_cast<size_t>(unanswered_.end() - first);
  std::move(first, unanswered_.end(), std::back_inserter(ended));
  unanswered_.erase(first, unanswered_.end());
}

size_t Pool::MostFor(Purpose purpose) const {
  constexpr size_t kShareOfReads = 4;
  if (purpose == Purpose::kRead || options_.size == 1) return options_.size;
  return options_.size - std::max<size_t>(1, options_.size / kShareOfReads);
}

bool Pool::AwaitRoom(absl::Duration at_most, Purpose purpose) {
  const size_t most = MostFor(purpose);
  const auto has_room = [this, most] {
    mutex_.AssertHeld();
    return closed_ || stats_.open - idle_.size() < most;
  };
  if (has_room()) return true;
  ++stats_.waits;
  const absl::Duration began = clock_.SinceBoot();
  const ScopedBlockingCall blocking;
  const bool found = mutex_.AwaitWithTimeout(absl::Condition(&has_room), at_most);
  stats_.waited += clock_.SinceBoot() - began;
  if (!found) ++stats_.given_up;
  return found;
}

bool Pool::AwaitOthers(absl::Duration at_most) {
  const absl::MutexLock lock(&mutex_);
  const auto settled = [this] {
    mutex_.AssertHeld();
    return closed_ || !idle_.empty() || stats_.open == 0;
  };
  const ScopedBlockingCall blocking;
  mutex_.AwaitWithTimeout(absl::Condition(&settled), at_most);
  return !closed_ && !idle_.empty();
}

bool Pool::Keeps(const Connection& connection, absl::Duration born) const {
  return connection.usable() && connection.Idle() && connection.timeline() >= newest_timeline_ &&
         clock_.SinceBoot() - born < options_.lifetime;
}

}  // namespace holdfast::pg
