// Nothing that others read of a session names the request that was granted its lease.
#include "session/grant_correlation.h"

#include "session/validate.h"
#include "tests/unit/sessions_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace holdfast::test {
namespace {

using ::testing::Each;
using ::testing::Not;

constexpr char kRequestText[] = "00112233-4455-4677-8899-aabbccddeeff";
const RequestId kRequest = *RequestId::Parse(kRequestText);

// The ids in the events and audit records of the session.
std::vector<std::string> CorrelationIds(World& world) {
  std::vector<std::string> ids;
  const StoredSession& stored = world.disk().sessions.at(world.key());
  for (const Event& event : stored.events) {
    ids.push_back(event.correlation_id);
    ids.push_back(event.trace_id);
  }
  for (const AuditRecord& record : stored.audit) ids.push_back(record.correlation_id);
  return ids;
}

TEST(GrantCorrelation, IsDerivedFromTheRequestAndStaysTheSame) {
  EXPECT_EQ(GrantCorrelation(kRequest), GrantCorrelation(kRequest));
  EXPECT_NE(GrantCorrelation(kRequest), kRequestText);
  EXPECT_TRUE(RequestId::Parse(GrantCorrelation(kRequest)).has_value());
  // printf grant00112233-4455-4677-8899-aabbccddeeff | sha256sum, with version and variant.
  EXPECT_EQ(GrantCorrelation(kRequest), "cd665f60-de01-8081-a65e-840faf6f04af");
}

TEST(GrantCorrelation, MentionsFindsEachSpelling) {
  EXPECT_TRUE(Mentions(kRequestText, kRequest));
  EXPECT_TRUE(Mentions("urn:uuid:00112233-4455-4677-8899-AABBCCDDEEFF", kRequest));
  EXPECT_TRUE(Mentions("x00112233445546778899aabbccddeeffx", kRequest));
  EXPECT_FALSE(Mentions("00112233-4455-4677-8899-aabbccddeefe", kRequest));
  EXPECT_FALSE(Mentions("", kRequest));
}

TEST(GrantCorrelation, ReplacesRequestIdOfCreateAndResume) {
  World world;
  Caller caller = world.caller();
  CreateCommand create = world.ToCreate();
  // A caller may have made its request id from its trace.
  const auto as_trace = [](const RequestId& id) {
    std::string trace = id.value();
    std::erase(trace, '-');
    return trace;
  };
  caller.trace.id = as_trace(create.request);
  ASSERT_EQ(ReasonIn(world.sessions().Create(caller, create)), "OK");
  ResumeCommand resume = world.ToForce();
  caller.trace.id = as_trace(resume.request);
  ASSERT_EQ(ReasonIn(world.sessions().Resume(caller, resume)), "OK");
  for (const RequestId& id : {create.request, resume.request}) {
    EXPECT_THAT(
        CorrelationIds(world),
        Each(::testing::Truly([&](const std::string& shown) { return !Mentions(shown, id); })));
    EXPECT_THAT(CorrelationIds(world), ::testing::Contains(GrantCorrelation(id)));
  }
  // Other acts keep theirs.
  const UpdateCommand update = world.ToUpdate("x");
  ASSERT_EQ(ReasonIn(world.sessions().Update(world.caller(), update)), "OK");
  EXPECT_THAT(CorrelationIds(world), ::testing::Contains(update.request.value()));
}

TEST(GrantCorrelation, ReplacesRequestIdWhenResumeCreates) {
  World world;
  ResumeCommand resume = world.ToResume();
  resume.create_if_missing = world.ToCreate();
  ASSERT_EQ(ReasonIn(world.sessions().Resume(world.caller(), resume)), "OK");
  EXPECT_THAT(CorrelationIds(world), Not(::testing::Contains(resume.request.value())));
  EXPECT_THAT(CorrelationIds(world), ::testing::Contains(GrantCorrelation(resume.request)));
}

TEST(GrantCorrelation, TheLastCommittedRequestIsNeverAGrants) {
  World world;
  world.Create();
  EXPECT_EQ(world.Stored().last_committed_request, std::nullopt);
  const CommitTurnCommand commit = world.ToCommit(world.Begin());
  ASSERT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), commit)), "OK");
  world.TakeOver();
  world.TakeOver();
  EXPECT_EQ(world.Stored().last_committed_request, commit.request);
}

}  // namespace
}  // namespace holdfast::test
