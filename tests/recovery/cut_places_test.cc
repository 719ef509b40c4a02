// Any byte of any file of a data directory cut off or changed while no server runs: a real one
// answers each call exactly or as damage, or does not start and names the file. The places come
// from a seed, $HOLDFAST_SEED.
#include "tests/recovery/wire_picture.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wire_client.h"

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr size_t kPlaces = 30;
constexpr size_t kManyPlaces = 1000;
constexpr size_t kUpdatesOfARotation = 520;
constexpr size_t kShown = 300;

uint64_t Seed() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the process writes to the environment
  const char* const set = std::getenv("HOLDFAST_SEED");
  return set == nullptr ? std::random_device()() : std::strtoull(set, nullptr, 10);
}

ino_t InodeOf(const std::filesystem::path& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

class CutPlacesOnDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
    Fill("rotated", kUpdatesOfARotation);
    for (const char* id : {"short", "other", "gone"}) Fill(id, 1);
    client_->Must(&Stub::DeleteSession, test::DeleteRequest("gone", ""));
    whole_ = Look();
    EXPECT_EQ(whole_.at("gone GetSession"), "! TOMBSTONED");
    for (const auto& [call, answer] : whole_) EXPECT_FALSE(IsDamage(answer)) << call;
  }

  ServerProcess& server() { return server_; }

  // Of a server that has ended.
  void TryPlaces(size_t places) {
    Keep();
    const uint64_t seed = Seed();
    SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
    std::mt19937_64 draw(seed);
    std::vector<std::string> files;
    for (const auto& [path, file] : kept_) {
      if (!file.bytes.empty()) files.push_back(path);
    }
    size_t refused = 0;
    for (size_t count = 0; count < places && !HasFailure(); ++count) {
      const std::string& path = files[draw() % files.size()];
      // A few of the zeros that were allocated in advance represent all of them.
      const std::string& bytes = kept_.at(path).bytes;
      const size_t at = draw() % std::min(bytes.size(), bytes.find_last_not_of('\0') + 1 + 64);
      const bool cut = draw() % 2 == 0;
      const auto flip = static_cast<char>(1U << (draw() % 8));
      refused += TryPlace(path, at, cut ? '\0' : flip) ? 1 : 0;
      Restore();
    }
    std::printf("figure: %zu of %zu places refused, seed %llu\n", refused, places,
                static_cast<unsigned long long>(seed));
    EXPECT_GT(refused, 0U);
  }

 private:
  struct File {
    std::string bytes;
    ino_t inode = 0;
  };

  [[nodiscard]] std::filesystem::path Root() const { return folder_.path() / "data"; }

  Picture Look() {
    return PictureOverWire(server_.address(), {"rotated", "short", "other", "gone"}, requests_);
  }

  // Notes, messages, slots, events, audit records and replies, and a lease that is free.
  void Fill(const std::string& id, size_t updates) {
    const auto create = test::CreateRequest(id);
    requests_.push_back({id, pb::METHOD_CREATE_SESSION, create.request_id()});
    const std::string token = client_->Must(&Stub::CreateSession, create).lease_token();
    for (size_t i = 0; i < updates; ++i) {
      pb::UpdateSessionRequest update;
      update.set_request_id(test::NewRequestId());
      update.mutable_session()->set_session_id(id);
      (*update.mutable_session()->mutable_attributes())["title"] = std::to_string(i);
      update.mutable_update_mask()->add_paths("attributes.title");
      client_->Must(&Stub::UpdateSession, update);
    }
    for (uint64_t turn = 1; turn <= 2; ++turn) {
      client_->Must(&Stub::BeginTurn, test::BeginRequest(id, token));
      client_->Must(&Stub::AppendJournal, test::AppendRequest(id, token, turn, 1));
      auto commit = test::CommitRequest(id, token, turn, "a message " + std::to_string(turn));
      pb::Slot& slot = *commit.add_slots();
      slot.set_owner("memory");
      slot.set_version("1.0.0");
      slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
      slot.set_data("remembered");
      requests_.push_back({id, pb::METHOD_COMMIT_TURN, commit.request_id()});
      client_->Must(&Stub::CommitTurn, commit);
    }
    client_->Must(&Stub::ReleaseLease, test::ReleaseRequest(id, token));
  }

  void Keep() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Root())) {
      if (!entry.is_regular_file()) continue;
      const std::string path = entry.path().lexically_relative(Root());
      if (path.starts_with("tmp/")) continue;  // no session refers to files there
      kept_[path] = {.bytes = test::ReadFile(entry.path()), .inode = InodeOf(entry.path())};
    }
  }

  // In place: how far a journal was acknowledged is known of the file that it is.
  void Restore() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Root())) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    for (const std::filesystem::path& path : found) {
      if (!kept_.contains(path.lexically_relative(Root()))) std::filesystem::remove(path);
    }
    for (const auto& [path, file] : kept_) {
      if (test::ReadFile(Root() / path) != file.bytes) test::WriteFile(Root() / path, file.bytes);
      if (path.ends_with("journal.log")) {
        EXPECT_EQ(InodeOf(Root() / path), file.inode) << path << " was replaced";
      }
    }
  }

  // Cuts the file at the byte `at`, or changes the byte by `flip`; whether anything was refused.
  bool TryPlace(const std::string& path, size_t at, char flip) {
    SCOPED_TRACE(path + (flip == '\0' ? " cut at " : " changed at ") + std::to_string(at));
    std::string bytes = kept_.at(path).bytes;
    if (flip == '\0') {
      bytes.resize(at);
    } else {
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
    }
    test::WriteFile(Root() / path, bytes);
    const size_t said = server_.Log().size();
    if (!server_.Start()) {
      EXPECT_FALSE(path.starts_with("t/")) << "a session's own file keeps all others from service";
      EXPECT_NE(server_.Log().find(path, said), std::string::npos) << server_.Log().substr(said);
      return true;
    }
    bool refused = false;
    const Picture now = Look();
    for (const auto& [call, answer] : whole_) {
      const std::string& said_now = now.at(call);
      refused = refused || (IsDamage(said_now) && said_now != answer);
      const auto differ = std::ranges::mismatch(said_now, answer);
      const auto from = static_cast<size_t>(differ.in1 - said_now.begin());
      EXPECT_TRUE(said_now == answer || IsDamage(said_now))
          << call << ": from byte " << from << " on said "
          << absl::CEscape(said_now.substr(from, kShown)) << " instead of "
          << absl::CEscape(answer.substr(from, kShown));
    }
    EXPECT_TRUE(server_.Running()) << server_.Log();
    server_.Kill();
    return refused;
  }

  TestFolder folder_;
  ServerProcess server_{folder_};
  std::unique_ptr<WireClient> client_;
  std::vector<SentRequest> requests_;
  Picture whole_;                     // what was acknowledged
  std::map<std::string, File> kept_;  // when the server had ended, by the path in the root
};

TEST_F(CutPlacesOnDisk, OfAStoppedServerAreRefusedOrReadExactly) {
  ASSERT_EQ(server().Stop().exit_code, 0) << server().Log();
  TryPlaces(kPlaces);
}

TEST_F(CutPlacesOnDisk, OfAKilledServerLoseNothingThatWasAcknowledged) {
  server().Kill();
  TryPlaces(kPlaces);
}

class LongCutPlacesOnDisk : public CutPlacesOnDisk {};

TEST_F(LongCutPlacesOnDisk, OfAStoppedServerAreRefusedOrReadExactly) {
  ASSERT_EQ(server().Stop().exit_code, 0) << server().Log();
  TryPlaces(kManyPlaces);
}

TEST_F(LongCutPlacesOnDisk, OfAKilledServerLoseNothingThatWasAcknowledged) {
  server().Kill();
  TryPlaces(kManyPlaces);
}

}  // namespace
}  // namespace holdfast::testing
