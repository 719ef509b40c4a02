// Changes by hand to the directories of a running server. Calls on a changed session are refused
// with the reason, its files stay unchanged, and other sessions are not affected.
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace holdfast::testing {
namespace {

namespace stdfs = std::filesystem;
using Stub = WireClient::Stub;

constexpr char kUntouched[] = "untouched";

class MeddledDirectories : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
    Make(kUntouched);
  }

  // A session with one committed turn.
  void Make(const std::string& id) {
    tokens_[id] = client().Must(&Stub::CreateSession, test::CreateRequest(id)).lease_token();
    Turn(id);
  }
  void Turn(const std::string& id) {
    const auto begun = client().Must(&Stub::BeginTurn, test::BeginRequest(id, tokens_[id]));
    client().Must(&Stub::CommitTurn,
                  test::CommitRequest(id, tokens_[id], begun.turn(), "a message"));
  }
  Verdict Begin(const std::string& id) {
    return client().Ask(&Stub::BeginTurn, test::BeginRequest(id, tokens_[id])).verdict;
  }
  std::string Resume(const std::string& id) {
    return client().Reason(&Stub::ResumeSession, test::ForceRequest(id));
  }

  // Every call on the session, a creation of its id too, is refused for `reason`, and nothing in
  // its directory changes.
  void ExpectRefused(const std::string& id, const std::string& reason) {
    SCOPED_TRACE(id);
    const auto before = Files(PathOf(id));
    pb::GetSessionRequest get;
    get.set_session_id(id);
    EXPECT_EQ(client().Reason(&Stub::GetSession, get), reason);
    pb::ListMessagesRequest read;
    read.set_session_id(id);
    EXPECT_EQ(client().Reason(&Stub::ListMessages, read), reason);
    EXPECT_EQ(client().ReadWhole(id).reason, reason);
    EXPECT_EQ(Resume(id), reason);
    EXPECT_EQ(Begin(id).reason, reason);
    EXPECT_EQ(client().Reason(&Stub::CreateSession, test::CreateRequest(id)), reason);
    EXPECT_EQ(client().Reason(&Stub::DeleteSession, test::DeleteRequest(id, "")), reason);
    EXPECT_EQ(Files(PathOf(id)), before);
  }

  // The service as a whole is not affected.
  void ExpectServing() {
    EXPECT_TRUE(server_.Serves());
    Turn(kUntouched);
  }

  // The conditions of all sessions, once the server has checked all of them.
  std::map<std::string, pb::SessionSummary::Condition> Conditions() {
    pb::ListSessionsResponse list;
    EXPECT_TRUE(WaitUntil([&] {
      list = client().Must(&Stub::ListSessions, pb::ListSessionsRequest());
      return list.complete();
    }));
    std::map<std::string, pb::SessionSummary::Condition> conditions;
    for (const auto& row : list.sessions()) conditions[row.session_id()] = row.condition();
    return conditions;
  }

  // A server that has no session open and, since the last one ended in order, a listing at once.
  void StopAndRestart() {
    EXPECT_EQ(server_.Stop().exit_code, 0) << server_.Log();
    Restart();
  }
  // A server that has to look at every session before its listing is complete.
  void KillAndRestart() {
    server_.Kill();
    Restart();
  }
  void Restart() {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
  }

  // Names and bytes of every file at `path`; a link is what it points to.
  static std::map<std::string, std::string> Files(const stdfs::path& path) {
    std::map<std::string, std::string> files;
    if (stdfs::is_symlink(path)) files["."] = "-> " + stdfs::read_symlink(path).string();
    if (!stdfs::is_directory(path)) return files;
    for (const auto& entry : stdfs::recursive_directory_iterator(path)) {
      std::string& bytes = files[stdfs::relative(entry.path(), path)];
      if (entry.is_symlink()) bytes = "-> " + stdfs::read_symlink(entry.path()).string();
      if (entry.is_regular_file() && !entry.is_symlink()) bytes = test::ReadFile(entry.path());
    }
    return files;
  }
  static void FlipByte(const stdfs::path& file, size_t at) {
    std::string bytes = test::ReadFile(file);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
    test::WriteFile(file, bytes);
  }
  // Leaves nothing of the session but its manifest, as a copy that was broken off.
  static void HalfCopy(const stdfs::path& session, const stdfs::path& to) {
    stdfs::create_directory(to);
    stdfs::copy_file(session / "manifest.json", to / "manifest.json");
  }

  [[nodiscard]] stdfs::path PathOf(const std::string& id) const {
    return folder_.path() / "data" / "t" / "default" / id;
  }
  [[nodiscard]] stdfs::path Elsewhere(const std::string& name) const {
    return folder_.path() / name;
  }
  WireClient& client() { return *client_; }

 private:
  TestFolder folder_;
  ServerProcess server_{folder_};
  std::unique_ptr<WireClient> client_;
  std::map<std::string, std::string> tokens_;
};

