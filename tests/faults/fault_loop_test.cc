// Every file operation of a workload fails in turn, the first time alone and then for good: nothing
// is acknowledged that is not found again, the store stops, and the restart is clean.
#include "platform/exceptions.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "tests/faults/workload.h"
#include "tests/support/breaking_files.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <new>
#include <string>

namespace holdfast::test {
namespace {

constexpr size_t kLoopRotateChanges = 7;
constexpr uint64_t kLoopLogBytes = 16 * kKiB;

// Fails the n-th operation, or nothing. With OK as its status the operation throws.
struct Fault {
  size_t at = 0;
  absl::Status status;
  size_t seen = 0;
  bool hit = false;

  absl::Status operator()() {
    if (++seen != at) return absl::OkStatus();
    hit = true;
    if (status.ok()) throw std::bad_alloc();
    return status;
  }
};

// A store on a disk in memory, which is as good as any: only what the store is answered counts
// here.
class Stores {
 public:
  std::unique_ptr<SessionStore> Make(Fault& fault) {
    fs::FsOptions options;
    options.root = root_ / "root";  // only its lock is real
    options.rotate_changes = kLoopRotateChanges;
    options.bounds.write_ahead = kLoopLogBytes;
    options.wrap_files = BreakBy(disk_, [&fault](const FileOperation&) { return fault(); });
    return fs::MakeFsStore(std::move(options), clock, random);
  }

  FakeClock clock;
  SeededRandom random;

 private:
  TempDir root_;
  MemoryDisk disk_;
};

void ExpectCleanRestart(Stores& stores, const Workload& workload, size_t n) {
  Fault none;
  const auto again = stores.Make(none);
  EXPECT_TRUE(again->Init().ok()) << n;
  EXPECT_EQ(workload.Check(*again), "") << n;
  EXPECT_EQ(workload.GoOn(*again), "") << n;
  again->Dispose();
}

// Runs the workload with its n-th operation failing. False when it ended untouched.
bool RunWithFault(size_t n, const absl::Status& status) {
  Stores stores;
  Workload workload(stores.random);
  Fault fault{.at = n, .status = status};
  const auto store = stores.Make(fault);
  const absl::Status opened = store->Init();
  if (opened.ok()) {
    const absl::Status ended = workload.Run(*store);
    EXPECT_TRUE(ended.ok() || Is(ended, Reason::kStoreUnavailable) ||
                Is(ended, Reason::kStorageFull) || Is(ended, Reason::kDamaged) ||
                Is(ended, Reason::kSessionNotFound))
        << n << ": " << ended.message();
    const bool unknown =
        Is(ended, Reason::kStoreUnavailable) && RefusalOf(ended).facts().at("outcome") == "unknown";
    // The store may also have stopped without a failed call: after a background rotation.
    EXPECT_TRUE(!unknown || !store->CheckHealth().ok()) << n << ": it did not stop";
  } else {
    EXPECT_TRUE(Is(opened, Reason::kStoreUnavailable)) << n << ": " << opened.message();
  }
  store->Dispose();
  ExpectCleanRestart(stores, workload, n);
  return fault.hit;
}

size_t Loop(const absl::Status& status) {
  size_t n = 1;
  while (!::testing::Test::HasFailure() && RunWithFault(n, status)) ++n;
  return n - 1;
}

TEST(FaultLoop, AnyOperationMayFailOnce) {
  const size_t points = Loop(absl::UnavailableError("injected"));
  EXPECT_GE(points, 300U);
  std::printf("figure: %zu fault points\n", points);
}

// Runs the workload with its n-th operation throwing. False when it ended untouched.
bool RunWithException(size_t n) {
  Stores stores;
  Workload workload(stores.random);
  Fault fault{.at = n, .status = absl::OkStatus()};
  const auto store = stores.Make(fault);
  absl::Status opened = absl::UnknownError("it threw");
  CatchException([&] { opened = store->Init(); });
  if (opened.ok()) {
    absl::Status ended = absl::UnknownError("it threw");
    CatchException([&] { ended = workload.Run(*store); });
    const bool stopped = !store->CheckHealth().ok();
    EXPECT_TRUE(ended.ok() || absl::IsUnknown(ended) || stopped) << n << ": " << ended.message();
    // What goes on is sound without a restart, too.
    if (fault.hit && !stopped) {
      EXPECT_EQ(workload.Check(*store), "") << n;
    }
  }
  CatchException([&] { store->Dispose(); });
  ExpectCleanRestart(stores, workload, n);
  return fault.hit;
}

TEST(FaultLoop, AnyOperationMayThrow) {
  size_t points = 0;
  while (!::testing::Test::HasFailure() && RunWithException(points + 1)) ++points;
  EXPECT_GE(points, 300U);
  std::printf("figure: %zu fault points\n", points);
}

TEST(FaultLoop, SpaceMayEndAtAnyOperation) {
  const size_t points = Loop(absl::ResourceExhaustedError("injected"));
  EXPECT_GE(points, 300U);
  std::printf("figure: %zu fault points\n", points);
}

}  // namespace
}  // namespace holdfast::test
