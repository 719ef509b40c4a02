// What one write to the write-ahead log holds: frames of several sessions, each with the place in
// its journal (for the layout see docs/formats.md).
#ifndef HOLDFAST_STORE_FS_WRITE_AHEAD_RECORD_H_
#define HOLDFAST_STORE_FS_WRITE_AHEAD_RECORD_H_

#include "session/ids.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fs {

// A frame and where it belongs. Owns neither.
struct PlacedFrame {
  const SessionKey* key = nullptr;
  uint64_t salt = 0;  // of the journal
  uint64_t offset = 0;
  std::string_view frame;
};

// The same as it was read.
struct StoredFrame {
  SessionKey key;
  uint64_t salt = 0;
  uint64_t offset = 0;
  std::string_view frame;  // into the payload
};

// At most so many bytes beside each frame.
inline constexpr size_t kBesideFrameBytes = 512;

// The payload of such a write. The frames stay where they are, and must outlive it.
class PlacedPayload {
 public:
  explicit PlacedPayload(const std::vector<PlacedFrame>& frames);
  PlacedPayload(const PlacedPayload&) = delete;
  PlacedPayload& operator=(const PlacedPayload&) = delete;
  ~PlacedPayload() = default;

  // Its bytes, one piece behind the other.
  [[nodiscard]] const std::vector<std::string_view>& pieces() const { return pieces_; }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  std::string beside_;  // what precedes each frame
  std::vector<std::string_view> pieces_;
  size_t size_ = 0;
};

// nullopt when `payload` is not what a PlacedPayload holds.
std::optional<std::vector<StoredFrame>> DecodePlaced(std::string_view payload);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_WRITE_AHEAD_RECORD_H_
