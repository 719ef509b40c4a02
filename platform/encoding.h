// The one way numbers and texts become bytes: tokens, fingerprints, refusals and the records of a
// store.
//
// A number is a varint of at most ten bytes, a text is its length and its bytes. There are no tags:
// a reader knows the order, and a record begins with its version.
//
//   Encoder out;
//   out.Number(7).Text("seven");
//   Decoder in(out.bytes());
//   uint64_t number = in.Number();
//   std::string text(in.Text());
//   if (!in.Done()) ...  // short, overlong or left over: the values are not to be used
#ifndef HOLDFAST_PLATFORM_ENCODING_H_
#define HOLDFAST_PLATFORM_ENCODING_H_

#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

class Encoder {
 public:
  Encoder() = default;
  // Writes behind `begun`, with room for so many bytes in all.
  Encoder(std::string begun, size_t room) : bytes_(std::move(begun)) { bytes_.reserve(room); }

  Encoder& Number(uint64_t value);
  Encoder& Text(std::string_view text);
  // The bytes alone, for what has a fixed length.
  Encoder& Raw(std::string_view bytes);
  // Microseconds since the epoch of Unix.
  Encoder& Time(absl::Time time);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string Take() { return std::move(bytes_); }
  [[nodiscard]] size_t size() const { return bytes_.size(); }

 private:
  std::string bytes_;
};

// Reads what an Encoder wrote. After the first failure every read answers 0 or empty. Views point
// into the bytes it was made from.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes), whole_(bytes.size()) {}

  uint64_t Number();
  std::string_view Text();
  std::string_view Raw(size_t count);
  absl::Time Time();
  // A count of items that follow, each of at least one byte: never more than the bytes that are
  // left.
  size_t Count();
  // For values that were read but are not possible.
  void Fail() { failed_ = true; }

  [[nodiscard]] bool ok() const { return !failed_; }
  // True when everything was read and nothing failed.
  [[nodiscard]] bool Done() const { return !failed_ && rest_.empty(); }
  // How many bytes have been read.
  [[nodiscard]] size_t position() const { return whole_ - rest_.size(); }

 private:
  std::string_view rest_;
  size_t whole_;
  bool failed_ = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_ENCODING_H_
