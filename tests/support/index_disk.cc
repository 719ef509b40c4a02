#include "tests/support/index_disk.h"

#include "platform/status_macros.h"
#include "store-fs/layout.h"
#include "store-fs/recovery.h"
#include "store-fs/run_writer.h"
#include "tests/support/breaking_files.h"
#include "tests/support/changes.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace holdfast::test {
namespace {

template <typename Cursor>
absl::StatusOr<std::vector<fs::IndexEntry>> ReadAll(Cursor& cursor) {
  std::vector<fs::IndexEntry> entries;
  for (;;) {
    ASSIGN_OR_RETURN(std::optional<fs::IndexEntry> entry, cursor.Next());
    if (!entry) return entries;
    entries.push_back(*std::move(entry));
  }
}

}  // namespace

IndexDisk::IndexDisk() : key_(Key("alpha")) {
  files_ = BreakBy(disk_, [this](const FileOperation& asked) {
    if (asked.name == "read") ++reads_;
    return absl::OkStatus();
  })(nullptr);
  const std::string session = fs::DirectoryOf(key_);
  for (const std::string& path : {std::string("tmp"), std::string("t"), "t/" + key_.tenant.value(),
                                  session, session + "/" + fs::kStateDirectory}) {
    files_->MakeDirectory(path).IgnoreError();
  }
}

std::string IndexDisk::PathOf(uint64_t file) const {
  return fs::PathOf(key_, fs::FileKind::kRun, file);
}

std::shared_ptr<const fs::SortedRun> IndexDisk::Write(uint64_t file,
                                                      const std::vector<fs::IndexEntry>& entries,
                                                      size_t suffix) {
  auto writer = fs::RunWriter::Create(*files_, PathOf(file), suffix);
  EXPECT_TRUE(writer.ok()) << writer.status();
  for (const fs::IndexEntry& entry : entries) {
    const absl::Status added = writer->Add(entry);
    EXPECT_TRUE(added.ok()) << added;
  }
  absl::StatusOr<fs::RunInfo> info = writer->Finish();
  EXPECT_TRUE(info.ok()) << info.status();
  info->file = file;
  return std::make_shared<const fs::SortedRun>(*info);
}

size_t IndexDisk::TakeReads() { return std::exchange(reads_, 0); }

absl::StatusOr<std::vector<fs::IndexEntry>> EntriesOf(const fs::RunFiles& where,
                                                      const fs::SortedRun& run) {
  fs::RunCursor cursor(where, run, fs::KeyRange());
  return ReadAll(cursor);
}

absl::StatusOr<std::vector<fs::IndexEntry>> EntriesIn(const fs::RunFiles& where,
                                                      const fs::IndexView& view,
                                                      const fs::KeyRange& range,
                                                      fs::Direction direction) {
  fs::IndexCursor cursor(where, view, {.range = range, .direction = direction});
  return ReadAll(cursor);
}

absl::StatusOr<std::vector<fs::IndexEntry>> EntriesLeft(fs::IndexCursor& cursor) {
  return ReadAll(cursor);
}

}  // namespace holdfast::test
