// Bytes as the write-ahead log: as a whole file, and as what one write of it holds. What is read is
// what was written, and anything else is damage.
#include "store-fs/frame.h"
#include "store-fs/write_ahead_files.h"
#include "tests/fuzz/targets.h"
#include "tests/support/memory_files.h"
#include "tests/support/pieces.h"

#include <string>
#include <vector>

namespace holdfast::fuzz {
namespace {

constexpr uint64_t kSalt = 7;
constexpr uint64_t kMost = uint64_t{1} << 20;

absl::StatusOr<fs::LogContents> Read(const std::string& file) {
  test::MemoryDisk disk;
  const auto files = disk.Open();
  Require(files->MakeDirectory(fs::kWriteAheadDirectory).ok(), "there is no directory");
  Require(fs::WriteNew(*files, fs::WriteAheadPath(0), file).ok(), "nothing was written");
  const std::string other = fs::EncodeStart({.salt = kSalt + 1, .number = 1}).bytes;
  Require(fs::WriteNew(*files, fs::WriteAheadPath(1), other).ok(), "nothing was written");
  return fs::ReadWriteAheadLog(*files, kMost);
}

void AsFile(std::string_view bytes) {
  const auto contents = Read(std::string(bytes));
  Require(contents.ok() || absl::IsFailedPrecondition(contents.status()),
          "a log is refused for another reason than damage");
}

void AsWrite(std::string_view payload) {
  const fs::EncodedFrame start = fs::EncodeStart({.salt = kSalt, .number = 2});
  const fs::FrameHead head{.type = fs::FrameType::kPlaced,
                           .salt = kSalt,
                           .epoch = Epoch(),
                           .revision = Revision(),
                           .previous = start.checksum};
  const auto frame = fs::EncodeFrame(head, payload, start.bytes.size());
  Require(frame.ok(), "a short payload has no frame");
  const auto contents = Read(start.bytes + frame->bytes);
  const auto decoded = fs::DecodePlaced(payload);
  Require(contents.ok() == decoded.has_value(),
          "reader and decoder disagree whether a write is valid");
  if (!decoded) return;
  Require(contents->generation == 2 && contents->frames.size() == decoded->size(),
          "the frames of a write are not what was written");
  std::vector<fs::PlacedFrame> placed;
  for (const fs::StoredFrame& stored : contents->frames) {
    placed.push_back(
        {.key = &stored.key, .salt = stored.salt, .offset = stored.offset, .frame = stored.frame});
  }
  const std::string encoded = test::Joined(fs::PlacedPayload(placed).pieces());
  const auto again = fs::DecodePlaced(encoded);
  Require(again.has_value() && again->size() == placed.size(),
          "the frames of a write change when they are written back");
}

}  // namespace

void WriteAhead(std::string_view bytes) {
  if (bytes.empty() || bytes.size() > kMost / 2) return;
  return bytes.front() == '\0' ? AsFile(bytes.substr(1)) : AsWrite(bytes.substr(1));
}

}  // namespace holdfast::fuzz
