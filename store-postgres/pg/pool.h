// A bounded number of connections, handed out one caller at a time: the one that was given back
// last first, so that under little load few are used and those stay warm.
//
//   absl::StatusOr<Pool::Lease> lease = pool.Take(absl::Seconds(1));
//   if (!lease.ok()) return lease.status();
//   Answer answer = (*lease)->Run(kReadHead, params);
#ifndef HOLDFAST_STORE_POSTGRES_PG_POOL_H_
#define HOLDFAST_STORE_POSTGRES_PG_POOL_H_

#include "platform/clock.h"
#include "store-postgres/pg/connection.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::pg {

// What a connection is wanted for.
enum class Purpose {
  kRead,   // its statements wait for no flush and no standby
  kWrite,  // its statements wait for a flush, and perhaps for a standby
};

struct PoolOptions {
  ConnectOptions connect;
  // Connections at most, with those whose statement was given up and is still at work. A quarter of
  // them, or one, is not lent for writing, so that reads go on when nothing is written.
  size_t size = 8;
  absl::Duration lifetime = absl::Minutes(30);  // an older one is closed when it is given back
  // Looks at every new connection before it is used; an error closes it. Called without a lock, by
  // several threads at once.
  std::function<absl::Status(Connection&)> check;
  // Gets the cause when a connection could not be made, for the operator's log. Called without a
  // lock.
  std::function<void(const std::string& why)> report;
};

struct PoolStats {
  size_t open = 0;        // connections, with those that are being made
  size_t unanswered = 0;  // of them, given up while the server is at work for them
  size_t idle = 0;        // of them, lent to no caller
  uint64_t opened = 0;    // ever
  uint64_t waits = 0;     // calls of Take that found none free
  uint64_t given_up = 0;  // of them, without success
  absl::Duration waited;  // by all of them together
};

// Any thread may call. Outlives its leases.
class Pool {
 public:
  // A connection that is lent to one caller; its destruction returns it to the pool. It is closed
  // then when it is broken, inside a transaction, too old, or on an older timeline; one whose
  // statement is still at work, when that has ended or the connection is too old. For one thread at
  // a time.
  class Lease {
   public:
    Lease(Pool& pool, std::unique_ptr<Connection> connection, absl::Duration born)
        : pool_(&pool), connection_(std::move(connection)), born_(born) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      if (connection_ != nullptr) pool_->GiveBack(std::move(connection_), born_);
    }

    Connection* operator->() { return connection_.get(); }
    Connection& operator*() { return *connection_; }

   private:
    Pool* pool_;
    std::unique_ptr<Connection> connection_;
    absl::Duration born_;
  };

  // Connects nowhere yet. `clock` outlives the pool.
  Pool(PoolOptions options, const Clock& clock);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() = default;

  // A connection that looks usable, made when none is idle and there is room. Of several hosts the
  // next one is asked when a server was found that is not to be used, such as an old primary that
  // came back. When none can be made, such as for a limit of the server's, one that others have
  // will do. Waits for a connection for `at_most`. STORE_UNAVAILABLE with the outcome known when
  // none came free in time, none could be made, or the pool is closed.
  absl::StatusOr<Lease> Take(absl::Duration at_most, Purpose purpose = Purpose::kRead);

  // A connection beside the bounded number, for a purpose of its own, which is one word, `what`,
  // for an operator who lists the connections. Made and checked as the others are; the caller's to
  // keep. STORE_UNAVAILABLE with the outcome known when none could be made.
  absl::StatusOr<std::unique_ptr<Connection>> Apart(const std::string& what);

  // Says that a server was seen on `timeline`: connections that were seen on an older one are
  // closed and not handed out again, for they may lead to a primary that was replaced.
  void SawTimeline(uint32_t timeline);
  // The newest timeline that was seen; 0 before the first.
  [[nodiscard]] uint32_t newest_timeline() const;

  // Closes what is idle and what is given back from now on; Take refuses.
  void Close();

  [[nodiscard]] PoolStats stats() const;

 private:
  struct Kept {
    std::unique_ptr<Connection> connection;
    absl::Duration born;
  };

  // Nothing when one may be made.
  absl::StatusOr<std::optional<Lease>> TakeIdle(absl::Duration at_most, Purpose purpose);
  absl::StatusOr<Lease> Make();
  // Of several hosts the next one is asked when a server was found that is not to be used.
  absl::StatusOr<std::unique_ptr<Connection>> MakeFromAny();
  // A connection; or `refused`: the server answered and is not to be used; or `broke`: it was ended
  // while it was checked; or none of them: no server answered.
  struct Made {
    absl::StatusOr<std::unique_ptr<Connection>> connection;
    bool refused = false;
    bool broke = false;
  };
  // Connects, beginning at that host, and looks at what it found.
  Made MakeFrom(size_t host);
  Made TryFrom(size_t host);
  absl::Status Admit(const Connection& connection);
  void GiveBack(std::unique_ptr<Connection> connection, absl::Duration born);
  // Moves those of `unanswered_` to `ended` whose statement the server has ended.
  void TakeEnded(std::vector<Kept>& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until a connection is idle or may be made. False when that did not happen.
  bool AwaitRoom(absl::Duration at_most, Purpose purpose) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until one that others have is idle. False when that did not happen, or there are none.
  bool AwaitOthers(absl::Duration at_most);
  [[nodiscard]] size_t MostFor(Purpose purpose) const;
  bool Keeps(const Connection& connection, absl::Duration born) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PoolOptions options_;
  const size_t hosts_;
  const Clock& clock_;
  mutable absl::Mutex mutex_;
  std::vector<Kept> idle_ ABSL_GUARDED_BY(mutex_);  // the last one was used most recently
  uint32_t newest_timeline_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Kept> unanswered_ ABSL_GUARDED_BY(mutex_);
  size_t first_host_ ABSL_GUARDED_BY(mutex_) = 0;  // where the last usable server was found
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  PoolStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_PG_POOL_H_
