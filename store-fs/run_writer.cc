#include "store-fs/run_writer.h"

#include "platform/status_macros.h"
#include "store-fs/bounds.h"
#include "store-fs/crc32c.h"
#include "store-fs/run_block.h"

namespace holdfast::fs {
namespace {

// What a block takes in a directory beside its first key, and a directory beside its blocks and its
// filter and last key, at most.
constexpr size_t kBlockRowBytes = 20;
constexpr size_t kDirectoryRestBytes = 64;

absl::Status TooLong() {
  return absl::OutOfRangeError("a run of the index would be longer than it may be");
}

}  // namespace

absl::StatusOr<RunWriter> RunWriter::Create(Files& files, const std::string& path, size_t suffix) {
  RETURN_IF_ERROR(RemoveTree(files, path));
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, files.Open(path, OpenMode::kCreate));
  return RunWriter(std::move(file), suffix);
}

absl::Status RunWriter::Add(const IndexEntry& entry) {
  RETURN_IF_ERROR(CheckEntry(entry));
  if (!empty() && entry.key <= directory_.last) {
    return absl::OutOfRangeError("an entry of the index is not behind the one before");
  }
  if (block_.size() + EncodedSize(entry) > kRunBlockBytes) {
    RETURN_IF_ERROR(EndBlock());
  }
  if (block_.size() == 0) {
    directory_bytes_ += kBlockRowBytes + entry.key.size();
    const size_t rest = kDirectoryRestBytes + kRunFilterBytes + kIndexKeyBytes;
    const bool has_room =
        directory_.blocks.size() < kRunBlocks && directory_bytes_ + rest <= kRunDirectoryBytes;
    if (!has_room) return TooLong();
    first_ = entry.key;
  }
  PutEntry(entry, block_);
  const uint64_t hash = HashOfKey(FilterPart(entry.key, directory_.suffix));
  if (hashes_.empty() || hashes_.back() != hash) hashes_.push_back(hash);
  directory_.last = entry.key;
  ++entries_;
  return absl::OkStatus();
}

absl::Status RunWriter::EndBlock() {
  const std::string bytes = std::exchange(block_, Encoder()).Take();
  RETURN_IF_ERROR(file_->Write(bytes_, bytes));
  directory_.blocks.push_back({.offset = bytes_,
                               .size = bytes.size(),
                               .crc = Crc32c(bytes),
                               .first = std::exchange(first_, {})});
  bytes_ += bytes.size();
  return absl::OkStatus();
}

absl::StatusOr<RunInfo> RunWriter::Finish() {
  if (empty()) return absl::FailedPreconditionError("a run has at least one entry");
  RETURN_IF_ERROR(EndBlock());
  directory_.filter = KeyFilter::Of(hashes_);
  const std::string directory = EncodeDirectory(directory_);
  RETURN_IF_ERROR(file_->Write(bytes_, directory));
  RETURN_IF_ERROR(file_->Sync());
  return RunInfo{.file = 0,
                 .blocks_bytes = bytes_,
                 .directory_bytes = directory.size(),
                 .directory_crc = Crc32c(directory)};
}

}  // namespace holdfast::fs
