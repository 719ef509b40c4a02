// A journal that was cut while no server ran, opened by a real one. A cut in what was acknowledged
// is damage, and the files stay unchanged; an unfinished write is truncated and logged. Other
// sessions are not affected.
#include "tests/support/requests.h"
#include "tests/support/reserved_port.h"
#include "tests/support/scrape.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Stub = WireClient::Stub;

constexpr char kWarning[] = "an unfinished write was cut off the end of a file";

class CutJournal : public ::testing::Test {
 protected:
  void SetUp() override {
    Start();
    for (const char* id : {"cut", "whole"}) {
      tokens_[id] = client().Must(&Stub::CreateSession, test::CreateRequest(id)).lease_token();
      for (int turn = 0; turn < 3; ++turn) Turn(id);
      revisions_[id] = client().Get(id).revision();
    }
  }
  void Start() {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
  }
  void Turn(const std::string& id) {
    const auto begun = client().Must(&Stub::BeginTurn, test::BeginRequest(id, tokens_[id]));
    client().Must(&Stub::CommitTurn,
                  test::CommitRequest(id, tokens_[id], begun.turn(), "a message"));
  }
  std::string ReasonOf(const std::string& id) {
    pb::GetSessionRequest get;
    get.set_session_id(id);
    return client().Reason(&Stub::GetSession, get);
  }
  // Where the frames of a journal begin, and behind them where the last one ends.
  std::vector<uint64_t> Borders(const std::string& id) {
    const std::string journal = test::ReadFile(PathOf(id));
    std::vector<uint64_t> borders = {0};
    for (uint64_t at = 0; journal.substr(at, 4) == "HLFJ"; borders.push_back(at)) {
      uint32_t length = 0;
      std::memcpy(&length, journal.data() + at + 8, sizeof length);
      at += (64 + length + 4 + 63) / 64 * 64;
    }
    EXPECT_GT(borders.size(), 4U);
    return borders;
  }
  void ExpectDamage(uint64_t left) {
    std::filesystem::resize_file(PathOf("cut"), left);
    Start();
    EXPECT_EQ(ReasonOf("cut"), "DAMAGED");
    EXPECT_EQ(client().Get("whole").revision(), revisions_["whole"]);
    EXPECT_EQ(std::filesystem::file_size(PathOf("cut")), left) << "it was changed";
    EXPECT_THAT(server_.Log(), Not(HasSubstr(kWarning)));
  }

  void ExpectMended(uint64_t left) {
    const std::string whole = test::ReadFile(PathOf("cut"));
    std::filesystem::resize_file(PathOf("cut"), left);
    Start();
    EXPECT_EQ(client().Get("cut").revision(), revisions_["cut"]);
    EXPECT_EQ(client().Get("whole").revision(), revisions_["whole"]);
    const std::string mended = test::ReadFile(PathOf("cut"));
    EXPECT_EQ(mended, whole.substr(0, mended.size()));
    EXPECT_THAT(server_.Log(), Not(HasSubstr(kWarning)));
    Turn("cut");
  }

  [[nodiscard]] std::string PathOf(const std::string& id) const {
    return folder_.path() / "data" / "t" / "default" / id / "journal.log";
  }
  WireClient& client() { return *client_; }
  ServerProcess& server() { return server_; }
  double TailsCut() { return Scrape(metrics_.address())["holdfast_store_tails_cut_total"]; }
  uint64_t Revision(const std::string& id) { return revisions_[id]; }

 private:
  TestFolder folder_;
  ReservedPort metrics_;
  ServerProcess server_{
      folder_,
      {.more = absl::StrCat("telemetry: {metrics_address: \"", metrics_.address(), "\"}\n")}};
  std::unique_ptr<WireClient> client_;
  std::map<std::string, std::string> tokens_;
  std::map<std::string, uint64_t> revisions_;
};

TEST_F(CutJournal, InsideAFrameAfterAnOrderlyEndIsDamage) {
  ASSERT_EQ(server().Stop().exit_code, 0) << server().Log();
  ExpectDamage(Borders("cut").back() - 100);
}

TEST_F(CutJournal, BetweenFramesAfterAnOrderlyEndIsDamage) {
  ASSERT_EQ(server().Stop().exit_code, 0) << server().Log();
  ExpectDamage(*(Borders("cut").end() - 2));
}

// The write-ahead log still has what is missing.
TEST_F(CutJournal, InsideAFrameAfterAKillIsMended) {
  server().Kill();
  ExpectMended(Borders("cut").back() - 100);
}

TEST_F(CutJournal, BetweenFramesAfterAKillIsMended) {
  server().Kill();
  ExpectMended(*(Borders("cut").end() - 2));
}

TEST_F(CutJournal, BeforeWhatTheLogHasIsDamage) {
  ASSERT_EQ(server().Stop().exit_code, 0) << server().Log();
  const uint64_t left = *(Borders("cut").end() - 2);
  Start();
  Turn("cut");
  server().Kill();
  std::filesystem::resize_file(PathOf("cut"), left);
  Start();
  EXPECT_EQ(ReasonOf("cut"), "DAMAGED");
  EXPECT_EQ(client().Get("whole").revision(), Revision("whole"));
}

// Of a server that ran in between and did not touch the session nothing is forgotten.
TEST_F(CutJournal, IsDamageAlsoWhenAServerRanInBetween) {
  ASSERT_EQ(server().Stop().exit_code, 0) << server().Log();
  Start();
  server().Kill();
  ExpectDamage(Borders("cut").back() - 100);
}

TEST_F(CutJournal, AnUnfinishedWriteIsCutOffAndSaidSo) {
  server().Kill();
  const std::vector<uint64_t> borders = Borders("cut");
  const std::string journal = test::ReadFile(PathOf("cut"));
  // The beginning of a frame that was never finished: another one's, and nothing behind it.
  test::WriteFile(PathOf("cut"),
                  journal.substr(0, borders.back()) + journal.substr(borders[1], 64));
  Start();
  EXPECT_EQ(TailsCut(), 0) << "before its session is used";
  EXPECT_EQ(client().Get("cut").revision(), Revision("cut"));
  EXPECT_EQ(TailsCut(), 1);
  EXPECT_TRUE(server().AwaitLog(kWarning));
  EXPECT_THAT(server().Log(), HasSubstr("t/default/cut/journal.log"));
  Turn("cut");
}

}  // namespace
}  // namespace holdfast::testing
