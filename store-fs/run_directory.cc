#include "store-fs/run_directory.h"

#include "store-fs/bounds.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace holdfast::fs {
namespace {

constexpr uint64_t kDirectoryVersion = 1;

uint32_t ReadCrc(Decoder& in) {
  const uint64_t crc = in.Number();
  if (crc > std::numeric_limits<uint32_t>::max()) in.Fail();
  return static_cast<uint32_t>(crc);
}

std::string ReadKey(Decoder& in) {
  const std::string_view key = in.Text();
  if (key.empty() || key.size() > kIndexKeyBytes) in.Fail();
  return std::string(key);
}

// Whether the first keys ascend, none beyond the last key.
bool IsSorted(const RunDirectory& directory) {
  const auto not_less = [](const RunBlock& one, const RunBlock& next) {
    return one.first >= next.first;
  };
  return std::ranges::adjacent_find(directory.blocks, not_less) == directory.blocks.end() &&
         directory.blocks.back().first <= directory.last;
}

}  // namespace

void PutRun(const RunInfo& info, Encoder& out) {
  out.Number(info.file).Number(info.blocks_bytes).Number(info.directory_bytes);
  out.Number(info.directory_crc).Number(info.is_later ? 1 : 0);
}

RunInfo ReadRun(Decoder& in) {
  RunInfo info;
  info.file = in.Number();
  info.blocks_bytes = in.Number();
  info.directory_bytes = in.Number();
  info.directory_crc = ReadCrc(in);
  const uint64_t later = in.Number();
  info.is_later = later == 1;
  const bool is_possible = later <= 1 && info.file > 0 && info.blocks_bytes > 0 &&
                           info.blocks_bytes <= kRunBlocks * kRunBlockBytes &&
                           info.directory_bytes > 0 && info.directory_bytes <= kRunDirectoryBytes;
  if (!is_possible) in.Fail();
  return info;
}

const RunBlock* RunDirectory::Find(std::string_view key) const {
  const auto after = std::ranges::upper_bound(blocks, key, {}, &RunBlock::first);
  return after == blocks.begin() ? nullptr : &*std::prev(after);
}

std::string EncodeDirectory(const RunDirectory& directory) {
  Encoder out;
  out.Number(kDirectoryVersion).Number(directory.suffix).Number(directory.blocks.size());
  for (const RunBlock& block : directory.blocks) {
    out.Number(block.size).Number(block.crc).Text(block.first);
  }
  out.Text(directory.last).Text(directory.filter.bytes());
  return out.Take();
}

std::optional<RunDirectory> DecodeDirectory(std::string_view bytes, uint64_t blocks_bytes) {
  Decoder in(bytes);
  if (in.Number() != kDirectoryVersion) in.Fail();
  RunDirectory directory;
  directory.suffix = in.Number();
  const size_t count = in.Count();
  if (directory.suffix > kIndexKeyBytes || count == 0 || count > kRunBlocks) return std::nullopt;
  uint64_t offset = 0;
  for (size_t left = count; left > 0 && in.ok(); --left) {
    RunBlock& block = directory.blocks.emplace_back();
    block.offset = offset;
    block.size = in.Number();
    block.crc = ReadCrc(in);
    block.first = ReadKey(in);
    if (block.size == 0 || block.size > kRunBlockBytes) in.Fail();
    offset += block.size;
  }
  directory.last = ReadKey(in);
  const std::string_view filter = in.Text();
  if (filter.size() > kRunFilterBytes) in.Fail();
  if (!in.Done() || offset != blocks_bytes || !IsSorted(directory)) return std::nullopt;
  directory.filter = KeyFilter(std::string(filter));
  return directory;
}

}  // namespace holdfast::fs
