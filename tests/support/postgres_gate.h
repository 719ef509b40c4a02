// What stands between a server and PostgreSQL: it carries their bytes, and can stop, cut or refuse
// as a network does.
#ifndef HOLDFAST_TESTS_SUPPORT_POSTGRES_GATE_H_
#define HOLDFAST_TESTS_SUPPORT_POSTGRES_GATE_H_

#include "tests/support/server_process.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {

// Any thread may call.
class PostgresGate final {
 public:
  // Leads to the cluster whose socket is in `to`, which need not be there yet.
  explicit PostgresGate(std::string to);
  PostgresGate(const PostgresGate&) = delete;
  PostgresGate& operator=(const PostgresGate&) = delete;
  ~PostgresGate();

  // Where the gate's own socket is: the directory that servers are told.
  [[nodiscard]] std::string directory() const { return folder_.path(); }

  // From now on nothing is carried, in neither direction; connections stand, and new ones are
  // taken and get no answer.
  void Hold();
  // Ends every connection, and each new one at once.
  void Refuse();
  // Ends every connection that stands; new ones are carried.
  void Cut();
  // Carries again, also what was held.
  void Open();

  // Connections that were taken and have not ended.
  [[nodiscard]] size_t connections() const;

 private:
  enum class Mode : uint8_t { kOpen, kHeld, kRefusing };
  class Pair;

  void Run();
  void Turn(Mode mode);
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
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<Pair>> pairs_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_POSTGRES_GATE_H_
