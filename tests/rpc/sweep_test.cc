// What the server says of the sessions that its sweeps cannot recover.
#include "session/refusal.h"
#include "tests/rpc/served.h"

#include <gmock/gmock.h>

#include <string>

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;

class SweepRpc : public Served {
 protected:
  SweepRpc() {
    config().recovery.sweep_interval = absl::Milliseconds(20);
    config().recovery.abandon_after = absl::Seconds(1);
  }

  // A session in the middle of a turn, whose lease ends when time is let pass.
  void Abandon(const std::string& id) { Begin(id, Create(id).lease_token()); }
};

TEST_F(SweepRpc, NamesTheSessionThatCannotBeRecoveredAndTriesItAgain) {
  Abandon("one");
  script().Fail(Refusal(Reason::kDamaged, "its record is cut"));
  clock().Advance(absl::Hours(1));
  const std::string line = AwaitLog("\"reason\":\"DAMAGED\"");
  EXPECT_THAT(line, HasSubstr("\"tenant\":\"default\",\"session\":\"one\""));
  EXPECT_THAT(line, HasSubstr("its record is cut"));
  script().Fail(absl::OkStatus());
  EXPECT_THAT(AwaitLog("sessions_closed"), HasSubstr("\"sessions_closed\":1"));
  EXPECT_EQ(Get("one").lifecycle(), pb::LIFECYCLE_CLOSED);
}

TEST_F(SweepRpc, OutlivesAnExceptionInOneSession) {
  Abandon("one");
  script().Throw(true);
  clock().Advance(absl::Hours(1));
  EXPECT_THAT(AwaitLog("\"reason\":\"INTERNAL\""), HasSubstr("an exception that a test asked for"));
  script().Throw(false);
  EXPECT_THAT(AwaitLog("sessions_closed"), HasSubstr("\"sessions_closed\":1"));
}

}  // namespace
}  // namespace holdfast::test
