// Replies that are kept: the newest in memory, older ones in the session's log of requests alone,
// and each one handed out to its own request and to no other.
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "store-fs/layout.h"
#include "store-fs/request_table.h"
#include "tests/support/breaking_files.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/sealed_items.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kLoggedRotateChanges = 4;
constexpr int kLoggedChanges = 90;  // many rotations

class RequestTableTest : public ::testing::Test {
 protected:
  static RequestRow Row(RequestId id) {
    RequestRow row;
    row.stamp.id = std::move(id);
    return row;
  }
  // Adds a row of a new id.
  RequestId Add() {
    const RequestId id = NewRequest(random_);
    table_.Add(Row(id));
    return id;
  }
  std::optional<fs::RequestTable::Known> Find(const RequestId& id) {
    const auto learn = [this](uint64_t end) {
      ++learnt_;
      EXPECT_EQ(end, kFirst);
      return older_;
    };
    auto known = table_.Find(id, learn);
    EXPECT_TRUE(known.ok());
    return known.ok() ? *std::move(known) : std::nullopt;
  }

  static constexpr uint64_t kFirst = 11;

  SeededRandom random_;
  fs::RequestTable table_{kFirst};  // the log has ten rows
  fs::RequestTable::Ids older_{10, fs::KeyOf(NewRequest(random_))};
  int learnt_ = 0;
};

TEST_F(RequestTableTest, KeepsNewestAndLocatesOthers) {
  std::vector<RequestId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(Add());
  table_.NoteWritten(1);
  for (int i = 0; i < 2; ++i) ids.push_back(Add());
  EXPECT_THAT(table_.unwritten(), SizeIs(2));
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto known = Find(ids[i]);
    ASSERT_TRUE(known) << i;
    EXPECT_EQ(known->number, kFirst + i);
    EXPECT_EQ(known->row.has_value(), i > 3) << i;
    if (known->row) {
      EXPECT_EQ(known->row->stamp.id, ids[i]);
    }
  }
  EXPECT_FALSE(Find(NewRequest(random_)));
}

TEST_F(RequestTableTest, LoadsOlderIdsOnce) {
  const RequestId old = NewRequest(random_);
  const RequestId again = NewRequest(random_);
  older_[2] = fs::KeyOf(old);
  older_[5] = fs::KeyOf(again);
  table_.Add(Row(again));
  EXPECT_EQ(learnt_, 0);
  EXPECT_EQ(Find(old)->number, 3U);
  EXPECT_EQ(Find(again)->number, kFirst) << "the later row of that id";
  EXPECT_EQ(learnt_, 1);
}

TEST_F(RequestTableTest, RetriesLoadOfOlderIdsWhenItFailed) {
  const auto fails = [](uint64_t) { return absl::UnavailableError("the disk says nothing"); };
  EXPECT_FALSE(table_.Find(NewRequest(random_), fails).ok());
  EXPECT_FALSE(Find(NewRequest(random_)));
  EXPECT_EQ(learnt_, 1);
}

TEST_F(RequestTableTest, DropsRowsThatLeaveLogDuringLoad) {
  const RequestId left = NewRequest(random_);
  const RequestId kept = NewRequest(random_);
  older_[2] = fs::KeyOf(left);
  older_[7] = fs::KeyOf(kept);
  std::optional<RequestId> added;
  const auto learn = [&](uint64_t) {
    added = Add();  // no lock is held
    table_.NoteWritten(6);
    return older_;
  };
  const auto known = table_.Find(left, learn);
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_FALSE(known->has_value());
  EXPECT_EQ(Find(kept)->number, 8U);
  EXPECT_EQ(Find(*added)->number, kFirst);
  EXPECT_EQ(learnt_, 0);
}

TEST_F(RequestTableTest, KeepsNoOlderIdWhenAllLeaveLogDuringLoad) {
  const RequestId left = NewRequest(random_);
  older_[9] = fs::KeyOf(left);
  const RequestId first = Add();
  const RequestId second = Add();
  const auto learn = [&](uint64_t) {
    table_.NoteWritten(kFirst + 1);
    return older_;
  };
  const auto known = table_.Find(left, learn);
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_FALSE(known->has_value());
  EXPECT_FALSE(Find(first));
  EXPECT_EQ(Find(second)->number, kFirst + 1);
}

TEST_F(RequestTableTest, DropsRowThatLeavesLogAndKeepsLaterRow) {
  const RequestId once = Add();
  const RequestId twice = Add();
  table_.Add(Row(twice));
  EXPECT_TRUE(Find(once));
  table_.NoteWritten(kFirst + 2);
  EXPECT_FALSE(Find(once));
  EXPECT_EQ(Find(twice)->number, kFirst + 2);
}

TEST_F(RequestTableTest, SaysWhenAnIdMayBeOneThatCannotBeRead) {
  older_[7] = std::nullopt;
  const RequestId added = Add();
  EXPECT_FALSE(Find(added)->lost);
  const auto unknown = Find(NewRequest(random_));
  ASSERT_TRUE(unknown);
  EXPECT_TRUE(unknown->lost);
  EXPECT_EQ(unknown->number, 8U);
  table_.NoteWritten(9);
  EXPECT_FALSE(Find(NewRequest(random_))) << "it has left the log";
}

