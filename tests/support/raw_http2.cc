#include "tests/support/raw_http2.h"

namespace holdfast::testing::http2 {
namespace {

// Types of frames, and their flags.
constexpr char kData = 0;
constexpr char kHeaders = 1;
constexpr char kRstStream = 3;
constexpr char kSettings = 4;
constexpr char kPing = 6;
constexpr char kContinuation = 9;
constexpr char kAck = 0x1;
constexpr char kEndStream = 0x1;
constexpr char kEndHeaders = 0x4;
constexpr char kCancel = 8;
constexpr uint32_t kInitialWindowSize = 4;
constexpr size_t kHeaderBytes = 9;
constexpr size_t kMostPayload = 16'384;
constexpr size_t kSettingBytes = 6;
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string BigEndian(uint32_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string Framed(char type, char flags, uint32_t stream, const std::string& payload) {
  return BigEndian(static_cast<uint32_t>(payload.size()), 3) + type + flags + BigEndian(stream, 4) +
         payload;
}

// A string of HPACK that is not compressed: its length, of which seven bits fit into the first byte
// and seven into each further one, and its bytes.
std::string Text(const std::string& text) {
  constexpr size_t kShort = 127;
  if (text.size() < kShort) return static_cast<char>(text.size()) + text;
  std::string length(1, static_cast<char>(kShort));
  size_t rest = text.size() - kShort;
  for (; rest > kShort; rest >>= 7) length += static_cast<char>(0x80 | (rest & 0x7f));
  return length + static_cast<char>(rest) + text;
}

// The fields of a gRPC call of `path`.
std::string Fields(const std::string& path) {
  // Indexes of HPACK's static table; what has a value of its own is not added to the other table.
  return std::string("\x83\x86") +                // :method POST, :scheme http
         "\x04" + Text(path) +                    // :path
         "\x01" + Text("server") +                // :authority
         "\x0f\x10" + Text("application/grpc") +  // content-type
         std::string(1, '\0') + Text("te") + Text("trailers");
}

}  // namespace

std::string Opening() { return kPreface + Framed(kSettings, 0, 0, ""); }

std::string OpeningWithoutWindow() {
  return kPreface + Framed(kSettings, 0, 0, BigEndian(kInitialWindowSize, 2) + BigEndian(0, 4));
}

std::string Headers(uint32_t stream, const std::string& path) {
  return Framed(kHeaders, kEndHeaders, stream, Fields(path));
}

std::string HeadersWithTimeout(uint32_t stream, const std::string& path,
                               const std::string& timeout) {
  return Framed(kHeaders, kEndHeaders, stream,
                Fields(path) + std::string(1, '\0') + Text("grpc-timeout") + Text(timeout));
}

std::string LastHeaders(uint32_t stream, const std::string& path) {
  return Framed(kHeaders, kEndHeaders | kEndStream, stream, Fields(path));
}

std::string LongHeaders(uint32_t stream, const std::string& path, size_t bytes) {
  const std::string fields =
      Fields(path) + std::string(1, '\0') + Text("x-long") + Text(std::string(bytes, 'v'));
  std::string frames;
  for (size_t at = 0; at < fields.size(); at += kMostPayload) {
    const bool last = at + kMostPayload >= fields.size();
    frames += Framed(at == 0 ? kHeaders : kContinuation, last ? kEndHeaders : 0, stream,
                     fields.substr(at, kMostPayload));
  }
  return frames;
}

std::string EmptyMessage(uint32_t stream) { return LastMessage(stream, ""); }

std::string LastMessage(uint32_t stream, const std::string& bytes) {
  return Framed(kData, kEndStream, stream,
                MessagePrefix(static_cast<uint32_t>(bytes.size())) + bytes);
}

std::string MessagePrefix(uint32_t length) { return '\0' + BigEndian(length, 4); }

std::string Data(uint32_t stream, const std::string& bytes) {
  return Framed(kData, 0, stream, bytes);
}

std::string Ping() { return Framed(kPing, 0, 0, "measured"); }

std::string PingAnswer() { return Framed(kPing, kAck, 0, "measured"); }

std::string Reset(uint32_t stream) { return Framed(kRstStream, 0, stream, BigEndian(kCancel, 4)); }

uint32_t NumberAt(const std::string& bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = at; i < at + 4; ++i) number = number << 8 | static_cast<uint8_t>(bytes.at(i));
  return number;
}

std::optional<Frame> TakeFrame(std::string& bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  const size_t length = NumberAt(bytes, 0) >> 8;
  if (bytes.size() < kHeaderBytes + length) return std::nullopt;
  Frame frame{.type = static_cast<uint8_t>(bytes[3]),
              .acknowledges = (bytes[4] & kAck) != 0,
              .stream = NumberAt(bytes, 5),
              .payload = bytes.substr(kHeaderBytes, length)};
  bytes.erase(0, kHeaderBytes + length);
  return frame;
}

std::optional<uint32_t> InitialWindow(const Frame& settings) {
  for (size_t at = 0; at + kSettingBytes <= settings.payload.size(); at += kSettingBytes) {
    const uint32_t name = NumberAt(settings.payload, at) >> 16;
    if (name == kInitialWindowSize) return NumberAt(settings.payload, at + 2);
  }
  return std::nullopt;
}

std::string Acknowledge(const Frame& frame) {
  return Framed(static_cast<char>(frame.type), kAck, 0,
                frame.type == Frame::kPing ? frame.payload : "");
}

}  // namespace holdfast::testing::http2
