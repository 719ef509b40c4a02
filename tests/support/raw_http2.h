// Frames of HTTP/2 as an attacker writes them: no library would send calls in this way.
#ifndef HOLDFAST_TESTS_SUPPORT_RAW_HTTP2_H_
#define HOLDFAST_TESTS_SUPPORT_RAW_HTTP2_H_

#include <cstdint>
#include <string>

namespace holdfast::testing::http2 {

// What a client sends first: the preface and its settings, none of which differs from the default.
std::string Opening();
// The same of a client that has no room for a byte of any reply.
std::string OpeningWithoutWindow();
// The headers of a gRPC call of `path` ("/package.Service/Method") on `stream`.
std::string Headers(uint32_t stream, const std::string& path);
// One empty gRPC message, the last one of the call.
std::string EmptyMessage(uint32_t stream);
// One gRPC message of fewer than 2^14 bytes, the last one of the call.
std::string LastMessage(uint32_t stream, const std::string& bytes);
// A ping, and what the other side sends once it has read everything before it.
std::string Ping();
std::string PingAnswer();
// The client gives the call up.
std::string Reset(uint32_t stream);

}  // namespace holdfast::testing::http2

#endif  // HOLDFAST_TESTS_SUPPORT_RAW_HTTP2_H_
