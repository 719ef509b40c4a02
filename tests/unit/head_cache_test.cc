#include "session/head_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast {
namespace {

SessionKey Key(const std::string& session) {
  return {.tenant = *TenantId::Parse("default"), .session = *SessionId::Parse(session)};
}

Head At(uint64_t revision, uint64_t journal = 0,
        const char* uid = "33333333-3333-4333-8333-333333333333") {
  Head head;
  head.uid = *SessionUid::Parse(uid);
  head.revision = Revision(revision);
  head.journal = JournalNumber(journal);
  return head;
}

uint64_t Known(HeadCache& cache, const std::string& session) {
  const auto head = cache.Find(Key(session));
  return head ? head->revision.value() : 0;
}

TEST(HeadCache, RemembersTheLatestHead) {
  HeadCache cache(4);
  EXPECT_FALSE(cache.Find(Key("a")).has_value());
  cache.Put(Key("a"), At(2));
  EXPECT_EQ(Known(cache, "a"), 2U);
  cache.Put(Key("a"), At(3));
  EXPECT_EQ(Known(cache, "a"), 3U);
  // An answer that was overtaken on its way does not push the later one out.
  cache.Put(Key("a"), At(2));
  EXPECT_EQ(Known(cache, "a"), 3U);
  cache.Put(Key("a"), At(3, 7));
  cache.Put(Key("a"), At(3, 6));
  EXPECT_EQ(cache.Find(Key("a"))->journal, JournalNumber(7));
}

TEST(HeadCache, AnotherCreationOfTheIdIsAnotherSession) {
  HeadCache cache(4);
  cache.Put(Key("a"), At(9));
  cache.Put(Key("a"), At(1, 0, "44444444-4444-4444-8444-444444444444"));
  EXPECT_EQ(Known(cache, "a"), 1U);
}

TEST(HeadCache, ForgetsWhatWasUsedLeastRecently) {
  HeadCache cache(2);
  cache.Put(Key("a"), At(1));
  cache.Put(Key("b"), At(2));
  EXPECT_EQ(Known(cache, "a"), 1U);
  cache.Put(Key("c"), At(3));
  EXPECT_EQ(Known(cache, "b"), 0U);
  EXPECT_EQ(Known(cache, "a"), 1U);
  EXPECT_EQ(Known(cache, "c"), 3U);
}

TEST(HeadCache, ForgetsOnDemand) {
  HeadCache cache(2);
  cache.Put(Key("a"), At(1));
  cache.Forget(Key("a"));
  cache.Forget(Key("a"));
  EXPECT_EQ(Known(cache, "a"), 0U);
  cache.Put(Key("a"), At(1));
  EXPECT_EQ(Known(cache, "a"), 1U);
}

}  // namespace
}  // namespace holdfast
