// Sections that block are reported to the thread's observer, once each: a section that is not would
// keep a core from the transport.
#include "platform/scoped_blocking_call.h"

#include "store-fs/files.h"
#include "tests/support/counted_waits.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

using testing::WaitsOf;

TEST(ScopedBlockingCall, ReportsNestedCallsOnce) {
  EXPECT_EQ(WaitsOf([] {
              const ScopedBlockingCall outer;
              const ScopedBlockingCall inner;
            }),
            1);
}

TEST(ScopedBlockingCall, DoesNothingOnThreadWithoutObserver) { const ScopedBlockingCall blocking; }

TEST(ScopedBlockingCall, CoversReadAndSyncOfFile) {
  const TempDir directory;
  const auto files = fs::OpenFiles(directory.path());
  ASSERT_TRUE(files.ok());
  const auto file = (*files)->Open("file", fs::OpenMode::kCreate);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(WaitsOf([&] { EXPECT_TRUE((*file)->Sync().ok()); }), 1);
  EXPECT_EQ(WaitsOf([&] { EXPECT_TRUE((*file)->Read(0, 1).ok()); }), 1);
  EXPECT_EQ(WaitsOf([&] { EXPECT_TRUE((*files)->SyncDirectory(".").ok()); }), 1);
}

TEST(ScopedBlockingCall, SkipsConditionThatHolds) {
  absl::Mutex mutex;
  bool holds = true;
  const auto await = [&] {
    const absl::MutexLock lock(&mutex);
    AwaitBlocking(mutex, absl::Condition(&holds));
  };
  EXPECT_EQ(WaitsOf(await), 0);
}

}  // namespace
}  // namespace holdfast::test
