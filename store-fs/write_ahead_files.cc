#include "store-fs/write_ahead_files.h"

#include "platform/encoding.h"
#include "platform/status_macros.h"
#include "store-fs/frame.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace holdfast::fs {
namespace {

absl::Status DamagedAt(size_t file, uint64_t at, std::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat(WriteAheadPath(file), " is damaged at byte ", at, ": ", std::string(why)));
}

struct FileContents {
  uint64_t generation = 0;
  std::vector<StoredFrame> frames;
};

absl::StatusOr<FileContents> ReadFile(size_t file, std::string_view bytes) {
  const FrameRead start = ReadFrame(bytes, 0, std::nullopt);
  if (start.state != FrameState::kValid || start.frame.head.type != FrameType::kStart) {
    return DamagedAt(file, 0, "it does not begin as a log");
  }
  FileContents contents;
  Decoder in(start.frame.payload);
  contents.generation = in.Number();
  if (!in.Done()) return DamagedAt(file, 0, "it does not begin as a log");
  const uint64_t salt = start.frame.head.salt;
  uint32_t previous = start.frame.checksum;
  for (uint64_t at = start.frame.size;;) {
    const FrameRead read = ReadFrame(bytes, at, salt);
    if (read.state != FrameState::kValid) {
      // A write begins when the one before is synced, so only the last can be unfinished.
      if (ValidFrameFollows(bytes, at, salt)) return DamagedAt(file, at, "wrong checksum");
      return contents;
    }
    if (read.frame.head.previous != previous || read.frame.head.type != FrameType::kPlaced) {
      return DamagedAt(file, at, "a write is not the next one");
    }
    std::optional<std::vector<StoredFrame>> frames = DecodePlaced(read.frame.payload);
    if (!frames) return DamagedAt(file, at, "wrong shape");
    std::ranges::move(*frames, std::back_inserter(contents.frames));
    previous = read.frame.checksum;
    at += read.frame.size;
  }
}

}  // namespace

std::string WriteAheadPath(size_t file) { return absl::StrCat(kWriteAheadDirectory, "/", file); }

absl::Status MakeWriteAheadFiles(Files& files, Random& random) {
  absl::Status made = files.MakeDirectory(kWriteAheadDirectory);
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  for (size_t file = 0; file < kWriteAheadFiles; ++file) {
    const std::string path = WriteAheadPath(file);
    if (files.Stat(path).ok()) continue;
    RETURN_IF_ERROR(
        WriteNew(files, path, EncodeStart({.salt = NewSalt(random), .number = file}).bytes));
  }
  RETURN_IF_ERROR(files.SyncDirectory(kWriteAheadDirectory));
  return files.SyncDirectory(".");
}

absl::StatusOr<LogContents> ReadWriteAheadLog(Files& files, uint64_t most) {
  LogContents contents;
  std::array<FileContents, kWriteAheadFiles> read;
  for (size_t file = 0; file < kWriteAheadFiles; ++file) {
    absl::StatusOr<std::string> bytes = ReadWhole(files, WriteAheadPath(file), most);
    if (absl::IsNotFound(bytes.status())) return DamagedAt(file, 0, "it is missing");
    RETURN_IF_ERROR(bytes.status());
    contents.bytes[file] = *std::move(bytes);
    ASSIGN_OR_RETURN(read[file], ReadFile(file, contents.bytes[file]));
  }
  const size_t older = read[0].generation < read[1].generation ? 0 : 1;
  for (const size_t file : {older, 1 - older}) {
    std::ranges::move(read[file].frames, std::back_inserter(contents.frames));
    contents.generation = read[file].generation;
  }
  return contents;
}

}  // namespace holdfast::fs
