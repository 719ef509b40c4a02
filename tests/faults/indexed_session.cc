#include "tests/faults/indexed_session.h"

#include "store-fs/fs_store.h"
#include "store-fs/layout.h"
#include "store-fs/recovery.h"

#include <utility>

namespace holdfast::test {

void IndexedSession::SetUp() {
  Open();
  Create("alpha");
}

void IndexedSession::Open() {
  fs::FsOptions options;
  options.root = root_ / "root";  // only its lock is real
  options.rotate_changes = rotate_changes_;
  options.compact_in_sweeps = true;
  options.bounds.inline_entries = inline_entries_;
  options.note = [this](const std::string& what) { notes_.push_back(what); };
  options.wrap_files = BreakBy(disk_, [this](const FileOperation& asked) {
    bytes_ += asked.bytes;
    if (asked.name == "read") ++reads_;
    if (before_) before_(asked);
    return fails_ && fails_(asked) ? absl::ResourceExhaustedError("no space") : absl::OkStatus();
  });
  store_ = fs::MakeFsStore(std::move(options), clock_, random_);
  ASSERT_TRUE(store_->Init().ok());
}

void IndexedSession::Restart() {
  store_->Dispose();
  Open();
}

void IndexedSession::Sweep() {
  const auto due = store_->ListDue(DueKind::kAbandoned, absl::Minutes(5), std::nullopt, 10);
  EXPECT_TRUE(due.ok()) << due.status();
}

void IndexedSession::Create(const std::string& session) {
  changes_.emplace(Key(session), random_);
  token_ = *LeaseToken::Parse(Must(changes_->Create()).token);
}

absl::StatusOr<CommitResult> IndexedSession::Commit(const Change& change) {
  auto result = store_->Commit(change);
  if (result.ok() && !result->refusal.ok()) return result->refusal;
  return result;
}

Receipt IndexedSession::Must(const Change& change) {
  const auto result = Commit(change);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->receipt : Receipt();
}

void IndexedSession::Rotate() {
  const auto before = Files("head.");
  while (Files("head.") == before) Must(changes_->Update({{"title", "rotate"}}));
}

std::vector<std::string> IndexedSession::Files(const std::string& kind) {
  std::vector<std::string> found;
  const auto names = disk_.Open()->List(fs::DirectoryOf(key()) + "/state");
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    if (name.starts_with(kind)) found.push_back(name);
  }
  return found;
}

std::string IndexedSession::PathOf(const std::string& name) const {
  return fs::DirectoryOf(key()) + "/state/" + name;
}

void IndexedSession::Flip(const std::string& name, size_t at) {
  std::string bytes = disk_.Read(PathOf(name));
  ASSERT_LT(at, bytes.size());
  bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
  disk_.Write(PathOf(name), bytes);
}

}  // namespace holdfast::test
