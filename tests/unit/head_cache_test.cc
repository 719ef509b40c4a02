#include "store-postgres/head_cache.h"

#include "session/limits.h"

#include <gtest/gtest.h>

#include <malloc.h>
#include <string>

namespace holdfast::pg {
namespace {

SessionKey Key(const std::string& session) {
  return {.tenant = *TenantId::Parse("default"), .session = *SessionId::Parse(session)};
}

Head HeadAt(uint64_t revision) {
  Head head;
  head.uid = *SessionUid::Parse("33333333-3333-4333-8333-333333333333");
  head.revision = Revision(revision);
  return head;
}

// A head whose revision is the version of its row.
VersionedHead HeadOfVersion(int64_t version) {
  return {.version = version, .sum = {}, .head = HeadAt(static_cast<uint64_t>(version))};
}

uint64_t Known(HeadCache& cache, const std::string& session) {
  const auto known = cache.Find(Key(session));
  return known ? known->head.revision.value() : 0;
}

TEST(HeadCache, RemembersTheLatestHead) {
  HeadCache cache({.entries = 4, .bytes = kMiB});
  EXPECT_EQ(cache.Find(Key("a")), nullptr);
  cache.Put(Key("a"), HeadOfVersion(2));
  EXPECT_EQ(Known(cache, "a"), 2U);
  cache.Put(Key("a"), HeadOfVersion(3));
  EXPECT_EQ(Known(cache, "a"), 3U);
  // An answer that was overtaken on its way does not replace the later one.
  cache.Put(Key("a"), HeadOfVersion(2));
  EXPECT_EQ(Known(cache, "a"), 3U);
}

TEST(HeadCache, WhatIsInUseStaysAsItIs) {
  HeadCache cache({.entries = 1, .bytes = kMiB});
  cache.Put(Key("a"), HeadOfVersion(2));
  const auto known = cache.Find(Key("a"));
  cache.Put(Key("a"), HeadOfVersion(3));
  cache.Forget(Key("a"));
  EXPECT_EQ(known->head.revision, Revision(2));
}

TEST(HeadCache, ForgetsWhatWasUsedLeastRecently) {
  HeadCache cache({.entries = 2, .bytes = kMiB});
  cache.Put(Key("a"), HeadOfVersion(1));
  cache.Put(Key("b"), HeadOfVersion(2));
  EXPECT_EQ(Known(cache, "a"), 1U);
  cache.Put(Key("c"), HeadOfVersion(3));
  EXPECT_EQ(Known(cache, "b"), 0U);
  EXPECT_EQ(Known(cache, "a"), 1U);
  EXPECT_EQ(Known(cache, "c"), 3U);
}

TEST(HeadCache, ForgetsOnDemand) {
  HeadCache cache({.entries = 2, .bytes = kMiB});
  cache.Put(Key("a"), HeadOfVersion(2));
  cache.Forget(Key("a"));
  cache.Forget(Key("a"));
  EXPECT_EQ(Known(cache, "a"), 0U);
  cache.Put(Key("a"), HeadOfVersion(1));
  EXPECT_EQ(Known(cache, "a"), 1U);
}

// The database answers that the later version is not there any more.
TEST(HeadCache, ReplacesALaterHeadThatTheStoreNoLongerHas) {
  HeadCache cache({.entries = 4, .bytes = kMiB});
  cache.Put(Key("a"), HeadOfVersion(9));
  cache.Replace(Key("a"), HeadOfVersion(7));
  EXPECT_EQ(Known(cache, "a"), 7U);
}

// As large as a client can make one.
VersionedHead Large(int64_t version) {
  VersionedHead known = HeadOfVersion(version);
  Head& head = known.head;
  head.project_root = "/" + std::string(4000, 'p');
  head.sm = StateMachineRef{std::string(200, 'e'), std::string(200, 's')};
  head.turn =
      TurnRecord{.trace = {.id = std::string(32, 't')}, .parent_span_id = std::string(16, 's')};
  for (int i = 0; i < 60; ++i) {
    head.attributes.emplace("attribute-number-" + std::to_string(i), std::string(1000, 'v'));
    head.cancel_requests.push_back({.scope = CancelScope::kTool, .name = std::string(100, 'm')});
    head.grants.push_back({});
    head.ended.push_back({});
  }
  for (int i = 0; i < 10; ++i) head.snapshots.push_back({});
  return known;
}

TEST(HeadCache, IsBoundedByBytes) {
  HeadCache cache({.entries = 1000, .bytes = kMiB});
  for (int i = 0; i < 100; ++i) {
    cache.Put(Key("s" + std::to_string(i)), Large(1));
    EXPECT_LE(cache.Bytes(), kMiB);
  }
  EXPECT_EQ(Known(cache, "s99"), 1U);
  EXPECT_EQ(Known(cache, "s80"), 0U);
  // One that has no room at all is not stored, and takes no other's.
  HeadCache small({.entries = 1000, .bytes = 4 * kKiB});
  small.Put(Key("a"), HeadOfVersion(1));
  small.Put(Key("b"), Large(1));
  EXPECT_EQ(Known(small, "a"), 1U);
  EXPECT_EQ(Known(small, "b"), 0U);
  small.Put(Key("a"), Large(2));
  EXPECT_EQ(Known(small, "a"), 0U);
  EXPECT_EQ(small.Bytes(), 0U);
}

// Where the allocator cannot be asked, as under a sanitizer, this holds for want of a figure.
TEST(HeadCache, CountsNoLessThanTheAllocatorGives) {
  for (const bool large : {false, true}) {
    HeadCache cache({.entries = 5000, .bytes = 1024 * kMiB});
    const size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 1000; ++i) {
      cache.Put(Key("a-session-with-a-long-name-" + std::to_string(i)),
                large ? Large(1) : HeadOfVersion(1));
    }
    EXPECT_GE(cache.Bytes(), mallinfo2().uordblks - before);
  }
}

}  // namespace
}  // namespace holdfast::pg
