// The database's clock goes on between answers, and an answer that took long does not set it.
#include "store-postgres/store_clock.h"

#include "tests/support/fake_clock.h"

#include "absl/time/time.h"
#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

const absl::Time kNoon = absl::FromUnixSeconds(1'800'000'000);

class StoreClockTest : public ::testing::Test {
 protected:
  // The database says `now` after `took`.
  void Answer(absl::Time now, absl::Duration took) {
    const absl::Duration asked = boot_.SinceBoot();
    boot_.Advance(took);
    clock_.Set(now, asked);
  }

  FakeClock boot_;
  pg::StoreClock clock_{boot_};
};

TEST_F(StoreClockTest, GoesOnWithTheTimeSinceBoot) {
  Answer(kNoon, absl::ZeroDuration());
  boot_.Advance(absl::Hours(24));
  boot_.JumpWall(-absl::Hours(7));
  EXPECT_EQ(clock_.Now(), kNoon + absl::Hours(24));
}

TEST_F(StoreClockTest, IsNotSetByAnAnswerThatTookLong) {
  Answer(kNoon, absl::ZeroDuration());
  Answer(kNoon, pg::kAnswerMost + absl::Milliseconds(1));
  EXPECT_EQ(clock_.Now(), kNoon + pg::kAnswerMost + absl::Milliseconds(1));
  Answer(kNoon + absl::Hours(3), pg::kAnswerMost);
  EXPECT_EQ(clock_.Now(), kNoon + absl::Hours(3));
}

TEST_F(StoreClockTest, IsSetByTheFirstAnswerHoweverLongItTook) {
  Answer(kNoon, absl::Minutes(1));
  EXPECT_EQ(clock_.Now(), kNoon);
}

}  // namespace
}  // namespace holdfast::test