class RequestLog : public ::testing::Test {
 protected:
  void SetUp() override {
    Open();
    sent_.push_back(changes_.Create());
    for (int i = 1; i < kLoggedChanges; ++i) {
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
    options.rotate_changes = kLoggedRotateChanges;
    options.wrap_files = BreakBy(disk_, [this](const FileOperation& asked) {
      const bool of_index = asked.path.find("/index.") != std::string::npos;
      const bool of_log = asked.path.find("/log.") != std::string::npos;
      if (of_index && asked.name == "open") ++opened_;
      if ((of_index || of_log) && asked.name == "read") ++read_;
      return absl::OkStatus();
    });
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
  // The sealed logs that there are, oldest first.
  std::vector<uint64_t> Sealed() {
    std::vector<uint64_t> files;
    const fs::SessionState state = SealedState(*disk_.Open(), key_);
    for (const fs::SealedLog& log : state.sealed) {
      files.push_back(log.file);
    }
    return files;
  }
  std::string LogOf(uint64_t file) { return fs::PathOf(key_, fs::FileKind::kLog, file); }
  std::string IndexOf(uint64_t file) { return fs::PathOf(key_, fs::FileKind::kIndex, file); }
  // A reply in the oldest sealed log.
  ItemPlace OldestReply() {
    return SealedItems(*disk_.Open(), key_, &fs::SessionState::request_log).front();
  }
  void FlipByte(const std::string& path, size_t at) {
    std::string bytes = disk_.Read(path);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 0x10);
    disk_.Write(path, bytes);
  }
  // The requests whose repeat is refused; every other one is answered as the first time.
  std::vector<size_t> Refused() {
    std::vector<size_t> refused;
    for (size_t i = 0; i < sent_.size(); ++i) {
      const auto again = store_->Commit(sent_[i]);
      if (!again.ok()) {
        EXPECT_EQ(RefusalOf(again.status()).reason(), Reason::kDamaged) << again.status();
        refused.push_back(i);
        continue;
      }
      EXPECT_EQ(again->kind, CommitResult::Kind::kRepeated) << i;
      EXPECT_EQ(again->receipt.revision, revisions_[i]) << i;
    }
    return refused;
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
  size_t opened_ = 0;  // indexes
  size_t read_ = 0;    // reads of them, and of sealed logs
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
  const std::string path = LogOf(Sealed().back());
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
  EXPECT_GE(damaged, static_cast<int>(kLoggedRotateChanges));
  EXPECT_EQ(RevisionNow(), revisions_.back());
  const auto next = store_->Commit(changes_.Update({{"title", "goes on"}}));
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->kind, CommitResult::Kind::kApplied);
}

TEST_F(RequestLog, TheFirstTouchReadsNoneAndTheFirstRequestTheirIdsAlone) {
  store_->Dispose();
  Open();
  opened_ = 0;
  read_ = 0;
  ASSERT_TRUE(store_->LoadForDecision(key_, std::nullopt).ok());
  EXPECT_EQ(opened_ + read_, 0U);
  ASSERT_TRUE(store_->ReadEvents(key_, EventSeq(), {.items = 1, .bytes = 1}).ok());
  EXPECT_EQ(opened_, 1U);
  EXPECT_EQ(read_, 2U) << "the event's place, and the event";
  opened_ = 0;
  read_ = 0;
  ASSERT_TRUE(store_->Commit(changes_.Update({{"title", "new"}})).ok());
  const size_t segments = Sealed().size();
  ASSERT_GT(segments, 1U);
  EXPECT_EQ(opened_, segments);
  EXPECT_EQ(read_, segments) << "one read of the ids each, however many replies there are";
  ASSERT_TRUE(store_->Commit(changes_.Update({{"title", "newer"}})).ok());
  EXPECT_EQ(read_, segments);
}

// One bad byte, wherever in a sealed log or its index it is: the session goes on, and no other
// repeat than the one whose reply it is in, or the place of that reply, is refused.
TEST_F(RequestLog, OneBadByteFailsItsOwnRepeatAlone) {
  size_t refused = 0;
  for (const std::string& path : {LogOf(Sealed().front()), IndexOf(Sealed().front())}) {
    const std::string whole = disk_.Read(path);
    for (size_t at = 0; at < whole.size(); at += 37) {
      store_->Dispose();
      disk_.Write(path, whole);
      FlipByte(path, at);
      Open();
      const size_t of_this_byte = Refused().size();
      EXPECT_LE(of_this_byte, 1U) << path << " byte " << at;
      EXPECT_EQ(RevisionNow(), revisions_.back()) << path << " byte " << at;
      refused += of_this_byte;
    }
    disk_.Write(path, whole);
  }
  EXPECT_GT(refused, 0U);
}

TEST_F(RequestLog, TheSessionGoesOnBesideADamagedReply) {
  store_->Dispose();
  const ItemPlace reply = OldestReply();
  FlipByte(reply.path, reply.offset + reply.size / 2);
  Open();
  const std::vector<size_t> refused = Refused();
  ASSERT_THAT(refused, SizeIs(1));
  const auto load = store_->LoadForDecision(key_, sent_[refused[0]].request->id);
  EXPECT_EQ(RefusalOf(load.status()).reason(), Reason::kDamaged) << load.status();
  for (int i = 0; i < 3 * static_cast<int>(kLoggedRotateChanges); ++i) {
    const auto next = store_->Commit(changes_.Update({{"title", "goes on"}}));
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ(next->kind, CommitResult::Kind::kApplied);
  }
}

// Without the index the store cannot distinguish a new request from a logged one.
TEST_F(RequestLog, WithoutItsIndexNoRequestActsUntilItsTimeIsOver) {
  store_->Dispose();
  disk_.Write(IndexOf(Sealed().back()), "");
  Open();
  ASSERT_TRUE(store_->LoadForDecision(key_, std::nullopt).ok());
  const auto next = store_->Commit(changes_.Update({{"title", "new"}}));
  EXPECT_EQ(RefusalOf(next.status()).reason(), Reason::kDamaged) << next.status();
  clock_.Advance(kRequestsKept + absl::Seconds(1));
  EXPECT_TRUE(store_->Commit(changes_.Update({{"title", "new"}})).ok());
}

}  // namespace
}  // namespace holdfast::test
