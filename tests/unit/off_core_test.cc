// What waits for something else than a core says so; what a worker leaves unsaid costs the
// transport its share.
#include "session/off_core.h"

#include "store-fs/files.h"
#include "tests/support/counted_waits.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

using testing::WaitsOf;

TEST(OffCore, IsSaidOnceForWaitsWithinOneAnother) {
  EXPECT_EQ(WaitsOf([] {
              const OffCore outer;
              const OffCore inner;
            }),
            1);
}

TEST(OffCore, IsNothingToAThreadThatNobodyAskedAbout) { const OffCore waiting; }

TEST(OffCore, IsWhereAFileIsReadOrSynced) {
  const TempDir directory;
  const auto files = fs::OpenFiles(directory.path());
  ASSERT_TRUE(files.ok());
  const auto file = (*files)->Open("file", fs::OpenMode::kCreate);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(WaitsOf([&] { EXPECT_TRUE((*file)->Sync().ok()); }), 1);
  EXPECT_EQ(WaitsOf([&] { EXPECT_TRUE((*file)->Read(0, 1).ok()); }), 1);
  EXPECT_EQ(WaitsOf([&] { EXPECT_TRUE((*files)->SyncDirectory(".").ok()); }), 1);
}

TEST(OffCore, IsWhereAConditionIsAwaitedThatDoesNotHoldYet) {
  absl::Mutex mutex;
  bool holds = true;
  const auto await = [&] {
    const absl::MutexLock lock(&mutex);
    AwaitOffCore(mutex, absl::Condition(&holds));
  };
  EXPECT_EQ(WaitsOf(await), 0);
}

}  // namespace
}  // namespace holdfast::test
