// Frames of HTTP/2 as an attacker writes them: no library would send calls in this way.
#ifndef HOLDFAST_TESTS_SUPPORT_RAW_HTTP2_H_
#define HOLDFAST_TESTS_SUPPORT_RAW_HTTP2_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::testing::http2 {

// What a client sends first: the preface and its settings, none of which differs from the default.
std::string Opening();
// The same of a client that has no room for a byte of any reply.
std::string OpeningWithoutWindow();
// The headers of a gRPC call of `path` ("/package.Service/Method") on `stream`.
std::string Headers(uint32_t stream, const std::string& path);
// The same of a call that has so much time, as grpc-timeout says it: "50m" is 50 ms.
std::string HeadersWithTimeout(uint32_t stream, const std::string& path,
                               const std::string& timeout);
// The same of a call that ends with its headers: it has no message.
std::string LastHeaders(uint32_t stream, const std::string& path);
// The headers of a call of `path` with one more header of `bytes`, in as many frames as it takes.
std::string LongHeaders(uint32_t stream, const std::string& path, size_t bytes);
// One empty gRPC message, the last one of the call.
std::string EmptyMessage(uint32_t stream);
// One gRPC message of fewer than 2^14 bytes, the last one of the call.
std::string LastMessage(uint32_t stream, const std::string& bytes);
// The beginning of a gRPC message of `length` bytes, and any part of it.
std::string MessagePrefix(uint32_t length);
std::string Data(uint32_t stream, const std::string& bytes);
// A ping, and what the other side sends once it has read everything before it.
std::string Ping();
std::string PingAnswer();
// The client gives the call up.
std::string Reset(uint32_t stream);

// What came from the other side.
struct Frame {
  enum Type : uint8_t { kSettings = 4, kPing = 6, kWindowUpdate = 8 };

  uint8_t type = 0;
  bool acknowledges = false;  // of a ping or settings: that the other side has got ours
  uint32_t stream = 0;        // 0: the connection
  std::string payload;
};
// Takes the first frame off `bytes`; nothing while it is not whole.
std::optional<Frame> TakeFrame(std::string& bytes);
// The number of four bytes at `at`.
uint32_t NumberAt(const std::string& bytes, size_t at);
// The window of each stream that `settings` gives; nothing when they do not say.
std::optional<uint32_t> InitialWindow(const Frame& settings);
// The answers to a ping and to settings.
std::string Acknowledge(const Frame& frame);

}  // namespace holdfast::testing::http2

#endif  // HOLDFAST_TESTS_SUPPORT_RAW_HTTP2_H_
