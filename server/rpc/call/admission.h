// Which calls may enter: none while the server stops, and no more bytes at once than memory allows.
#ifndef HOLDFAST_SERVER_RPC_CALL_ADMISSION_H_
#define HOLDFAST_SERVER_RPC_CALL_ADMISSION_H_

#include "session/refusal.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace holdfast {

// What a call takes, or all of them.
struct CallShare {
  size_t calls = 0;
  size_t bytes = 0;
};

// Any thread may call.
class Admission {
 public:
  // A call's place, given back when it is destroyed.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    Ticket(Ticket&& other) noexcept
        : admission_(std::exchange(other.admission_, nullptr)), held_(other.held_) {}
    Ticket& operator=(Ticket&& other) noexcept;
    ~Ticket() { GiveBack(); }

    // Holds `bytes` from now on, of which it may have had more or less. What is more is OVERLOADED
    // when the budget does not have it, and then nothing changes; it is granted while the server
    // stops, since its call runs already. A ticket that was never admitted takes nothing.
    absl::Status Resize(size_t bytes);
    // The same without a refusal, for bytes that are there already: later calls find so much less.
    void Hold(size_t bytes);
    [[nodiscard]] size_t bytes() const { return admission_ == nullptr ? 0 : held_.bytes; }

   private:
    friend class Admission;
    Ticket(Admission* admission, CallShare held) : admission_(admission), held_(held) {}
    void GiveBack();

    Admission* admission_ = nullptr;
    CallShare held_;
  };

  explicit Admission(size_t memory_budget) : memory_budget_(memory_budget) {}

  // A place for a call that may take `bytes` of memory. OVERLOADED with RetryInfo when the running
  // calls take the whole memory budget; STORE_UNAVAILABLE with outcome known once Stop was called.
  absl::StatusOr<Ticket> Admit(size_t bytes);
  // `bytes` more for a call that has its place, also while the server stops. OVERLOADED as Admit.
  absl::StatusOr<Ticket> AdmitBytes(size_t bytes);

  // Refuses every later call; the running ones go on.
  void Stop();
  // Whether Stop was called.
  [[nodiscard]] bool stopped();
  // How many calls were refused because of it.
  [[nodiscard]] uint64_t refused_late();

  // Waits until no call runs or waits, at most for `patience`; answers whether that is so.
  bool AwaitIdle(absl::Duration patience);

  // How many calls run or wait.
  size_t InProgress();
  // What calls hold of the memory budget.
  size_t HeldBytes();

 private:
  absl::StatusOr<Ticket> Take(CallShare held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether `bytes` fit beside `others`, which may be more than the budget by what is held anyway.
  [[nodiscard]] bool Fits(size_t bytes, size_t others) const {
    return others <= memory_budget_ && bytes <= memory_budget_ - others;
  }
  [[nodiscard]] bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return calls_ == 0; }

  const size_t memory_budget_;
  absl::Mutex mutex_;
  size_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t refused_late_ ABSL_GUARDED_BY(mutex_) = 0;
};

// OVERLOADED: `what` is exhausted for the moment.
Refusal Overloaded(const char* what);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_ADMISSION_H_
