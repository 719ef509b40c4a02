// One session as it should behave, for histories that are made without a server. Written from the
// rules of the wire and independent of the checker.
#ifndef HOLDFAST_TESTS_HISTORY_MODEL_H_
#define HOLDFAST_TESTS_HISTORY_MODEL_H_

#include "tests/history/history.h"

#include "absl/container/flat_hash_map.h"

#include <cstdint>
#include <vector>

namespace holdfast::history {

class Model final {
 public:
  explicit Model(uint32_t session) : session_(session) {}

  // Does what `asked` asks, at `now` (nanoseconds).
  Answered Do(const Asked& asked, int64_t now);
  // What a fresh client reads.
  [[nodiscard]] Ending End() const;

 private:
  [[nodiscard]] Answered Head() const;
  // Why `asked` is refused; kNone when it is not.
  [[nodiscard]] Cause Classify(const Asked& asked, int64_t now) const;
  [[nodiscard]] Cause ClassifyHeld(const Asked& asked) const;
  Answered Read(const Asked& asked) const;
  Answered Act(const Asked& asked, int64_t now);
  void Grant(const Asked& asked, int64_t now, Answered& answered);
  void Commit(const Asked& asked, Answered& answered);
  void Write(const Asked& asked, const char* code);

  const uint32_t session_;
  uint64_t revision_ = 0;
  uint64_t epoch_ = 0;
  bool held_ = false;
  int64_t expires_ = 0;
  int64_t ttl_ = 0;
  Lifecycle lifecycle_ = Lifecycle::kIdle;
  uint64_t turn_ = 0;
  uint64_t last_turn_ = 0;
  uint64_t entry_ = 0;  // of the active turn
  std::vector<Digest> digests_ = {Digest{}};
  Uuid slot_;
  std::vector<LogLine> log_;
  absl::flat_hash_map<Uuid, Answered> replies_;
};

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_MODEL_H_
