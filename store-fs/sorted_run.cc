#include "store-fs/sorted_run.h"

#include "platform/status_macros.h"
#include "store-fs/crc32c.h"
#include "store-fs/layout.h"

namespace holdfast::fs {
namespace {

absl::Status UnreadableRun() { return absl::DataLossError("a run is not what was written"); }

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

absl::StatusOr<std::unique_ptr<File>> SortedRun::Open(const RunFiles& where) const {
  return where.files.Open(PathOf(where.key, kind_, info_.file), OpenMode::kRead);
}

// Two callers may read it at the same moment: both read the same.
absl::StatusOr<SortedRun::Directory> SortedRun::LoadDirectory(const RunFiles& where) const {
  {
    const absl::MutexLock lock(&mutex_);
    if (directory_ != nullptr) return directory_;
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, Open(where));
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
                                                                   std::string_view key,
                                                                   BlockMemo* memo) const {
  ASSIGN_OR_RETURN(const Directory directory, LoadDirectory(where));
  const std::string_view part = FilterPart(key, directory->suffix);
  const RunBlock* const block = directory->Find(key);
  if (block == nullptr || FilterPart(directory->last, directory->suffix) < part) {
    return std::nullopt;
  }
  if (!directory->filter.MayHold(HashOfKey(part))) return std::nullopt;
  BlockMemo own;
  BlockMemo& read = memo == nullptr ? own : *memo;
  if (read.offset != block->offset) {
    read.offset.reset();
    ASSIGN_OR_RETURN(const std::unique_ptr<File> file, Open(where));
    ASSIGN_OR_RETURN(read.bytes, ReadBlockOf(*file, *block));
    read.offset = block->offset;
  }
  BlockReader reader(read.bytes);
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
  auto entry = direction_ == Direction::kAscending ? Step() : StepBack();
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

absl::StatusOr<std::optional<IndexEntry>> RunCursor::StepBack() {
  if (directory_ == nullptr) {
    RETURN_IF_ERROR(Open());
    RETURN_IF_ERROR(ListBlock());
  }
  while (behind_.empty()) {
    if (at_ == 0 || directory_->blocks[at_].first <= range_.from) return std::nullopt;
    --at_;
    RETURN_IF_ERROR(ReadBlock());
    RETURN_IF_ERROR(ListBlock());
  }
  IndexEntry entry = behind_.back().Copy();
  behind_.pop_back();
  return entry;
}

absl::Status RunCursor::ListBlock() {
  behind_.clear();
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<BlockReader::Entry> entry, block_->Next());
    if (!entry) return absl::OkStatus();
    if (range_.Contains(entry->key)) behind_.push_back(*entry);
  }
}

absl::Status RunCursor::Open() {
  ASSIGN_OR_RETURN(directory_, run_.LoadDirectory(where_));
  const bool from_end = direction_ == Direction::kDescending;
  const RunBlock* const block = directory_->Find(from_end ? range_.to : range_.from);
  at_ = block == nullptr ? 0 : static_cast<size_t>(block - directory_->blocks.data());
  if (from_end && range_.to.empty()) at_ = directory_->blocks.size() - 1;
  ASSIGN_OR_RETURN(file_, run_.Open(where_));
  return ReadBlock();
}

absl::Status RunCursor::ReadBlock() {
  ASSIGN_OR_RETURN(bytes_, ReadBlockOf(*file_, directory_->blocks[at_]));
  block_.emplace(bytes_);
  return absl::OkStatus();
}

}  // namespace holdfast::fs
