// The table of leases: what a decision rests on stays, the rest is bounded.
#include "store-fs/lease_table.h"

#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::test {
namespace {

constexpr size_t kMostLeases = 100;
constexpr size_t kMany = 20 * kMostLeases;

class LeaseTableTest : public ::testing::Test {
 protected:
  static SessionKey Numbered(size_t number) { return Key("s" + std::to_string(number)); }
  static Head Held(absl::Duration ttl = absl::Seconds(60)) {
    Head head;
    head.lease.epoch = Epoch(1);
    head.lease.held = true;
    head.lease.ttl = ttl;
    return head;
  }
  static Head Active() {
    Head head = Held();
    head.turn = TurnRecord{.number = TurnNumber(1)};
    return head;
  }
  static Head Free() {
    Head head = Held();
    head.lease.held = false;
    return head;
  }
  void Grant(const SessionKey& key, const Head& head) {
    table_.NoteChange(key, head, head.lease.ttl);
  }
  LeaseState StateOf(const SessionKey& key, Head head = Held()) {
    table_.Evaluate(key, head);
    return head.lease.state;
  }

  FakeClock clock_;
  fs::LeaseTable table_{clock_, kMostLeases};
};

TEST_F(LeaseTableTest, SessionsThatWereGivenBackAreBounded) {
  for (size_t at = 0; at < kMany; ++at) {
    Grant(Numbered(at), Held());
    table_.NoteChange(Numbered(at), Free(), std::nullopt);
  }
  EXPECT_LE(table_.rows(), kMostLeases + 1);
}

TEST_F(LeaseTableTest, LeasesThatAreLiveStayAndGoWhenTheyAreOver) {
  clock_.Advance(kLeaseTtlMost);
  for (size_t at = 0; at < kMany; ++at) Grant(Numbered(at), Held());
  EXPECT_EQ(table_.rows(), kMany);
  for (size_t at = 0; at < kMany; ++at) EXPECT_EQ(StateOf(Numbered(at)), LeaseState::kLive) << at;
  clock_.Advance(absl::Seconds(61));
  for (size_t at = 0; at < kMany; ++at) {
    Grant(Numbered(kMany + at), Free());
    EXPECT_LE(table_.rows(), kMany + 1);
  }
  EXPECT_LE(table_.rows(), kMostLeases + 1);
  for (size_t at = 0; at < kMany; ++at) {
    EXPECT_EQ(StateOf(Numbered(at)), LeaseState::kExpired) << at << ": it came back";
  }
}

// Without its row this one would be counted from the opening, and be live for an hour.
TEST_F(LeaseTableTest, AShortRenewalOfALongLeaseDoesNotComeBack) {
  table_.Renew(Numbered(0), Held(kLeaseTtlMost), absl::Seconds(5));
  clock_.Advance(absl::Seconds(6));
  for (size_t at = 1; at < kMany; ++at) table_.NoteChange(Numbered(at), Free(), std::nullopt);
  EXPECT_EQ(StateOf(Numbered(0), Held(kLeaseTtlMost)), LeaseState::kExpired);
}

TEST_F(LeaseTableTest, QuietTimeOfAnActiveSessionCountsFromWhatHappenedLast) {
  clock_.Advance(absl::Hours(5));
  table_.NoteChange(Numbered(0), Active(), absl::Seconds(60));
  clock_.Advance(absl::Hours(2));
  for (size_t at = 1; at < kMany; ++at) table_.NoteChange(Numbered(at), Free(), std::nullopt);
  EXPECT_EQ(table_.Quiet(Numbered(0)), absl::Hours(2));
  EXPECT_LE(table_.rows(), kMostLeases + 1);
}

// A renewal that was checked before a turn began must not remove the turn's row.
TEST_F(LeaseTableTest, ALateRenewalDoesNotHideATurn) {
  clock_.Advance(absl::Hours(5));
  table_.NoteChange(Numbered(0), Active(), absl::Seconds(60));
  table_.Renew(Numbered(0), Held(), absl::Seconds(60));
  clock_.Advance(absl::Hours(2));
  for (size_t at = 1; at < kMany; ++at) table_.NoteChange(Numbered(at), Free(), std::nullopt);
  EXPECT_EQ(table_.Quiet(Numbered(0)), absl::Hours(2));
}

TEST_F(LeaseTableTest, AfterAnOpeningEveryHeldLeaseHasItsWholeTtl) {
  EXPECT_EQ(StateOf(Numbered(0)), LeaseState::kLive);
  clock_.Advance(absl::Seconds(59));
  EXPECT_EQ(StateOf(Numbered(0)), LeaseState::kLive);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(StateOf(Numbered(0)), LeaseState::kExpired);
}

}  // namespace
}  // namespace holdfast::test
