// Checkpoints over the wire: what is pinned stays readable over many turns, rotations, prunes and
// kills, and what is not pinned goes.
#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/each_store.h"
#include "tests/support/requests.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::ElementsAre;
using Stub = WireClient::Stub;

constexpr char kPinnedSession[] = "pinned";
// Of each turn's message: a few hundred turns fill a journal.
constexpr size_t kTurnBytes = 16 * kKiB;

class Checkpoints : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
    token_ = client_->Must(&Stub::CreateSession, test::CreateRequest(kPinnedSession)).lease_token();
  }

  void Restart() {
    server_.Kill();
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
  }

  // A turn with one message and one slot, both `text` and more; its snapshot is a checkpoint where
  // it has a name.
  int64_t AddTurn(const std::string& text, const std::string& checkpoint = "") {
    const auto begun = client_->Must(&Stub::BeginTurn, test::BeginRequest(kPinnedSession, token_));
    pb::CommitTurnRequest commit = test::CommitRequest(kPinnedSession, token_, begun.turn(), "");
    commit.mutable_messages(0)->set_data(text + std::string(kTurnBytes, '.'));
    pb::Slot& slot = *commit.add_slots();
    slot.set_owner("state");
    slot.set_version("1.0.0");
    slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
    slot.set_data(text);
    if (!checkpoint.empty()) commit.mutable_checkpoint()->set_name(checkpoint);
    return client_->Must(&Stub::CommitTurn, commit).revision();
  }

  // The messages and the slot at a revision, or why they cannot be read.
  std::string At(int64_t revision) {
    std::string seen;
    pb::ListMessagesRequest list;
    list.set_session_id(kPinnedSession);
    list.set_revision(revision);
    do {
      const auto page = client_->Ask(&Stub::ListMessages, list);
      if (page.verdict.reason != "OK") return page.verdict.reason;
      for (const pb::Message& message : page.reply.messages()) {
        absl::StrAppend(&seen, message.data().substr(0, message.data().find('.')), " ");
      }
      list.set_page_token(page.reply.next_page_token());
    } while (!list.page_token().empty());
    pb::ListSlotsRequest slots;
    slots.set_session_id(kPinnedSession);
    slots.set_revision(revision);
    slots.add_owners("state");
    const auto page = client_->Ask(&Stub::ListSlots, slots);
    if (page.verdict.reason != "OK") return page.verdict.reason;
    for (const pb::Slot& slot : page.reply.slots()) absl::StrAppend(&seen, "| ", slot.data());
    return seen;
  }

  pb::PutCheckpointRequest Put(const std::string& name) {
    pb::PutCheckpointRequest put;
    put.set_request_id(test::NewRequestId());
    put.set_session_id(kPinnedSession);
    put.set_name(name);
    return put;
  }
  std::vector<int64_t> Revisions(const pb::ListCheckpointsRequest& filters = {}) {
    pb::ListCheckpointsRequest list = filters;
    list.set_session_id(kPinnedSession);
    list.set_page_size(3);
    std::vector<int64_t> revisions;
    do {
      const auto page = client_->Must(&Stub::ListCheckpoints, list);
      EXPECT_LE(page.checkpoints_size(), 3);
      for (const pb::Checkpoint& one : page.checkpoints()) revisions.push_back(one.revision());
      list.set_page_token(page.next_page_token());
    } while (!list.page_token().empty());
    return revisions;
  }
  std::string Delete(int64_t revision) {
    pb::DeleteCheckpointRequest request;
    request.set_request_id(test::NewRequestId());
    request.set_session_id(kPinnedSession);
    request.set_revision(revision);
    return client_->Reason(&Stub::DeleteCheckpoint, request);
  }
  int64_t RestoreTo(int64_t revision) {
    pb::RestoreSessionRequest restore;
    restore.set_request_id(test::NewRequestId());
    restore.set_session_id(kPinnedSession);
    restore.set_lease_token(token_);
    restore.set_expected_revision(client_->Get(kPinnedSession).revision());
    restore.mutable_point()->set_revision(revision);
    restore.set_pin_previous(true);
    return client_->Must(&Stub::RestoreSession, restore).revision();
  }

  // Restores with `pin_previous` among `turns` turns, with kills: what they pinned is readable to
  // the end, and nothing else behind the newest snapshots is.
  void PinTenAmong(int turns) {
    std::map<int64_t, std::string> seen;
    const int64_t base = AddTurn("base", "base");
    seen[base] = At(base);
    std::vector<int64_t> others;
    const int each = turns / static_cast<int>(kOwnCheckpointsKept);
    for (int turn = 1; turn <= turns; ++turn) {
      const int64_t revision = AddTurn(absl::StrCat("turn", turn));
      if (turn % each != 0) {
        others.push_back(revision);
        continue;
      }
      seen[revision] = At(revision);
      RestoreTo(base);
      if (turn % (2 * each) == 0) Restart();
    }
    // All but the newest of the others are no longer kept.
    for (size_t turn = 0; turn < 2 * kSnapshotsKeptDefault; ++turn) AddTurn("last");
    Restart();
    for (const auto& [revision, text] : seen) EXPECT_EQ(At(revision), text) << revision;
    for (const int64_t revision : others) EXPECT_EQ(At(revision), "REVISION_PRUNED") << revision;
    pb::ListCheckpointsRequest own;
    own.add_kinds(pb::CHECKPOINT_KIND_BEFORE_RESTORE);
    EXPECT_EQ(Revisions(own).size(), kOwnCheckpointsKept);
    // Unpinned, they go too.
    for (const auto& [revision, text] : seen) EXPECT_EQ(Delete(revision), "OK");
    for (const auto& [revision, text] : seen) EXPECT_EQ(At(revision), "REVISION_PRUNED");
    EXPECT_TRUE(Revisions().empty());
  }

  TestFolder folder_;
  StoreUnderServer store_{GetParam()};
  ServerProcess server_{folder_, store_.Settings()};
  std::unique_ptr<WireClient> client_;
  std::string token_;
};

