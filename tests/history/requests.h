// The requests of one session: what was sent once or more under one request id.
#ifndef HOLDFAST_TESTS_HISTORY_REQUESTS_H_
#define HOLDFAST_TESTS_HISTORY_REQUESTS_H_

#include "tests/history/complaint.h"
#include "tests/history/history.h"

#include "absl/container/flat_hash_map.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::history {

// Steps of a session's timeline; 0 is before it was created.
using Step = size_t;
inline constexpr Step kNoStep = 0;

// The sendings of one request.
struct Request {
  const Operation* first = nullptr;     // that was sent
  const Operation* answered = nullptr;  // the first that came back with OK for what was done
  int64_t acknowledged = kNever;        // when it came back
  bool open = false;                    // one was not answered
  uint32_t acts = 0;                    // answers OK that do not say that they are repeats
  Step step = kNoStep;                  // of the timeline, if it acted
};

// Whether a resume found that its token was the current one: nothing was done, and nothing is
// stored of it. Another copy, which arrives later, may still act.
bool Reconnected(const Operation& operation);

// The operations of one session, in the order in which they were sent, and their requests.
class Requests final {
 public:
  // Takes the operations of one session, in the order of `invoked`.
  explicit Requests(const std::vector<const Operation*>& operations);
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests() = default;

  [[nodiscard]] const std::vector<const Operation*>& operations() const { return operations_; }
  // Null when no client sent it.
  Request* Find(const Uuid& id);
  // Of the operation with this index; null when it has no request id.
  [[nodiscard]] const Request* Of(size_t operation) const {
    const uint32_t request = of_[operation];
    return request == kNone ? nullptr : &requests_[request];
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  void Add(const Operation& operation);

  const std::vector<const Operation*>& operations_;
  std::vector<uint32_t> of_;  // index in requests_, by that of the operation
  std::vector<Request> requests_;
  absl::flat_hash_map<Uuid, uint32_t> index_;
};

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_REQUESTS_H_
