// Ends a thread's wait for a socket from another thread.
#ifndef HOLDFAST_STORE_POSTGRES_PG_WAKER_H_
#define HOLDFAST_STORE_POSTGRES_PG_WAKER_H_

#include "absl/time/time.h"

namespace holdfast::pg {

// Any thread may call.
class Waker {
 public:
  // The process ends when the system has no descriptor left for it.
  Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;
  ~Waker();

  // Ends every wait, also those that begin later.
  void Wake() const;
  // Waits until something can be read from `socket`: true. False when it was woken, and after
  // `at_most`.
  [[nodiscard]] bool AwaitInput(int socket, absl::Duration at_most) const;
  // Waits until it is woken, or `at_most` has passed.
  void Await(absl::Duration at_most) const;

 private:
  const int descriptor_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_PG_WAKER_H_
