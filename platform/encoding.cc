#include "platform/encoding.h"

namespace holdfast {

Encoder& Encoder::Number(uint64_t value) {
  while (value >= 0x80) {
    bytes_ += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes_ += static_cast<char>(value);
  return *this;
}

Encoder& Encoder::Text(std::string_view text) {
  Number(text.size());
  return Raw(text);
}

Encoder& Encoder::Raw(std::string_view bytes) {
  bytes_.append(bytes);
  return *this;
}

Encoder& Encoder::Time(absl::Time time) {
  return Number(static_cast<uint64_t>(absl::ToUnixMicros(time)));
}

uint64_t Decoder::Number() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (failed_ || rest_.empty()) break;
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    if (shift == 63 && byte > 1) break;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  failed_ = true;
  return 0;
}

std::string_view Decoder::Text() {
  const uint64_t size = Number();
  return size <= rest_.size() ? Raw(static_cast<size_t>(size)) : (Fail(), std::string_view());
}

std::string_view Decoder::Raw(size_t count) {
  if (failed_ || count > rest_.size()) {
    failed_ = true;
    return {};
  }
  const std::string_view bytes = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return bytes;
}

absl::Time Decoder::Time() { return absl::FromUnixMicros(static_cast<int64_t>(Number())); }

size_t Decoder::Count() {
  const uint64_t count = Number();
  if (count > rest_.size()) Fail();
  return failed_ ? 0 : static_cast<size_t>(count);
}

}  // namespace holdfast
