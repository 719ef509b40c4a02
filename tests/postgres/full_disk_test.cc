// A database whose disk is full, and one whose log's disk is.
#include "tests/postgres/faults_fixture.h"
#include "tests/postgres/small_database.h"
#include "tests/support/child_process.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <sys/mount.h>

namespace holdfast::testing {
namespace {

class PgFullDisk : public FaultsTest {
 protected:
  void SetUp() override {
    postgres().Start();
    small_.MakeIn(postgres());
    Serve({.dsn = DsnOf(gate().directory(), SmallDatabase::kName)});
  }
  // How often the database says that it could not carry out a change.
  [[nodiscard]] int Refused() {
    const std::vector<std::string> lines = absl::StrSplit(postgres().Log(), '\n');
    return static_cast<int>(std::ranges::count_if(lines, [](const std::string& line) {
      return absl::StrContains(line, "STATEMENT:") && absl::StrContains(line, "holdfast.change(");
    }));
  }
  [[nodiscard]] std::filesystem::path disk() const { return small_.disk(); }

 private:
  const SmallDatabase small_;
};

TEST_F(PgFullDisk, IsSaidAndNothingIsHalfThere) {
  served().TakeTurn("one", token(), "before");
  const std::string large = MegabyteOfNoise();
  const auto commit = served().Prepare("one", token(), large);
  const DiskFiller filler(disk());
  const Committed refused = served().Commit(commit);
  EXPECT_EQ(refused.verdict.reason, "STORAGE_FULL");
  EXPECT_TRUE(refused.verdict.retry_after.has_value());
  EXPECT_EQ(Refused(), 1) << "it is sent again and again";
  EXPECT_EQ(served().Texts("one"), std::vector<std::string>{"before"});
  filler.Free();
  served().CommitAtLast(commit);
  ExpectNormal({"before", large});
}

// However the server ended, it starts over a full disk, and what was acknowledged is served.
TEST_F(PgFullDisk, IsNoReasonNotToStart) {
  served().TakeTurn("one", token(), "before");
  const std::string large = MegabyteOfNoise();
  const auto commit = served().Prepare("one", token(), large);
  const DiskFiller filler(disk());
  EXPECT_EQ(served().Commit(commit).verdict.reason, "STORAGE_FULL");
  for (const bool killed : {false, true}) {
    if (killed) {
      served().server.Kill();
    } else {
      EXPECT_EQ(served().server.Stop().exit_code, 0) << served().server.Log();
    }
    ASSERT_NO_FATAL_FAILURE(served().Start());
    EXPECT_EQ(served().Texts("one"), std::vector<std::string>{"before"});
    EXPECT_EQ(served().client->Get("one").lease().state(), pb::LEASE_STATE_LIVE);
    const Committed refused = served().Commit(commit);
    EXPECT_EQ(refused.verdict.reason, "STORAGE_FULL");
    EXPECT_TRUE(refused.verdict.retry_after.has_value());
  }
  filler.Free();
  served().CommitAtLast(commit);
  ExpectNormal({"before", large});
}

// The log of the database on a disk of its own, which is small. It is not reused meanwhile.
class PgFullLog : public FaultsTest {
 protected:
  PgFullLog() : FaultsTest({"fsync=off", "checkpoint_timeout=1h", "max_wal_size=10GB"}) {
    postgres().Start();
    postgres().Stop();
    const std::string kept = Place() + ".kept";
    std::filesystem::rename(Place(), kept);
    std::filesystem::create_directory(Place());
    EXPECT_EQ(mount("tmpfs", Place().c_str(), "tmpfs", 0, "size=64m"), 0)
        << "this test mounts a small disk, which takes a privileged user";
    EXPECT_EQ(
        RunToEnd({"/bin/cp", "-a", kept + "/.", Place()}, kept + "/out", kept + "/out").exit_code,
        0);
  }
  ~PgFullLog() override { umount2(Place().c_str(), MNT_DETACH); }
  std::string Place() { return postgres().directory() + "/data/pg_wal"; }
};

// PostgreSQL gives itself up, again and again or for good. What it had acknowledged is there when
// there is space and it is started again.
TEST_F(PgFullLog, EndsTheDatabaseAndLosesNothing) {
  constexpr int kMost = 100;
  const std::string large = MegabyteOfNoise();
  const DiskFiller filler(Place());
  WireClient& client = *served().client;
  std::vector<std::string> texts;
  Verdict refused;
  pb::BeginTurnRequest begin;
  pb::CommitTurnRequest commit;
  for (int turn = 0; turn < kMost; ++turn) {
    begin = test::BeginRequest("one", token());
    commit = test::CommitRequest("one", token(), 0, absl::StrCat(turn, large));
    const auto begun = client.Ask(&Stub::BeginTurn, begin);
    refused = begun.verdict;
    if (refused.reason != "OK") break;
    commit.set_turn(begun.reply.turn());
    refused = served().Commit(commit).verdict;
    if (refused.reason != "OK") break;
    texts.push_back(commit.messages(0).data());
  }
  EXPECT_LT(texts.size(), kMost) << "it has never been full";
  EXPECT_EQ(refused.reason, "STORE_UNAVAILABLE");
  EXPECT_TRUE(WaitUntil([&] { return postgres().Log().find("PANIC") != std::string::npos; }));
  EXPECT_TRUE(WaitUntil([&] { return !served().server.Serves(); }));
  EXPECT_EQ(client.Reason(&Stub::BeginTurn, begin), "STORE_UNAVAILABLE");
  filler.Free();
  EXPECT_TRUE(WaitUntil([&] {
    if (!postgres().Running()) postgres().Start();
    return client.Reason(&Stub::BeginTurn, begin) == "OK";
  }));
  commit.set_turn(client.Must(&Stub::BeginTurn, begin).turn());
  served().CommitAtLast(commit);
  texts.push_back(commit.messages(0).data());
  ExpectNormal(texts);
}

}  // namespace
}  // namespace holdfast::testing
