// Replies that are kept: the newest in memory, older ones in the session's log of requests alone,
// and each one handed out to its own request and to no other.
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "store-fs/layout.h"
#include "store-fs/request_table.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kRotateChanges = 4;
constexpr int kChanges = 90;  // many rotations, and segments that were merged

class RequestTableTest : public ::testing::Test {
 protected:
  // A row that was stored so many minutes after the beginning.
  static RequestRow Row(RequestId id, int minute) {
    RequestRow row;
    row.stamp.id = std::move(id);
    row.at = absl::UnixEpoch() + absl::Minutes(minute);
    return row;
  }
  static absl::Time At(int minute) { return absl::UnixEpoch() + absl::Minutes(minute); }

  SeededRandom random_;
  fs::RequestTable table_{11};  // ten rows before these have been dropped
};

TEST_F(RequestTableTest, HoldsTheNewestAndKnowsWhereTheOthersStand) {
  std::vector<RequestId> ids;
  for (int i = 0; i < 6; ++i) {
    ids.push_back(NewRequest(random_));
    table_.Add(Row(ids.back(), i));
    if (i == 3) table_.NoteWritten();
  }
  EXPECT_THAT(table_.unwritten(), SizeIs(2));
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto known = table_.Find(ids[i], absl::InfinitePast());
    ASSERT_TRUE(known) << i;
    EXPECT_EQ(known->number, 11 + i);
    EXPECT_EQ(known->row != nullptr, i > 3) << i;
    if (known->row != nullptr) {
      EXPECT_EQ(known->row->stamp.id, ids[i]);
    }
  }
  EXPECT_FALSE(table_.Find(NewRequest(random_), absl::InfinitePast()));
}

TEST_F(RequestTableTest, ForgetsWhatIsTooOldAndNoLaterRowOfThatId) {
  const RequestId once = NewRequest(random_);
  const RequestId twice = NewRequest(random_);
  table_.Add(Row(twice, 0));
  table_.Add(Row(once, 1));
  table_.Add(Row(twice, 2));
  EXPECT_FALSE(table_.Find(once, At(2)));
  table_.DropOlder(At(3));  // none stands in the log yet
  EXPECT_TRUE(table_.Find(once, At(0)));
  table_.NoteWritten();
  table_.DropOlder(At(2));
  EXPECT_FALSE(table_.Find(once, At(0)));
  const auto known = table_.Find(twice, At(0));
  ASSERT_TRUE(known);
  EXPECT_EQ(known->number, 13U);
}

class RequestLog : public ::testing::Test {
 protected:
  void SetUp() override {
    Open();
    sent_.push_back(changes_.Create());
    for (int i = 1; i < kChanges; ++i) {
      sent_.push_back(changes_.Update({{"title", std::to_string(i)}}));
    }
    for (const Change& change : sent_) {
      const auto result = store_->Commit(change);
      ASSERT_TRUE(result.ok() && result->kind == CommitResult::Kind::kApplied);
      revisions_.push_back(result->receipt.revision);
    }
  }
  void TearDown() override { store_->Dispose(); }

  void Open() {
    fs::FsOptions options;
    options.root = root_ / "root";
    options.rotate_changes = kRotateChanges;
    options.wrap_files = [this](std::unique_ptr<fs::Files>) {
      return disk_.Open([](const std::string&, const std::string&) { return absl::OkStatus(); });
    };
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    ASSERT_TRUE(store_->Init().ok());
  }
  // Each request once more: by Commit, and by a load before a decision.
  void ExpectOwnReplies() {
    for (size_t i = 0; i < sent_.size(); ++i) {
      const auto again = store_->Commit(sent_[i]);
      ASSERT_TRUE(again.ok()) << i << " " << again.status();
      EXPECT_EQ(again->kind, CommitResult::Kind::kRepeated) << i;
      EXPECT_EQ(again->receipt.revision, revisions_[i]) << i;
      const auto loaded = store_->LoadForDecision(key_, sent_[i].request->id);
      ASSERT_TRUE(loaded.ok() && loaded->request) << i;
      EXPECT_EQ(loaded->request->stamp.id, sent_[i].request->id);
      EXPECT_EQ(loaded->request->receipt.revision, revisions_[i]);
    }
  }
  Revision RevisionNow() { return store_->LoadForDecision(key_, std::nullopt)->head.revision; }
  // The segment that the newest rotation wrote.
  std::string NewestSegment() {
    std::string newest;
    for (int file = 1; file <= kChanges; ++file) {
      const std::string path = fs::PrefixOf(key_, fs::FileKind::kRequests) + std::to_string(file);
      if (!disk_.Read(path).empty()) newest = path;
    }
    return newest;
  }

  const SessionKey key_ = Key("alpha");
  TempDir root_;
  FakeClock clock_;
  SeededRandom random_;
  MemoryDisk disk_;
  Changes changes_{key_, random_};
  std::unique_ptr<SessionStore> store_;
  std::vector<Change> sent_;
  std::vector<Revision> revisions_;
};

TEST_F(RequestLog, EveryRepeatIsAnsweredAsTheFirstTime) {
  ExpectOwnReplies();
  store_->Dispose();
  Open();
  ExpectOwnReplies();
  EXPECT_EQ(RevisionNow(), revisions_.back());
}

TEST_F(RequestLog, ADayLaterTheyAreForgotten) {
  clock_.Advance(kRequestsKept + absl::Seconds(1));
  const auto again = store_->Commit(sent_[1]);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->kind, CommitResult::Kind::kApplied);
  EXPECT_FALSE(store_->LoadForDecision(key_, sent_[2].request->id)->request);
}

TEST_F(RequestLog, AReplyThatCannotBeReadIsDamageAndNeverASecondEffect) {
  const std::string path = NewestSegment();
  std::string bytes = disk_.Read(path);
  ASSERT_THAT(bytes, ::testing::Not(IsEmpty()));
  for (char& byte : bytes) byte = static_cast<char>(byte ^ 0x10);
  disk_.Write(path, bytes);
  int damaged = 0;
  for (const Change& change : sent_) {
    const auto again = store_->Commit(change);
    if (again.ok()) {
      EXPECT_EQ(again->kind, CommitResult::Kind::kRepeated);
      continue;
    }
    ++damaged;
    EXPECT_EQ(RefusalOf(again.status()).reason(), Reason::kDamaged) << again.status();
    EXPECT_FALSE(store_->LoadForDecision(key_, change.request->id).ok());
  }
  EXPECT_GE(damaged, static_cast<int>(kRotateChanges));
  EXPECT_EQ(RevisionNow(), revisions_.back());
  const auto next = store_->Commit(changes_.Update({{"title", "goes on"}}));
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->kind, CommitResult::Kind::kApplied);
}

}  // namespace
}  // namespace holdfast::test
