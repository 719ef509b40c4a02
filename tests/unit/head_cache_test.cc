#include "session/head_cache.h"

#include "session/limits.h"

#include <gtest/gtest.h>

#include <malloc.h>
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
  HeadCache cache({.entries = 4, .bytes = kMiB});
  EXPECT_FALSE(cache.Find(Key("a")).has_value());
  cache.Put(Key("a"), At(2), cache.Now());
  EXPECT_EQ(Known(cache, "a"), 2U);
  cache.Put(Key("a"), At(3), cache.Now());
  EXPECT_EQ(Known(cache, "a"), 3U);
  // An answer that was overtaken on its way does not replace the later one.
  const HeadCache::Moment before = cache.Now();
  cache.Put(Key("a"), At(3, 7), cache.Now());
  cache.Put(Key("a"), At(2), before);
  EXPECT_EQ(Known(cache, "a"), 3U);
  cache.Put(Key("a"), At(3, 6), before);
  EXPECT_EQ(cache.Find(Key("a"))->journal, JournalNumber(7));
}

TEST(HeadCache, AnotherCreationOfTheIdIsAnotherSession) {
  HeadCache cache({.entries = 4, .bytes = kMiB});
  cache.Put(Key("a"), At(9), cache.Now());
  cache.Put(Key("a"), At(1, 0, "44444444-4444-4444-8444-444444444444"), cache.Now());
  EXPECT_EQ(Known(cache, "a"), 1U);
}

TEST(HeadCache, ForgetsWhatWasUsedLeastRecently) {
  HeadCache cache({.entries = 2, .bytes = kMiB});
  cache.Put(Key("a"), At(1), cache.Now());
  cache.Put(Key("b"), At(2), cache.Now());
  EXPECT_EQ(Known(cache, "a"), 1U);
  cache.Put(Key("c"), At(3), cache.Now());
  EXPECT_EQ(Known(cache, "b"), 0U);
  EXPECT_EQ(Known(cache, "a"), 1U);
  EXPECT_EQ(Known(cache, "c"), 3U);
}

TEST(HeadCache, ForgetsOnDemand) {
  HeadCache cache({.entries = 2, .bytes = kMiB});
  cache.Put(Key("a"), At(1), cache.Now());
  cache.Forget(Key("a"));
  cache.Forget(Key("a"));
  EXPECT_EQ(Known(cache, "a"), 0U);
  cache.Put(Key("a"), At(1), cache.Now());
  EXPECT_EQ(Known(cache, "a"), 1U);
}

// An answer to a call that began when the later head was known: the store has lost that one.
TEST(HeadCache, ReplacesALaterHeadThatTheStoreNoLongerHas) {
  HeadCache cache({.entries = 4, .bytes = kMiB});
  cache.Put(Key("a"), At(9, 4), cache.Now());
  cache.Put(Key("a"), At(7, 2), cache.Now());
  EXPECT_EQ(Known(cache, "a"), 7U);
}

// As large as a client can make one.
Head Large(uint64_t revision) {
  Head head = At(revision);
  head.project_root = "/" + std::string(4000, 'p');
  head.sm = StateMachineRef{std::string(200, 'e'), std::string(200, 's')};
  head.turn =
      TurnRecord{.trace = {.id = std::string(32, 't')}, .parent_span_id = std::string(16, 's')};
  for (int i = 0; i < 60; ++i) {
    head.attributes.emplace("attribute-number-" + std::to_string(i), std::string(1000, 'v'));
    head.marks.push_back({.scope = CancelScope::kTool, .name = std::string(100, 'm')});
    head.grants.push_back({});
    head.ended.push_back({});
  }
  for (int i = 0; i < 10; ++i) head.snapshots.push_back({});
  return head;
}

TEST(HeadCache, IsBoundedByBytes) {
  HeadCache cache({.entries = 1000, .bytes = kMiB});
  for (int i = 0; i < 100; ++i) {
    cache.Put(Key("s" + std::to_string(i)), Large(1), cache.Now());
    EXPECT_LE(cache.Bytes(), kMiB);
  }
  EXPECT_EQ(Known(cache, "s99"), 1U);
  EXPECT_EQ(Known(cache, "s80"), 0U);
  // One that has no room at all is not stored, and takes no other's.
  HeadCache small({.entries = 1000, .bytes = 4 * kKiB});
  small.Put(Key("a"), At(1), small.Now());
  small.Put(Key("b"), Large(1), small.Now());
  EXPECT_EQ(Known(small, "a"), 1U);
  EXPECT_EQ(Known(small, "b"), 0U);
  small.Put(Key("a"), Large(2), small.Now());
  EXPECT_EQ(Known(small, "a"), 0U);
  EXPECT_EQ(small.Bytes(), 0U);
}

// Where the allocator cannot be asked, as under a sanitizer, this holds for want of a figure.
TEST(HeadCache, CountsNoLessThanTheAllocatorGives) {
  for (const bool large : {false, true}) {
    HeadCache cache({.entries = 5000, .bytes = 1024 * kMiB});
    const size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 1000; ++i) {
      cache.Put(Key("a-session-with-a-long-name-" + std::to_string(i)), large ? Large(1) : At(1),
                cache.Now());
    }
    EXPECT_GE(cache.Bytes(), mallinfo2().uordblks - before);
  }
}

}  // namespace
}  // namespace holdfast
