// Fail-stop: after a failed write, sync or rename nothing is known of the disk, so the store takes
// no more changes; the process ends and the restart recovers.
#ifndef HOLDFAST_STORE_FS_FAIL_STOP_H_
#define HOLDFAST_STORE_FS_FAIL_STOP_H_

#include "platform/exceptions.h"
#include "session/refusal.h"
#include "store-fs/files.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

#include <atomic>
#include <functional>
#include <string>
#include <utility>

namespace holdfast::fs {

// Any thread may call.
class FailStop {
 public:
  // `report` gets the first cause in the system's words, for the operator's log alone.
  explicit FailStop(std::function<void(const std::string&)> report) : report_(std::move(report)) {}

  // Reports the first cause and answers the error of the failed call: its outcome is unknown.
  absl::Status Fail(const absl::Status& cause) {
    if (!failed_.exchange(true) && report_) report_(std::string(cause.message()));
    return StoreUnavailable("the store failed and stops: the server must be restarted",
                            Fate::kUnknown);
  }
  // The same of a failure before which nothing was written: a shortage of descriptors or memory
  // does not mean that the disk failed, so the store continues.
  absl::Status FailUnwritten(const absl::Status& cause) {
    return IsShortage(cause) ? Short() : Fail(cause);
  }
  static absl::Status Short() {
    return StoreUnavailable(
               "the server has no file descriptor or no memory left for this: try again",
               Fate::kNoEffect)
        .RetryAfter(absl::Seconds(1));
  }
  // `act`, which may write. After an exception it is unknown what was written: the store fails.
  absl::Status FailingOnException(absl::FunctionRef<absl::Status()> act) {
    absl::Status status;
    const auto what = CatchException([&] { status = act(); });
    return what ? Fail(absl::InternalError("an exception in a write: " + *what)) : status;
  }
  // OK, or the error of every later call: it was not tried.
  absl::Status Check() const {
    if (!failed_.load(std::memory_order_acquire)) return absl::OkStatus();
    return StoreUnavailable("the store has failed: the server must be restarted", Fate::kNoEffect);
  }

 private:
  const std::function<void(const std::string&)> report_;
  std::atomic<bool> failed_ = false;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_FAIL_STOP_H_