TEST_P(Checkpoints, AreMadeByACommitOrAlone) {
  const int64_t first = AddTurn("one", "first");
  const int64_t second = AddTurn("two");
  pb::PutCheckpointRequest put = Put("second");
  (*put.mutable_labels())["step"].set_int_value(2);
  const auto reply = client_->Must(&Stub::PutCheckpoint, put);
  const pb::Checkpoint& checkpoint = reply.checkpoint();
  EXPECT_EQ(checkpoint.revision(), second);
  EXPECT_EQ(checkpoint.kind(), pb::CHECKPOINT_KIND_MANUAL);
  EXPECT_EQ(checkpoint.status(), pb::CHECKPOINT_STATUS_VALID);
  EXPECT_EQ(checkpoint.turn(), 2);
  EXPECT_EQ(checkpoint.message_count(), 2);
  const pb::Session session = client_->Get(kPinnedSession);
  EXPECT_EQ(checkpoint.history_digest(), session.history_digest());
  EXPECT_EQ(session.revision(), second);  // it moved none
  EXPECT_EQ(session.checkpoint_count(), 2);
  EXPECT_THAT(Revisions(), ElementsAre(second, first));
  const auto again = client_->Must(&Stub::PutCheckpoint, put);
  EXPECT_TRUE(again.repeated());
  EXPECT_EQ(again.checkpoint().revision(), second);
  const auto taken = client_->Ask(&Stub::PutCheckpoint, [&] {
    pb::PutCheckpointRequest request = Put("first");
    request.set_revision(second);
    return request;
  }());
  EXPECT_EQ(taken.verdict.reason, "INVALID_FIELD");
  EXPECT_EQ(taken.verdict.facts.at("field"), "name");
}

TEST_P(Checkpoints, AreChangedByAMask) {
  AddTurn("one", "first");
  pb::PutCheckpointRequest reject = Put("first");
  reject.set_status(pb::CHECKPOINT_STATUS_REJECTED);
  reject.mutable_update_mask()->add_paths("status");
  EXPECT_EQ(client_->Must(&Stub::PutCheckpoint, reject).checkpoint().status(),
            pb::CHECKPOINT_STATUS_REJECTED);
  pb::ListCheckpointsRequest valid;
  valid.set_only_valid(true);
  EXPECT_TRUE(Revisions(valid).empty());
  pb::PutCheckpointRequest missing = Put("other");
  missing.mutable_update_mask()->add_paths("labels");
  EXPECT_EQ(client_->Reason(&Stub::PutCheckpoint, missing), "RECORD_NOT_FOUND");
  missing.mutable_update_mask()->add_paths("turn");
  EXPECT_EQ(client_->Reason(&Stub::PutCheckpoint, missing), "INVALID_FIELD");
}

// The holder and the server die in a turn; later the history is compacted, and the server dies
// again.
TEST_P(Checkpoints, OfKilledTurnsAndCompactionsAreGoneBackTo) {
  const int64_t first = AddTurn("one");
  const std::string before = At(first);
  client_->Must(&Stub::BeginTurn, test::BeginRequest(kPinnedSession, token_));
  Restart();
  token_ = client_->Must(&Stub::ResumeSession, test::ForceRequest(kPinnedSession)).lease_token();
  pb::ListCheckpointsRequest interrupted;
  interrupted.add_kinds(pb::CHECKPOINT_KIND_INTERRUPTED);
  EXPECT_THAT(Revisions(interrupted), ElementsAre(first));
  const int64_t second = AddTurn("two");
  const auto begun = client_->Must(&Stub::BeginTurn, test::BeginRequest(kPinnedSession, token_));
  pb::CommitTurnRequest commit =
      test::CommitRequest(kPinnedSession, token_, begun.turn(), "summary.");
  commit.set_replace_history(true);
  commit.mutable_compaction()->set_trigger(pb::COMPACTION_TRIGGER_AUTO);
  EXPECT_EQ(client_->Must(&Stub::CommitTurn, commit).message_count(), 1);
  Restart();
  pb::ListCheckpointsRequest compacted;
  compacted.add_kinds(pb::CHECKPOINT_KIND_PRE_COMPACTION);
  EXPECT_THAT(Revisions(compacted), ElementsAre(second));
  for (size_t turn = 0; turn < 2 * kSnapshotsKeptDefault; ++turn) AddTurn("last");
  Restart();
  EXPECT_EQ(At(second), "one two | two");
  RestoreTo(second);
  EXPECT_EQ(At(0), "one two | two");
  RestoreTo(first);
  EXPECT_EQ(At(0), before);
  EXPECT_EQ(client_->Get(kPinnedSession).compaction_count(), 1);
}

TEST_P(Checkpoints, OutliveTheirSnapshotsNewestOnes) { PinTenAmong(200); }

// Ten restores among 10,000 commits.
TEST_P(Checkpoints, LongTenPinsAmongTenThousandCommits) { PinTenAmong(10'000); }

INSTANTIATE_TEST_SUITE_P(Stores, Checkpoints, EachStore(), NameOfStore);

}  // namespace
}  // namespace holdfast::testing
