// Any byte of any file of a store cut off or changed: each call is refused as damage or answered
// exactly, and never with less than was acknowledged. The places come from a seed, $HOLDFAST_SEED.
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "tests/faults/session_picture.h"
#include "tests/support/breaking_files.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include "absl/strings/escaping.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

constexpr size_t kPlaces = 2000;
constexpr size_t kCutRotateChanges = 9;
constexpr size_t kTurns = 4;

uint64_t Seed() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the process writes to the environment
  const char* const set = std::getenv("HOLDFAST_SEED");
  return set == nullptr ? std::random_device()() : std::strtoull(set, nullptr, 10);
}

// How the store ended.
enum class StoreEnd { kInOrder, kKilled };

class CutPlaces : public ::testing::Test {
 protected:
  // Sessions with and without rotations, one that was deleted, and of one a last change that was
  // written and never acknowledged.
  void Fill(StoreEnd end) {
    std::unique_ptr<SessionStore> store = Open(disk_);
    ASSERT_NE(store, nullptr);
    for (const char* name : {"alpha", "beta", "gamma"})
      Live(*store, name, *name == 'b' ? 1 : kTurns);
    Changes gone(Key("gone"), random_);
    Must(*store, gone.Create());
    clock_.Advance(absl::Minutes(2));
    Must(*store, gone.Delete());
    subjects_.push_back({.key = Key("gone"), .requests = {}});
    if (end == StoreEnd::kInOrder) {
      ASSERT_TRUE(store->Deactivate().ok());
      store->Dispose();
      whole_ = LookAt(disk_.After(CutKind::kKilled));
      later_ = whole_;
      return;
    }
    before_ = std::make_unique<MemoryDisk>(disk_.After(CutKind::kKilled));
    breaks_ = true;
    EXPECT_FALSE(store->Commit(Changes(Key("beta"), random_).Update({{"title", "late"}})).ok());
    store->Dispose();
    breaks_ = false;
    whole_ = LookAt(before_->After(CutKind::kKilled));
    later_ = LookAt(disk_.After(CutKind::kKilled));
    EXPECT_NE(whole_, later_) << "the last change is there, since the process alone died";
  }

  void TryPlaces(size_t places) {
    const uint64_t seed = Seed();
    SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
    std::mt19937_64 draw(seed);
    const std::vector<std::string> files = FilesOf(disk_, ".");
    uint64_t sum = 0;
    for (const std::string& path : files) sum += Used(path);
    size_t refused = 0;
    for (size_t count = 0; count < places && !HasFailure(); ++count) {
      uint64_t at = draw() % sum;
      size_t file = 0;
      while (at >= Used(files[file])) at -= Used(files[file++]);
      const bool cut = draw() % 2 == 0;
      const auto flip = static_cast<char>(1U << (draw() % 8));
      refused += TryPlace(files[file], at, cut ? '\0' : flip) ? 1 : 0;
    }
    std::printf("figure: %zu of %zu places refused, seed %llu\n", refused, places,
                static_cast<unsigned long long>(seed));
    EXPECT_GT(refused, places / 20);
  }

  // Cuts `path` at the byte `at`, or changes the byte by `flip`; whether anything was refused.
  bool TryPlace(const std::string& path, uint64_t at, char flip) {
    SCOPED_TRACE(path + (flip == '\0' ? " cut at " : " changed at ") + std::to_string(at));
    MemoryDisk hurt = disk_.After(CutKind::kKilled);
    std::string bytes = hurt.Read(path);
    if (flip == '\0') {
      bytes.resize(at);
    } else {
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
    }
    hurt.Write(path, bytes);
    const Picture found = LookAt(hurt);
    if (found.empty()) {  // the store does not open at all
      EXPECT_FALSE(path.starts_with("t/")) << "a session's own file keeps all others from service";
      return true;
    }
    bool refused = false;
    for (const auto& [call, answer] : whole_) {
      const auto now = found.find(call);
      const std::string said = now == found.end() ? "! DAMAGED" : now->second;
      refused = refused || (IsDamage(said) && said != answer);
      const bool right = said == answer || said == later_.at(call) || IsDamage(said);
      EXPECT_TRUE(right) << call << ": said " << absl::CEscape(said).substr(0, 200);
    }
    return refused;
  }

