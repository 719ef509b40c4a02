// Calls whose requests never arrive whole: an attack that fills the memory of a server.
#ifndef HOLDFAST_TESTS_SUPPORT_HALF_SENT_CALLS_H_
#define HOLDFAST_TESTS_SUPPORT_HALF_SENT_CALLS_H_

#include "tests/support/raw_http2.h"
#include "tests/support/raw_socket.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace holdfast::testing {

// One connection with calls that are each sent but for their last bytes. For one thread.
class HalfSentCalls final {
 public:
  // Connects to `address` from `source` and keeps `calls` calls open there, each with a request of
  // `bytes`.
  HalfSentCalls(const std::string& address, const std::string& source, size_t calls,
                uint32_t bytes);

  // Sends what the server has room for now. False once the server has closed the connection.
  bool Send();
  // Of requests, so far.
  [[nodiscard]] size_t sent_bytes() const { return sent_bytes_; }

 private:
  struct Call {
    int64_t window = 0;  // what the server takes; a smaller initial window may make it negative
    uint32_t left = 0;   // of what is sent at all
    bool begun = false;
  };

  // The frame that begins another call.
  std::string Begin();
  // What `call` may send now, in frames.
  std::string DataOf(uint32_t stream, Call& call);
  // Reads what the server says, and answers what it asks.
  void Receive();
  void Take(const http2::Frame& frame);

  const uint32_t bytes_;
  RawSocket socket_;
  bool connected_ = false;
  std::string received_;
  std::string due_;                 // answers
  std::map<uint32_t, Call> calls_;  // by stream
  uint32_t next_ = 1;
  int64_t initial_window_ = 65'535;
  int64_t window_ = 65'535;  // of the connection
  size_t sent_bytes_ = 0;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_HALF_SENT_CALLS_H_
