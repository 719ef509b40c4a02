#include "store-fs/sorted_run.h"

#include "platform/status_macros.h"
#include "store-fs/crc32c.h"
#include "store-fs/layout.h"

namespace holdfast::fs {
namespace {

absl::Status UnreadableRun() { return absl::DataLossError("a run is not what was written"); }

absl::StatusOr<std::unique_ptr<File>> OpenRun(const RunFiles& where, const RunInfo& info) {
  return where.files.Open(PathOf(where.key, FileKind::kRun, info.file), OpenMode::kRead);
}

// Bytes of the file whose checksum and length are known.
absl::StatusOr<std::string> ReadChecked(File& file, uint64_t offset, uint64_t size, uint32_t crc) {
  ASSIGN_OR_RETURN(std::string bytes, file.Read(offset, size));
  if (bytes.size() != size || Crc32c(bytes) != crc) return UnreadableRun();
  return bytes;
}

absl::StatusOr<std::string> ReadBlockOf(File& file, const RunBlock& block) {
  return ReadChecked(file, block.offset, block.size, block.crc);
}

}  // namespace

// Two callers may read it at the same moment: both read the same.
absl::StatusOr<SortedRun::Directory> SortedRun::LoadDirectory(const RunFiles& where) const {
  {
    const absl::MutexLock lock(&mutex_);
    if (directory_ != nullptr) return directory_;
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, OpenRun(where, info_));
  ASSIGN_OR_RETURN(
      const std::string bytes,
      ReadChecked(*file, info_.blocks_bytes, info_.directory_bytes, info_.directory_crc));
  std::optional<RunDirectory> read = DecodeDirectory(bytes, info_.blocks_bytes);
  if (!read) return UnreadableRun();
  auto directory = std::make_shared<const RunDirectory>(*std::move(read));
  const absl::MutexLock lock(&mutex_);
  directory_ = directory;
  return directory;
}

absl::StatusOr<std::optional<IndexEntry>> SortedRun::FindAtOrBelow(const RunFiles& where,
                                                                   std::string_view key) const {
  ASSIGN_OR_RETURN(const Directory directory, LoadDirectory(where));
  const std::string_view part = FilterPart(key, directory->suffix);
  const RunBlock* const block = directory->Find(key);
  if (block == nullptr || FilterPart(directory->last, directory->suffix) < part) {
    return std::nullopt;
  }
  if (!directory->filter.MayHold(HashOfKey(part))) return std::nullopt;
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, OpenRun(where, info_));
  ASSIGN_OR_RETURN(const std::string bytes, ReadBlockOf(*file, *block));
  BlockReader reader(bytes);
  std::optional<BlockReader::Entry> found;
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<BlockReader::Entry> entry, reader.Next());
    if (!found && (!entry || entry->key != block->first)) return UnreadableRun();
    if (!entry || entry->key > key) break;
    found = entry;
  }
  if (FilterPart(found->key, directory->suffix) != part) return std::nullopt;
  return found->Copy();
}

absl::StatusOr<std::optional<IndexEntry>> RunCursor::Next() {
  if (ended_) return std::nullopt;
  auto entry = Step();
  ended_ = !entry.ok() || !*entry;
  return entry;
}

absl::StatusOr<std::optional<IndexEntry>> RunCursor::Step() {
  if (directory_ == nullptr) {
    RETURN_IF_ERROR(Open());
  }
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<BlockReader::Entry> entry, block_->Next());
    if (entry) {
      if (range_.EndsBefore(entry->key)) return std::nullopt;
      if (entry->key >= range_.from) return entry->Copy();
      continue;
    }
    if (++at_ == directory_->blocks.size()) return std::nullopt;
    if (range_.EndsBefore(directory_->blocks[at_].first)) return std::nullopt;
    RETURN_IF_ERROR(ReadBlock());
  }
}

absl::Status RunCursor::Open() {
  ASSIGN_OR_RETURN(directory_, run_.LoadDirectory(where_));
  const RunBlock* const block = directory_->Find(range_.from);
  at_ = block == nullptr ? 0 : static_cast<size_t>(block - directory_->blocks.data());
  ASSIGN_OR_RETURN(file_, OpenRun(where_, run_.info()));
  return ReadBlock();
}

absl::Status RunCursor::ReadBlock() {
  ASSIGN_OR_RETURN(bytes_, ReadBlockOf(*file_, directory_->blocks[at_]));
  block_.emplace(bytes_);
  return absl::OkStatus();
}

}  // namespace holdfast::fs
