#include "platform/shared_bytes.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

const std::string kText(100, 'x');

TEST(SharedBytes, CopiesShareTheirBytes) {
  const SharedBytes bytes = kText;
  const SharedBytes copy = bytes;  // NOLINT(performance-unnecessary-copy-initialization): compared
  EXPECT_EQ(copy.str().data(), bytes.str().data());
  EXPECT_EQ(copy, bytes);
  EXPECT_EQ(copy, kText);
  EXPECT_EQ(copy, SharedBytes(kText)) << "equal bytes of another allocation";
  EXPECT_FALSE(copy == "another text");
  EXPECT_EQ(copy.size(), kText.size());
}

TEST(SharedBytes, NoneAreEmpty) {
  const SharedBytes none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.str(), "");
  EXPECT_EQ(none, SharedBytes(""));
  EXPECT_EQ(none.digest(), Sha256(""));
  EXPECT_EQ(SharedBytes().Take(), "");
}

TEST(SharedBytes, TakingThemCopiesOnlyWhatIsShared) {
  SharedBytes bytes = kText;
  SharedBytes copy = bytes;
  const char* const where = bytes.str().data();
  EXPECT_EQ(copy.Take(), kText);
  EXPECT_TRUE(copy.empty());
  EXPECT_EQ(bytes.str().data(), where);
  const std::string taken = bytes.Take();
  EXPECT_EQ(taken.data(), where);
  EXPECT_TRUE(bytes.empty());
}

TEST(SharedBytes, HaveTheDigestOfTheirBytes) {
  const SharedBytes bytes = kText;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([copy = bytes] { EXPECT_EQ(copy.digest(), Sha256(kText)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(&bytes.digest(), &SharedBytes(bytes).digest()) << "it was worked out again";
}

}  // namespace
}  // namespace holdfast
