// The first byte says what the rest is: a block of a run; the directory of one; a whole run, its
// directory behind two bytes of its length, as it is or with checksums that are right; or a head
// file, which names runs and has entries of its own.
#include "platform/encoding.h"
#include "store-fs/crc32c.h"
#include "store-fs/layout.h"
#include "store-fs/recovery.h"
#include "store-fs/run_block.h"
#include "store-fs/run_directory.h"
#include "store-fs/session_state.h"
#include "store-fs/sorted_run.h"
#include "tests/fuzz/targets.h"
#include "tests/support/memory_files.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::fuzz {
namespace {

// What a reader takes is what a writer writes back.
void Block(std::string_view bytes) {
  fs::BlockReader reader(bytes);
  Encoder out;
  std::string last;
  for (;;) {
    const auto entry = reader.Next();
    if (!entry.ok()) return;
    if (!*entry) break;
    const fs::IndexEntry copy = (*entry)->Copy();
    Require(copy.key > last, "keys of a block do not ascend");
    Require(fs::CheckEntry(copy).ok(), "an entry is read that would not be written");
    last = copy.key;
    const size_t before = out.size();
    fs::PutEntry(copy, out);
    Require(out.size() - before == fs::EncodedSize(copy), "an entry has another size");
  }
  fs::BlockReader again(out.bytes());
  for (;;) {
    const auto entry = again.Next();
    Require(entry.ok(), "a block that was written back cannot be read");
    if (!*entry) return;
  }
}

uint64_t SizeOf(const std::vector<fs::RunBlock>& blocks) {
  uint64_t size = 0;
  for (const fs::RunBlock& block : blocks) size += block.size;
  return size;
}

void Directory(std::string_view bytes) {
  // The first bytes say how long the blocks are.
  Decoder in(bytes);
  const uint64_t blocks_bytes = in.Number();
  const auto directory = fs::DecodeDirectory(bytes.substr(in.position()), blocks_bytes);
  if (!directory) return;
  Require(SizeOf(directory->blocks) == blocks_bytes, "blocks do not fill the run");
  const std::string text = fs::EncodeDirectory(*directory);
  const auto again = fs::DecodeDirectory(text, blocks_bytes);
  Require(again.has_value() && fs::EncodeDirectory(*again) == text,
          "a directory changes when it is written back");
}

// The directory of a run, in which the checksums of its blocks are right.
std::string WithChecksums(std::string_view blocks, std::string_view directory) {
  auto decoded = fs::DecodeDirectory(directory, blocks.size());
  if (!decoded) return std::string(directory);
  for (fs::RunBlock& block : decoded->blocks) {
    block.crc = fs::Crc32c(blocks.substr(block.offset, block.size));
  }
  return fs::EncodeDirectory(*decoded);
}

// Whatever the file holds, a read answers an entry, none, or damage.
void Run(std::string_view bytes, bool fix) {
  if (bytes.size() < 2) return;
  const size_t wanted =
      static_cast<uint8_t>(bytes[0]) + static_cast<uint8_t>(bytes[1]) * size_t{256};
  bytes.remove_prefix(2);
  const size_t size = std::min(wanted, bytes.size());
  const std::string blocks(bytes.substr(0, bytes.size() - size));
  std::string directory(bytes.substr(blocks.size()));
  if (fix) directory = WithChecksums(blocks, directory);
  const SessionKey key{*TenantId::Parse("default"), *SessionId::Parse("one")};
  const fs::RunInfo info{.file = 1,
                         .blocks_bytes = blocks.size(),
                         .directory_bytes = directory.size(),
                         .directory_crc = fs::Crc32c(directory)};
  test::MemoryDisk disk;
  const std::unique_ptr<fs::Files> files = disk.Open();
  const std::string session = fs::DirectoryOf(key);
  for (const std::string& parent :
       {std::string("t"), std::string("t/default"), session, session + "/" + fs::kStateDirectory}) {
    (void)files->MakeDirectory(parent);
  }
  Require(fs::WriteNew(*files, fs::PathOf(key, fs::FileKind::kRun, 1), blocks + directory).ok(),
          "a file cannot be written");
  const fs::RunFiles where{.files = *files, .key = key};
  const fs::SortedRun run(info);
  fs::RunCursor cursor(where, run, fs::KeyRange());
  std::string last;
  for (;;) {
    const auto entry = cursor.Next();
    Require(entry.ok() || absl::IsDataLoss(entry.status()), "a run fails for another reason");
    if (!entry.ok() || !*entry) return;
    last = (*entry)->key;
    const auto found = run.FindAtOrBelow(where, last);
    Require(found.ok() || absl::IsDataLoss(found.status()), "a run fails for another reason");
    Require(!found.ok() || !*found || (*found)->key <= last, "a greater key is found");
  }
}

void HeadFile(std::string_view bytes) {
  const std::optional<fs::SessionState> state = fs::DecodeSessionState(bytes);
  if (!state) return;
  const std::string text = fs::EncodeSessionState(*state);
  const std::optional<fs::SessionState> again = fs::DecodeSessionState(text);
  Require(again.has_value(), "a head file that was written back cannot be read");
  Require(fs::EncodeSessionState(*again) == text, "a head file changes when it is written back");
}

}  // namespace

void Index(std::string_view bytes) {
  if (bytes.empty()) return;
  const char mode = bytes.front();
  bytes.remove_prefix(1);
  switch (static_cast<uint8_t>(mode) % 5) {
    case 0:
      return Block(bytes);
    case 1:
      return Directory(bytes);
    case 2:
      return Run(bytes, false);
    case 3:
      return Run(bytes, true);
    default:
      return HeadFile(bytes);
  }
}

}  // namespace holdfast::fuzz