TEST_F(MeddledDirectories, OfSessionsThatAreInUse) {
  for (const char* id : {"removed", "half", "moved", "older"}) Make(id);
  stdfs::copy(PathOf("older"), Elsewhere("backup"), stdfs::copy_options::recursive);
  const uint64_t backed_up = client().Get("older").revision();
  Turn("older");

  stdfs::remove_all(PathOf("removed"));
  stdfs::rename(PathOf("half"), Elsewhere("half"));
  HalfCopy(Elsewhere("half"), PathOf("half"));
  stdfs::rename(PathOf("moved"), Elsewhere("moved"));
  stdfs::create_directory_symlink(Elsewhere("moved"), PathOf("moved"));
  stdfs::remove_all(PathOf("older"));
  stdfs::rename(Elsewhere("backup"), PathOf("older"));

  // None of them acknowledges a write into what is no longer there; then each is what it is.
  for (const char* id : {"removed", "half", "moved", "older"}) {
    const Verdict verdict = Begin(id);
    EXPECT_EQ(verdict.reason, "SESSION_NOT_FOUND") << id;
    EXPECT_EQ(verdict.facts.at("outcome"), "unknown")
        << id << ": the change may be in the moved journal";
    ExpectServing();
  }
  const auto moved = Files(Elsewhere("moved"));
  EXPECT_EQ(Resume("removed"), "SESSION_NOT_FOUND");
  ExpectRefused("half", "DAMAGED");
  ExpectRefused("moved", "DAMAGED");
  EXPECT_EQ(Files(Elsewhere("moved")), moved) << "a link was followed";
  EXPECT_EQ(client().Get("older").revision(), backed_up);
  pb::ResumeSessionRequest resume = test::ForceRequest("older");
  resume.set_known_revision(backed_up + 1);
  EXPECT_EQ(client().Reason(&Stub::ResumeSession, resume), "REVISION_AHEAD");

  ExpectServing();
  Make("removed");
  const auto conditions = Conditions();
  EXPECT_EQ(conditions.at("removed"), pb::SessionSummary::CONDITION_OK);
  EXPECT_EQ(conditions.at(kUntouched), pb::SessionSummary::CONDITION_OK);
}

TEST_F(MeddledDirectories, RefusesDamagedSessionWhenNotOpenedBefore) {
  const std::map<std::string, std::string> reasons = {
      {"cut-manifest", "MANIFEST_DRIFT"},
      {"edited-manifest", "MANIFEST_DRIFT"},
      {"copied", "MANIFEST_DRIFT"},
      {"no-manifest", "DAMAGED"},
      {"half", "DAMAGED"},
      {"edited-journal", "DAMAGED"},
      {"linked", "DAMAGED"},
      {"linked-manifest", "DAMAGED"},
      {"a-file", "DAMAGED"},
  };
  for (const auto& [id, reason] : reasons) Make(id);
  Make("removed");
  StopAndRestart();
  ASSERT_EQ(Conditions().size(), reasons.size() + 2);

  const std::string text = test::ReadFile(PathOf("cut-manifest") / "manifest.json");
  test::WriteFile(PathOf("cut-manifest") / "manifest.json", text.substr(0, text.size() / 2));
  FlipByte(PathOf("edited-manifest") / "manifest.json", text.size() / 2);
  stdfs::remove_all(PathOf("copied"));
  stdfs::copy(PathOf(kUntouched), PathOf("copied"), stdfs::copy_options::recursive);
  stdfs::remove(PathOf("no-manifest") / "manifest.json");
  stdfs::rename(PathOf("half"), Elsewhere("half"));
  HalfCopy(Elsewhere("half"), PathOf("half"));
  FlipByte(PathOf("edited-journal") / "journal.log", 200);
  stdfs::rename(PathOf("linked"), Elsewhere("linked"));
  stdfs::create_directory_symlink(Elsewhere("linked"), PathOf("linked"));
  stdfs::rename(PathOf("linked-manifest") / "manifest.json", Elsewhere("manifest.json"));
  stdfs::create_symlink(Elsewhere("manifest.json"), PathOf("linked-manifest") / "manifest.json");
  stdfs::remove_all(PathOf("a-file"));
  test::WriteFile(PathOf("a-file"), "not a directory");
  stdfs::remove_all(PathOf("removed"));
  const auto linked = Files(Elsewhere("linked"));

  for (const auto& [id, reason] : reasons) {
    ExpectRefused(id, reason);
    ExpectServing();
  }
  EXPECT_EQ(Resume("removed"), "SESSION_NOT_FOUND");
  EXPECT_EQ(Files(Elsewhere("linked")), linked) << "a link was followed";

  // A session that a call found damaged is listed so, also after a restart of either kind.
  const auto expect_listed = [&] {
    const auto conditions = Conditions();
    EXPECT_EQ(conditions.at(kUntouched), pb::SessionSummary::CONDITION_OK);
    for (const auto& [id, reason] : reasons) {
      ASSERT_TRUE(conditions.contains(id)) << id;
      EXPECT_EQ(conditions.at(id), pb::SessionSummary::CONDITION_DAMAGED) << id;
      ExpectRefused(id, reason);
    }
    EXPECT_FALSE(conditions.contains("removed"));
    ExpectServing();
  };
  expect_listed();
  StopAndRestart();
  expect_listed();
  KillAndRestart();
  expect_listed();
}

}  // namespace
}  // namespace holdfast::testing