  // Every answer of a store over `disk`; none when it refuses to open, in words.
  Picture LookAt(MemoryDisk disk) {
    const std::unique_ptr<SessionStore> store = Open(disk);
    if (store == nullptr) return {};
    Picture picture = PictureOf(*store, subjects_);
    store->Dispose();
    return picture;
  }

 private:
  std::unique_ptr<SessionStore> Open(MemoryDisk& disk) {
    fs::FsOptions options;
    options.root = root_ / "root";  // only its lock is real
    options.rotate_changes = kCutRotateChanges;
    options.wrap_files = BreakBy(disk, [this](const FileOperation& asked) {
      return breaks_ && asked.name == "sync" ? absl::UnavailableError("broken") : absl::OkStatus();
    });
    auto store = fs::MakeFsStore(std::move(options), clock_, random_);
    const absl::Status opened = store->Init();
    if (opened.ok()) return store;
    EXPECT_TRUE(Is(opened, Reason::kStoreUnavailable)) << opened;
    store->Dispose();
    return nullptr;
  }

  void Live(SessionStore& store, const std::string& name, size_t turns) {
    Subject subject{.key = Key(name), .requests = {}};
    Changes changes(subject.key, random_);
    const auto act = [&](const Change& change) {
      if (change.request) subject.requests.push_back(change.request->id);
      return Must(store, change);
    };
    const LeaseToken token = *LeaseToken::Parse(act(changes.Create()).token);
    for (size_t round = 0; round < turns; ++round) {
      const TurnNumber turn = act(changes.Begin(token)).turn;
      act(changes.Append(
          token, turn,
          {SlotUpdate(turn, 1, MakeSlot("plan", random_.Bytes(300))), Note(turn, 2, "thinking")}));
      Change commit = changes.CommitTurn(token, turn);
      commit.messages = {Text("question"), Text(random_.Bytes(400))};
      commit.slots = {MakeSlot("memory", std::to_string(round))};
      act(commit);
    }
    subjects_.push_back(std::move(subject));
  }

  static Receipt Must(SessionStore& store, const Change& change) {
    const auto result = store.Commit(change);
    EXPECT_TRUE(result.ok() && result->refusal.ok()) << result.status();
    return result.ok() ? result->receipt : Receipt();
  }

  static std::vector<std::string> FilesOf(MemoryDisk& disk, const std::string& directory) {
    const auto files = disk.Open();
    std::vector<std::string> all;
    const auto names = files->List(directory);
    if (!names.ok()) return all;
    for (const std::string& name : *names) {
      const std::string path = directory == "." ? name : directory + "/" + name;
      if (path == "tmp") continue;  // no session refers to files there
      const auto info = files->Stat(path);
      if (info.ok() && !info->directory) {
        all.push_back(path);
        continue;
      }
      for (std::string& below : FilesOf(disk, path)) all.push_back(std::move(below));
    }
    return all;
  }

  // A few of the zeros that were allocated in advance represent all of them.
  uint64_t Used(const std::string& path) {
    const std::string bytes = disk_.Read(path);
    return std::min<uint64_t>(bytes.size(), bytes.find_last_not_of('\0') + 1 + 64);
  }

  TempDir root_;
  FakeClock clock_;
  SeededRandom random_;
  MemoryDisk disk_;
  std::unique_ptr<MemoryDisk> before_;  // before the change that was not acknowledged
  std::vector<Subject> subjects_;
  Picture whole_;  // what was acknowledged
  Picture later_;  // with the change that was not
  bool breaks_ = false;
};

TEST_F(CutPlaces, OfAStoreThatEndedInOrderAreRefusedOrReadExactly) {
  Fill(StoreEnd::kInOrder);
  TryPlaces(kPlaces / 10);
}

TEST_F(CutPlaces, OfAKilledStoreLoseNothingThatWasAcknowledged) {
  Fill(StoreEnd::kKilled);
  TryPlaces(kPlaces / 10);
}

class LongCutPlaces : public CutPlaces {};

TEST_F(LongCutPlaces, OfAStoreThatEndedInOrderAreRefusedOrReadExactly) {
  Fill(StoreEnd::kInOrder);
  TryPlaces(kPlaces);
}

TEST_F(LongCutPlaces, OfAKilledStoreLoseNothingThatWasAcknowledged) {
  Fill(StoreEnd::kKilled);
  TryPlaces(kPlaces);
}

}  // namespace
}  // namespace holdfast::test
