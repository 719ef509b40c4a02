// Frames of the commit log. One frame is one write and one sync: it is whole, or it is provably
// torn (for the layout see docs/formats.md).
#ifndef HOLDFAST_STORE_FS_FRAME_H_
#define HOLDFAST_STORE_FS_FRAME_H_

#include "platform/clock.h"
#include "session/ids.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fs {

inline constexpr size_t kFrameAlign = 64;    // divides a sector, so that no header straddles one
inline constexpr size_t kSectorBytes = 512;  // what a disk writes whole
inline constexpr size_t kFrameHeader = 64;
inline constexpr size_t kStartFrameBytes = 128;  // of a frame with nothing but a number

enum class FrameType : uint8_t {
  kStart = 1,      // the first of a file: which one it is
  kCommit = 2,     // whole changes
  kTombstone = 3,  // of tombstones.log: one deleted session
  kPlaced = 4,     // of the write-ahead log: frames of sessions, and where they belong
};

struct FrameHead {
  FrameType type = FrameType::kCommit;
  uint64_t salt = 0;  // of the file: a frame of another journal never looks valid
  Epoch epoch;
  Revision revision;
  uint32_t previous = 0;  // checksum of the frame before
};

struct Frame {
  FrameHead head;
  std::string_view payload;  // into the bytes that were read
  uint32_t checksum = 0;
  size_t size = 0;  // on disk, padding included
};

// What a frame of such a payload takes on disk, padding included.
size_t FrameSize(size_t payload);

// A frame as it is written.
struct EncodedFrame {
  std::string bytes;
  uint32_t checksum = 0;
  size_t payload_bytes = 0;

  [[nodiscard]] std::string_view payload() const {
    return std::string_view(bytes).substr(kFrameHeader, payload_bytes);
  }
};

// The bytes before and behind a payload.
struct FrameEnds {
  std::string header;
  std::string trailer;  // the checksum, and padding
  uint32_t checksum = 0;
};

// The frame to be written at `offset`, which is a multiple of kFrameAlign. TOO_LARGE for a payload
// that ReadFrame would not take.
absl::StatusOr<EncodedFrame> EncodeFrame(const FrameHead& head, std::string_view payload,
                                         uint64_t offset);
// The room for a header that SealFrame takes before a payload.
inline std::string FrameRoom() { return std::string(kFrameHeader, '\0'); }
// The same without a copy of the payload, which is in `bytes` behind a FrameRoom().
absl::StatusOr<EncodedFrame> SealFrame(const FrameHead& head, std::string bytes, uint64_t offset);

// A frame that is written from where its payload lies, which must outlive it.
class GatheredFrame {
 public:
  // As EncodeFrame makes it, of a payload in pieces that ReadFrame would take.
  GatheredFrame(const FrameHead& head, const std::vector<std::string_view>& payload,
                uint64_t offset);
  GatheredFrame(const GatheredFrame&) = delete;
  GatheredFrame& operator=(const GatheredFrame&) = delete;
  ~GatheredFrame() = default;

  // The bytes of the frame, one piece behind the other.
  [[nodiscard]] const std::vector<std::string_view>& pieces() const { return pieces_; }
  [[nodiscard]] uint32_t checksum() const { return ends_.checksum; }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  FrameEnds ends_;
  std::vector<std::string_view> pieces_;
  size_t size_ = 0;
};

// A salt for a file that is begun.
uint64_t NewSalt(Random& random);

// What the first frame of a file says.
struct FileStart {
  uint64_t salt = 0;    // that of every frame of the file
  uint64_t number = 0;  // which one the file is
};

// The first frame of a file.
EncodedFrame EncodeStart(const FileStart& start);

// The result of reading a place where a frame may begin.
enum class FrameState : uint8_t {
  kValid,
  kTorn,  // an unfinished write: ends inside, has no header yet, or lacks sectors that its header
          // counts
  kDamaged,  // anything else that fails a check
};

struct FrameRead {
  FrameState state = FrameState::kDamaged;
  Frame frame;  // of a valid one
};

// True when a valid frame begins somewhere behind `offset`. Then the bytes at `offset` are no
// unfinished write: a frame is written only after the one before it was synced.
bool ValidFrameFollows(std::string_view journal, uint64_t offset, std::optional<uint64_t> salt);

// Reads the frame at `offset` of a journal whose bytes are `journal`. `salt` absent: any.
FrameRead ReadFrame(std::string_view journal, uint64_t offset, std::optional<uint64_t> salt);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_FRAME_H_
