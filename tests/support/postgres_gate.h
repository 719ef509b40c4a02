// A proxy between a server and PostgreSQL. It forwards their bytes, and can be slow, stop, cut or
// refuse as a network does.
#ifndef HOLDFAST_TESTS_SUPPORT_POSTGRES_GATE_H_
#define HOLDFAST_TESTS_SUPPORT_POSTGRES_GATE_H_

#include "tests/support/server_process.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {

// How bytes pass, in each direction of each connection: piece by piece, each held for a while
// before the next one is taken.
struct Pace {
  size_t piece = size_t{64} * 1024;
  absl::Duration delay = absl::ZeroDuration();
};

// Any thread may call.
class PostgresGate final {
 public:
  // Leads to the cluster whose socket is in `to`, which need not be there yet.
  explicit PostgresGate(std::string to);
  PostgresGate(const PostgresGate&) = delete;
  PostgresGate& operator=(const PostgresGate&) = delete;
  ~PostgresGate();

  // The directory of the gate's own socket, which servers connect to.
  [[nodiscard]] std::string directory() const { return folder_.path(); }

  // From now on the gate forwards nothing in either direction. Connections stay open, and new ones
  // are accepted and get no answer.
  void Hold();
  // Ends every connection, and each new one at once.
  void Refuse();
  // Closes every open connection; new ones are forwarded.
  void Cut();
  // Carries at this pace from now on.
  void Slow(Pace pace);
  // Carries again, also what was held, as fast as it can.
  void Open();

  // Connections taken so far, ended ones included.
  [[nodiscard]] size_t taken() const;
  // Whether the first `count` connections taken have all ended.
  [[nodiscard]] bool HaveEnded(size_t count) const;

 private:
  enum class Mode : uint8_t { kOpen, kHeld, kRefusing };
  class Pair;

  void Run();
  void Turn(Mode mode, Pace pace = Pace());
  void Wake() const;
  // One round of waiting and carrying; false at the end.
  bool Round();
  void Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const TestFolder folder_;
  const std::string to_;
  int listener_ = -1;
  int wake_ = -1;  // an eventfd
  mutable absl::Mutex mutex_;
  Mode mode_ ABSL_GUARDED_BY(mutex_) = Mode::kOpen;
  Pace pace_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<Pair>> pairs_ ABSL_GUARDED_BY(mutex_);  // in the order of numbers
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_POSTGRES_GATE_H_
