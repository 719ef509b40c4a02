// Annotates Abseil's locks for ThreadSanitizer. The system's Abseil is not instrumented, so without
// this every access that a mutex guards looks like a race. The linker redirects our calls to this
// file (cmake/holdfast.cmake, "tsan", which finds its symbols); the real functions do the work.
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

#define REAL(symbol) __real_##symbol
#define WRAP(symbol) __wrap_##symbol
#define LOCK _ZN4absl7debian35Mutex4LockEv
#define UNLOCK _ZN4absl7debian35Mutex6UnlockEv
#define AWAIT _ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE
#define AWAIT_TIMEOUT _ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE
#define READER_LOCK _ZN4absl7debian35Mutex10ReaderLockEv
#define READER_UNLOCK _ZN4absl7debian35Mutex12ReaderUnlockEv
#define WAIT _ZN4absl7debian37CondVar4WaitEPNS0_5MutexE
#define WAIT_TIMEOUT _ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE
#define NOTIFY _ZN4absl7debian312Notification6NotifyEv
#define WAIT_FOR _ZNK4absl7debian312Notification19WaitForNotificationEv
#define WAIT_FOR_TIMEOUT \
  _ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE
#define COUNT_DOWN _ZN4absl7debian315BlockingCounter14DecrementCountEv
#define WAIT_FOR_COUNT _ZN4absl7debian315BlockingCounter4WaitEv
#define NAMED(make, symbol) make(symbol)

extern "C" {

void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);

void NAMED(REAL, LOCK)(absl::Mutex* mutex);
void NAMED(REAL, UNLOCK)(absl::Mutex* mutex);
void NAMED(REAL, AWAIT)(absl::Mutex* mutex, const absl::Condition& condition);
bool NAMED(REAL, AWAIT_TIMEOUT)(absl::Mutex* mutex, const absl::Condition& condition,
                                absl::Duration timeout);
void NAMED(REAL, READER_LOCK)(absl::Mutex* mutex);
void NAMED(REAL, READER_UNLOCK)(absl::Mutex* mutex);
void NAMED(REAL, WAIT)(absl::CondVar* variable, absl::Mutex* mutex);
bool NAMED(REAL, WAIT_TIMEOUT)(absl::CondVar* variable, absl::Mutex* mutex, absl::Duration timeout);
void NAMED(REAL, NOTIFY)(absl::Notification* notification);
void NAMED(REAL, WAIT_FOR)(const absl::Notification* notification);
bool NAMED(REAL, WAIT_FOR_TIMEOUT)(const absl::Notification* notification, absl::Duration timeout);
bool NAMED(REAL, COUNT_DOWN)(absl::BlockingCounter* counter);
void NAMED(REAL, WAIT_FOR_COUNT)(absl::BlockingCounter* counter);

void NAMED(WRAP, LOCK)(absl::Mutex* mutex) {
  NAMED(REAL, LOCK)(mutex);
  __tsan_acquire(mutex);
}

// The unlocking thread evaluates the conditions of waiting threads, still under the lock.
void NAMED(WRAP, UNLOCK)(absl::Mutex* mutex) {
  __tsan_release(mutex);
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  NAMED(REAL, UNLOCK)(mutex);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

void NAMED(WRAP, AWAIT)(absl::Mutex* mutex, const absl::Condition& condition) {
  __tsan_release(mutex);
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  NAMED(REAL, AWAIT)(mutex, condition);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  __tsan_acquire(mutex);
}

bool NAMED(WRAP, AWAIT_TIMEOUT)(absl::Mutex* mutex, const absl::Condition& condition,
                                absl::Duration timeout) {
  __tsan_release(mutex);
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  const bool holds = NAMED(REAL, AWAIT_TIMEOUT)(mutex, condition, timeout);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  __tsan_acquire(mutex);
  return holds;
}

// Two readers are ordered by this too, which they need not be.
void NAMED(WRAP, READER_LOCK)(absl::Mutex* mutex) {
  NAMED(REAL, READER_LOCK)(mutex);
  __tsan_acquire(mutex);
}

void NAMED(WRAP, READER_UNLOCK)(absl::Mutex* mutex) {
  __tsan_release(mutex);
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  NAMED(REAL, READER_UNLOCK)(mutex);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

void NAMED(WRAP, WAIT)(absl::CondVar* variable, absl::Mutex* mutex) {
  __tsan_release(mutex);
  NAMED(REAL, WAIT)(variable, mutex);
  __tsan_acquire(mutex);
}

bool NAMED(WRAP, WAIT_TIMEOUT)(absl::CondVar* variable, absl::Mutex* mutex,
                               absl::Duration timeout) {
  __tsan_release(mutex);
  const bool timed_out = NAMED(REAL, WAIT_TIMEOUT)(variable, mutex, timeout);
  __tsan_acquire(mutex);
  return timed_out;
}

void NAMED(WRAP, NOTIFY)(absl::Notification* notification) {
  __tsan_release(notification);
  NAMED(REAL, NOTIFY)(notification);
}

void NAMED(WRAP, WAIT_FOR)(const absl::Notification* notification) {
  NAMED(REAL, WAIT_FOR)(notification);
  __tsan_acquire(const_cast<absl::Notification*>(notification));
}

bool NAMED(WRAP, WAIT_FOR_TIMEOUT)(const absl::Notification* notification, absl::Duration timeout) {
  const bool notified = NAMED(REAL, WAIT_FOR_TIMEOUT)(notification, timeout);
  if (notified) __tsan_acquire(const_cast<absl::Notification*>(notification));
  return notified;
}

bool NAMED(WRAP, COUNT_DOWN)(absl::BlockingCounter* counter) {
  __tsan_release(counter);
  return NAMED(REAL, COUNT_DOWN)(counter);
}

void NAMED(WRAP, WAIT_FOR_COUNT)(absl::BlockingCounter* counter) {
  NAMED(REAL, WAIT_FOR_COUNT)(counter);
  __tsan_acquire(counter);
}

}  // extern "C"
