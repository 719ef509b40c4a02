// What orders the steps of a stream that go from thread to thread through the transport.
#ifndef HOLDFAST_SERVER_RPC_HAND_OVER_H_
#define HOLDFAST_SERVER_RPC_HAND_OVER_H_

#include <atomic>

namespace holdfast {

// Whatever was done before Give is seen by whoever calls Take after the transport's answer to it.
// gRPC orders them too, by locks of its own; here it is said where it is relied on, and where a
// race detector can see it.
class HandOver {
 public:
  // Before a read, a write or the end of a stream is begun.
  void Give() { given_.fetch_add(1, std::memory_order_release); }
  // First thing when the transport calls back.
  void Take() const { (void)given_.load(std::memory_order_acquire); }

 private:
  std::atomic<unsigned> given_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_HAND_OVER_H_
