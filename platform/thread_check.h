// Asserts that the transport's few threads only move bytes: a thread of the transport that blocks,
// parses or searches holds up every connection that it serves. Checked in builds with thread checks
// (CMake's HOLDFAST_THREAD_CHECKS), so that the whole test suite looks for a violation.
//
//   void OnReadDone(bool ok) override {
//     const TransportThread here;
//     ...
//   }
#ifndef HOLDFAST_PLATFORM_THREAD_CHECK_H_
#define HOLDFAST_PLATFORM_THREAD_CHECK_H_

namespace holdfast {

// This thread is the transport's while one of these lives on its stack.
class TransportThread final {
 public:
  TransportThread();
  TransportThread(const TransportThread&) = delete;
  TransportThread& operator=(const TransportThread&) = delete;
  ~TransportThread();
};

// Ends the process with the name of `work` when it is done on a thread of the transport. Called by
// what parses, searches or blocks. Does nothing in a build without thread checks.
void AssertOffTransport(const char* work);

// Whether this build checks.
bool ThreadChecksEnabled();

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_THREAD_CHECK_H_
