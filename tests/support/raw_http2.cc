#include "tests/support/raw_http2.h"

namespace holdfast::testing::http2 {
namespace {

// Types of frames, and their flags.
constexpr char kData = 0;
constexpr char kHeaders = 1;
constexpr char kRstStream = 3;
constexpr char kSettings = 4;
constexpr char kPing = 6;
constexpr char kAck = 0x1;
constexpr char kEndStream = 0x1;
constexpr char kEndHeaders = 0x4;
constexpr char kCancel = 8;
constexpr uint32_t kInitialWindowSize = 4;
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string BigEndian(uint32_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string Frame(char type, char flags, uint32_t stream, const std::string& payload) {
  return BigEndian(static_cast<uint32_t>(payload.size()), 3) + type + flags + BigEndian(stream, 4) +
         payload;
}

// A string of HPACK, shorter than 127 bytes and not compressed.
std::string Text(const std::string& text) { return static_cast<char>(text.size()) + text; }

}  // namespace

std::string Opening() { return kPreface + Frame(kSettings, 0, 0, ""); }

std::string OpeningWithoutWindow() {
  return kPreface + Frame(kSettings, 0, 0, BigEndian(kInitialWindowSize, 2) + BigEndian(0, 4));
}

std::string Headers(uint32_t stream, const std::string& path) {
  // Indexes of HPACK's static table; what has a value of its own is not added to the other table.
  const std::string fields = std::string("\x83\x86") +                // :method POST, :scheme http
                             "\x04" + Text(path) +                    // :path
                             "\x01" + Text("server") +                // :authority
                             "\x0f\x10" + Text("application/grpc") +  // content-type
                             std::string(1, '\0') + Text("te") + Text("trailers");
  return Frame(kHeaders, kEndHeaders, stream, fields);
}

std::string EmptyMessage(uint32_t stream) { return LastMessage(stream, ""); }

std::string LastMessage(uint32_t stream, const std::string& bytes) {
  const std::string length = BigEndian(static_cast<uint32_t>(bytes.size()), 4);
  return Frame(kData, kEndStream, stream, '\0' + length + bytes);
}

std::string Ping() { return Frame(kPing, 0, 0, "measured"); }

std::string PingAnswer() { return Frame(kPing, kAck, 0, "measured"); }

std::string Reset(uint32_t stream) { return Frame(kRstStream, 0, stream, BigEndian(kCancel, 4)); }

}  // namespace holdfast::testing::http2
