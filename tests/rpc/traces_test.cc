// The spans of calls, as a receiver gets them from a real server over real sockets, and what a
// receiver that does not take them costs.
#include "tests/rpc/served.h"
#include "tests/support/details.h"
#include "tests/support/reserved_port.h"
#include "tests/support/scrape.h"
#include "tests/support/trace_collector.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using testing::AttributesOf;
using ::testing::Contains;
using testing::ExportedSpan;
using testing::Hex;
using ::testing::Not;
using ::testing::Pair;

constexpr char kTrace[] = "0af7651916cd43dd8448eb211c80319c";
constexpr char kCaller[] = "b7ad6b7169203331";
constexpr char kCreate[] = "holdfast.v1.SessionService/CreateSession";

// What the caller's metadata say beside its ids.
struct CallerSays {
  std::string flags = "01";  // it records its span
  std::string state;
};

class TracesRpc : public Served {
 protected:
  TracesRpc() { config().telemetry.otlp_endpoint = collector_.address(); }

  // Creates `session` as a call of the trace.
  grpc::Status CreateInTrace(const std::string& session, const CallerSays& says = {}) {
    grpc::ClientContext context;
    context.AddMetadata("traceparent", absl::StrCat("00-", kTrace, "-", kCaller, "-", says.flags));
    if (!says.state.empty()) context.AddMetadata("tracestate", says.state);
    pb::CreateSessionResponse response;
    return sessions().CreateSession(&context, CreateRequest(session), &response);
  }
  // Makes `count` calls, each of which must succeed and is one span, if any.
  void Call(int count) {
    for (int i = 0; i < count; ++i) {
      grpc::ClientContext context;
      pb::EchoResponse response;
      const grpc::Status status = admin().Echo(&context, pb::EchoRequest(), &response);
      ASSERT_TRUE(status.ok()) << status.error_message();
    }
  }
  // Stops the server, which exports what is left, and answers what became of its spans.
  TraceCounts Ended() {
    Stop();
    return app().Traces();
  }
  testing::TraceCollector& collector() { return collector_; }
  // The exported spans of a name.
  std::vector<ExportedSpan> Named(const std::string& name) {
    std::vector<ExportedSpan> spans = collector_.Spans();
    std::erase_if(spans, [&](const ExportedSpan& span) { return span.name() != name; });
    return spans;
  }

 private:
  testing::TraceCollector collector_;
};

TEST_F(TracesRpc, ACallIsASpanOfItsCallersTrace) {
  ASSERT_TRUE(CreateInTrace("one", {.state = "vendor=state"}).ok());
  EXPECT_EQ(ReasonOf(CreateInTrace("one")), "SESSION_EXISTS");
  const TraceCounts counts = Ended();
  EXPECT_EQ(counts.spans.exported, collector().Spans().size());
  const std::vector<ExportedSpan> spans = Named(kCreate);
  ASSERT_EQ(spans.size(), 2);
  for (const ExportedSpan& span : spans) {
    EXPECT_EQ(Hex(span.trace_id()), kTrace);
    EXPECT_EQ(Hex(span.parent_span_id()), kCaller);
    EXPECT_EQ(span.flags(), 0x301);
    EXPECT_EQ(span.kind(), ExportedSpan::SPAN_KIND_SERVER);
    EXPECT_GT(span.start_time_unix_nano(), 0);
    EXPECT_GE(span.end_time_unix_nano(), span.start_time_unix_nano());
    EXPECT_THAT(
        AttributesOf(span),
        AllOf(Contains(Pair("rpc.system", "grpc")),
              Contains(Pair("rpc.service", "holdfast.v1.SessionService")),
              Contains(Pair("rpc.method", "CreateSession")), Contains(Pair("session.id", "one")),
              Contains(Pair("gen_ai.conversation.id", "one")),
              Contains(Pair("server.address", "127.0.0.1")),
              Contains(::testing::Key("server.port"))));
  }
  EXPECT_NE(spans[0].span_id(), spans[1].span_id());
  EXPECT_EQ(spans[0].trace_state(), "vendor=state");
  EXPECT_THAT(AttributesOf(spans[0]), AllOf(Contains(Pair("rpc.grpc.status_code", "0")),
                                            Not(Contains(::testing::Key("error.type")))));
  EXPECT_EQ(spans[1].trace_state(), "");
  EXPECT_THAT(AttributesOf(spans[1]), AllOf(Contains(Pair("rpc.grpc.status_code", "6")),
                                            Contains(Pair("error.type", "SESSION_EXISTS"))));
  // A caller's mistake is no failure of the server.
  EXPECT_FALSE(spans[1].has_status());
  EXPECT_THAT(collector().Resource(), AllOf(Contains(Pair("service.name", "holdfast")),
                                            Contains(::testing::Key("service.version")),
                                            Contains(::testing::Key("service.instance.id"))));
}

TEST_F(TracesRpc, AChangeHasASpanOfTheStoreAndOneOfItsTransition) {
  ASSERT_TRUE(CreateInTrace("one").ok());
  EXPECT_EQ(ReasonOf(CreateInTrace("one")), "SESSION_EXISTS");
  const auto taken = Create("two");
  const auto begun = Begin("two", taken.lease_token());
  Commit("two", taken.lease_token(), begun.turn(), "text");
  EXPECT_EQ(Ended().spans.dropped(), 0);
  const std::vector<ExportedSpan> calls = Named(kCreate);
  const std::vector<ExportedSpan> commits = Named("store.Commit");
  const std::vector<ExportedSpan> transitions = Named("session.transition");
  ASSERT_EQ(calls.size(), 3);
  ASSERT_EQ(commits.size(), 5);
  ASSERT_EQ(transitions.size(), 4);
  for (const ExportedSpan& span : {commits[0], transitions[0]}) {
    EXPECT_EQ(Hex(span.trace_id()), kTrace);
    EXPECT_EQ(span.parent_span_id(), calls[0].span_id());
    EXPECT_EQ(span.kind(), ExportedSpan::SPAN_KIND_INTERNAL);
    EXPECT_GE(span.start_time_unix_nano(), calls[0].start_time_unix_nano());
    EXPECT_LE(span.end_time_unix_nano(), calls[0].end_time_unix_nano());
    EXPECT_THAT(AttributesOf(span), AllOf(Contains(Pair("session.id", "one")),
                                          Contains(Pair("gen_ai.conversation.id", "one"))));
  }
  EXPECT_THAT(AttributesOf(commits[0]), Contains(Pair("holdfast.commit.outcome", "applied")));
  EXPECT_EQ(commits[1].parent_span_id(), calls[1].span_id());
  EXPECT_THAT(AttributesOf(commits[1]), AllOf(Contains(Pair("holdfast.commit.outcome", "refused")),
                                              Contains(Pair("error.type", "SESSION_EXISTS"))));
  EXPECT_THAT(AttributesOf(transitions[0]),
              AllOf(Not(Contains(::testing::Key("holdfast.transition.from"))),
                    Contains(Pair("holdfast.transition.to", "IDLE")),
                    Contains(Pair("holdfast.transition.trigger", "Create")),
                    Contains(Pair("holdfast.session.revision", "1"))));
  EXPECT_THAT(AttributesOf(transitions[2]),
              AllOf(Contains(Pair("holdfast.transition.from", "IDLE")),
                    Contains(Pair("holdfast.transition.to", "ACTIVE")),
                    Contains(Pair("holdfast.transition.trigger", "BeginTurn")),
                    Contains(Pair("holdfast.session.revision", "2"))));
  EXPECT_THAT(AttributesOf(transitions[3]),
              AllOf(Contains(Pair("holdfast.transition.from", "ACTIVE")),
                    Contains(Pair("holdfast.transition.to", "PERSISTED")),
                    Contains(Pair("holdfast.transition.trigger", "CommitTurn"))));
}

TEST_F(TracesRpc, ATurnIsOneSpanAndKnowsTheOneBefore) {
  const auto taken = Create("one");
  Commit("one", taken.lease_token(), Begin("one", taken.lease_token()).turn(), "first");
  grpc::ClientContext context;
  context.AddMetadata("traceparent", absl::StrCat("00-", kTrace, "-", kCaller, "-01"));
  pb::BeginTurnResponse begun;
  ASSERT_TRUE(
      sessions().BeginTurn(&context, BeginRequest("one", taken.lease_token()), &begun).ok());
  Commit("one", taken.lease_token(), begun.turn(), "second");
  const pb::Session session = Get("one");
  EXPECT_EQ(session.last_turn_trace_id(), kTrace);
  Ended();
  const std::vector<ExportedSpan> turns = Named("session.turn");
  const std::vector<ExportedSpan> transitions = Named("session.transition");
  ASSERT_EQ(turns.size(), 2);
  ASSERT_EQ(transitions.size(), 5);
  // Without a caller's span the call that began the turn is the parent.
  EXPECT_EQ(turns[0].trace_id(), transitions[1].trace_id());
  EXPECT_EQ(turns[0].parent_span_id(), transitions[1].parent_span_id());
  EXPECT_EQ(turns[0].links_size(), 0);
  EXPECT_EQ(Hex(turns[1].trace_id()), kTrace);
  EXPECT_EQ(Hex(turns[1].parent_span_id()), kCaller);
  ASSERT_EQ(turns[1].links_size(), 1);
  EXPECT_EQ(turns[1].links(0).trace_id(), turns[0].trace_id());
  EXPECT_EQ(turns[1].links(0).span_id(), turns[0].span_id());
  EXPECT_THAT(AttributesOf(turns[1]), AllOf(Contains(Pair("session.id", "one")),
                                            Contains(Pair("holdfast.turn.number", "2")),
                                            Contains(Pair("holdfast.turn.source", "user")),
                                            Contains(Pair("holdfast.turn.outcome", "ok")),
                                            Contains(Pair("holdfast.session.revision", "5"))));
  // The commit is of another trace, and links to the turn that it ended.
  ASSERT_EQ(transitions[4].links_size(), 1);
  EXPECT_EQ(transitions[4].links(0).span_id(), turns[1].span_id());
  EXPECT_EQ(Hex(transitions[4].trace_id()), session.snapshot_trace_id());
}

TEST_F(TracesRpc, AResumeLinksToTheLastSnapshotAndTheTurnThatItEnded) {
  const auto taken = Create("one");
  Commit("one", taken.lease_token(), Begin("one", taken.lease_token()).turn(), "first");
  Begin("one", taken.lease_token());
  pb::ResumeSessionRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id("one");
  request.set_holder("other");
  request.mutable_force()->set_reason("its holder is gone");
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::ResumeSession, request).ok());
  Ended();
  const std::vector<ExportedSpan> turns = Named("session.turn");
  const std::vector<ExportedSpan> transitions = Named("session.transition");
  ASSERT_EQ(turns.size(), 2);
  ASSERT_EQ(transitions.size(), 5);
  EXPECT_EQ(turns[1].status().code(), opentelemetry::proto::trace::v1::Status::STATUS_CODE_ERROR);
  const ExportedSpan& resume = transitions[4];
  ASSERT_EQ(resume.links_size(), 2);
  EXPECT_EQ(resume.links(0).trace_id(), turns[1].trace_id());
  EXPECT_EQ(resume.links(0).span_id(), turns[1].span_id());
  EXPECT_EQ(resume.links(1).trace_id(), transitions[2].trace_id());
  EXPECT_EQ(resume.links(1).span_id(), transitions[2].span_id());
}

TEST_F(TracesRpc, ARecoveryIsATraceOfItsOwnAndLinksToTheTurn) {
  config().recovery.sweep_interval = absl::Milliseconds(20);
  config().recovery.abandon_after = absl::Seconds(1);
  Begin("one", Create("one").lease_token());
  clock().Advance(absl::Hours(1));
  AwaitLog("sessions_closed");
  Ended();
  const std::vector<ExportedSpan> turns = Named("session.turn");
  const std::vector<ExportedSpan> transitions = Named("session.transition");
  const std::vector<ExportedSpan> commits = Named("store.Commit");
  ASSERT_EQ(turns.size(), 1);
  ASSERT_EQ(transitions.size(), 3);
  ASSERT_EQ(commits.size(), 3);
  EXPECT_THAT(AttributesOf(turns[0]), Contains(Pair("holdfast.turn.outcome", "recovered")));
  const ExportedSpan& recovery = transitions[2];
  EXPECT_EQ(recovery.parent_span_id(), "");
  EXPECT_NE(recovery.trace_id(), turns[0].trace_id());
  EXPECT_THAT(AttributesOf(recovery),
              AllOf(Contains(Pair("holdfast.transition.trigger", "Recover")),
                    Contains(Pair("holdfast.transition.to", "CLOSED"))));
  ASSERT_EQ(recovery.links_size(), 1);
  EXPECT_EQ(recovery.links(0).trace_id(), turns[0].trace_id());
  EXPECT_EQ(recovery.links(0).span_id(), turns[0].span_id());
  EXPECT_EQ(commits[2].parent_span_id(), recovery.span_id());
}

// What the server does within a call is the call's: not recorded where the call is not.
TEST_F(TracesRpc, ACallThatIsNotRecordedBeginsNoTraceOfTheServersOwn) {
  ASSERT_TRUE(CreateInTrace("one", {.flags = "00"}).ok());
  grpc::ClientContext context;
  context.AddMetadata("traceparent", absl::StrCat("00-", kTrace, "-", kCaller, "-00"));
  pb::CancelSessionResponse response;
  const auto request = SessionCancelRequest("one", pb::CANCEL_SCOPE_SESSION);
  ASSERT_TRUE(sessions().CancelSession(&context, request, &response).ok());
  EXPECT_EQ(response.session().lifecycle(), pb::LIFECYCLE_CLOSED);
  EXPECT_EQ(Ended(), TraceCounts());
}

TEST_F(TracesRpc, AFailureOfTheServerIsAnError) {
  script().Throw(true);
  EXPECT_EQ(ReasonOf(CreateInTrace("one")), "INTERNAL");
  script().Throw(false);
  Ended();
  ASSERT_EQ(Named(kCreate).size(), 1);
  const ExportedSpan span = Named(kCreate).at(0);
  EXPECT_EQ(span.status().code(), opentelemetry::proto::trace::v1::Status::STATUS_CODE_ERROR);
  EXPECT_EQ(span.status().message(), "INTERNAL");
  EXPECT_THAT(AttributesOf(span), Contains(Pair("rpc.grpc.status_code", "13")));
}

TEST_F(TracesRpc, TheCallersFlagDecides) {
  ASSERT_TRUE(CreateInTrace("quiet", {.flags = "00"}).ok());
  EXPECT_EQ(Ended(), TraceCounts());
}

TEST_F(TracesRpc, ACallWithoutACallersSpanBeginsATrace) {
  Call(1);
  const std::string line = AwaitLog("\"Echo\"");
  EXPECT_EQ(Ended().spans.exported, 1);
  const ExportedSpan span = collector().Spans().at(0);
  EXPECT_EQ(span.parent_span_id(), "");
  EXPECT_EQ(span.flags(), 0x101);
  EXPECT_NE(line.find(Hex(span.trace_id())), std::string::npos) << line;
}

TEST_F(TracesRpc, NoTraceBeginsHereAtARatioOfNothing) {
  config().telemetry.sampling_ratio = 0;
  Call(3);
  ASSERT_TRUE(CreateInTrace("one").ok());
  Ended();
  EXPECT_EQ(Named(kCreate).size(), 1);
  EXPECT_EQ(Named("holdfast.v1.AdminService/Echo").size(), 0);
}

TEST_F(TracesRpc, KeepsAsManyAsTheCapAndCountsTheRest) {
  config().telemetry.sampled_roots_per_second = 10;
  app();
  clock().Stop();
  Call(5);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(CreateInTrace(absl::StrCat("own", i)).ok());
  Call(45);
  clock().Go();
  const TraceCounts counts = Ended();
  EXPECT_EQ(counts.unsampled_by_cap, 90);
  EXPECT_EQ(Named("holdfast.v1.AdminService/Echo").size(), 5);
  EXPECT_EQ(Named(kCreate).size(), 5);
}

TEST_F(TracesRpc, ItsCountsAreMetrics) {
  config().telemetry.metrics_address = "127.0.0.1:0";
  config().telemetry.sampled_roots_per_second = 1;
  app();
  clock().Stop();
  Call(3);
  clock().Go();
  const std::string exported = "holdfast_spans_total{outcome=\"exported\"}";
  testing::Samples samples;
  EXPECT_TRUE(testing::WaitUntil([&] {
    samples = testing::Scrape(app().metrics_address());
    return samples[exported] == 1;
  }));
  EXPECT_EQ(samples.at("holdfast_unsampled_calls_total"), 2);
  EXPECT_EQ(samples.at("holdfast_span_exports_failed_total"), 0);
}

TEST_F(TracesRpc, WithoutAnEndpointNothingIsTraced) {
  config().telemetry.otlp_endpoint = "";
  ASSERT_TRUE(CreateInTrace("one").ok());
  EXPECT_EQ(Ended(), TraceCounts());
  EXPECT_EQ(collector().Exports(), 0);
}

TEST_F(TracesRpc, AReceiverThatIsDownCostsNoCall) {
  const testing::ReservedPort closed;
  config().telemetry.otlp_endpoint = closed.address();
  config().telemetry.metrics_address = "127.0.0.1:0";
  Call(20);
  EXPECT_TRUE(testing::WaitUntil([&] {
    return testing::Scrape(app().metrics_address())["holdfast_span_exports_failed_total"] > 0;
  }));
  const TraceCounts counts = Ended();
  EXPECT_EQ(counts.spans.dropped_stopped, 20);
  EXPECT_EQ(counts.spans.dropped(), 20);
  EXPECT_GE(counts.spans.failed_exports, 1);
}

TEST_F(TracesRpc, AReceiverThatIsSlowCostsNoCall) {
  collector().Hold();
  Call(10);
  EXPECT_TRUE(testing::WaitUntil([&] { return collector().Exports() == 1; }));
  Call(10);
  EXPECT_EQ(app().Traces(), TraceCounts());
  collector().Release();
  EXPECT_EQ(Ended(), TraceCounts({.spans = {.exported = 20}}));
  EXPECT_EQ(collector().Spans().size(), 20);
}

TEST_F(TracesRpc, AReceiverThatHangsHoldsUpNoStopForLong) {
  config().server.drain_timeout = absl::Seconds(1);
  collector().Hold();
  Call(5);
  const TraceCounts counts = Ended();
  EXPECT_EQ(counts.spans.dropped_stopped, 5);
  EXPECT_EQ(collector().Spans().size(), 0);
}

// How a receiver answers its first export, and which count has the spans that are lost by it.
struct Answered {
  std::string name;
  grpc::Status status;
  int64_t rejected = 0;
  uint64_t SpanCounts::*lost = nullptr;  // null: none are
};
std::ostream& operator<<(std::ostream& out, const Answered& row) { return out << row.name; }

class TracesAnswered : public TracesRpc, public ::testing::WithParamInterface<Answered> {};

TEST_P(TracesAnswered, LosesWhatTheCountsSayAndNoCall) {
  constexpr uint64_t kCalls = 5;
  const Answered& row = GetParam();
  row.rejected > 0 ? collector().RejectNext(row.rejected) : collector().AnswerNext(row.status);
  Call(kCalls);
  const SpanCounts counts = Ended().spans;
  const uint64_t lost = row.lost == nullptr ? 0 : counts.*row.lost;
  EXPECT_EQ(lost > 0, row.lost != nullptr);
  EXPECT_EQ(counts.exported + lost, kCalls);
  EXPECT_EQ(counts.exported + counts.rejected + counts.dropped(), kCalls);
  EXPECT_EQ(counts.failed_exports, row.status.ok() ? 0 : 1);
  std::set<std::string> ids;
  for (const ExportedSpan& span : collector().Spans()) ids.insert(span.span_id());
  EXPECT_EQ(ids.size(), counts.exported);
  EXPECT_EQ(collector().Spans().size(), counts.exported) << "a span arrived twice";
}

INSTANTIATE_TEST_SUITE_P(
    Receivers, TracesAnswered,
    ::testing::Values(
        Answered{.name = "Unavailable", .status = {grpc::StatusCode::UNAVAILABLE, "away"}},
        Answered{.name = "RetryInfo",
                 .status = testing::RetryAfter(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                               absl::Milliseconds(20))},
        Answered{.name = "Refused",
                 .status = {grpc::StatusCode::PERMISSION_DENIED, "no"},
                 .lost = &SpanCounts::dropped_refused},
        Answered{.name = "OutOfResources",
                 .status = {grpc::StatusCode::RESOURCE_EXHAUSTED, "full"},
                 .lost = &SpanCounts::dropped_refused},
        Answered{.name = "PartialSuccess", .rejected = 1, .lost = &SpanCounts::rejected}),
    [](const ::testing::TestParamInfo<Answered>& row) { return row.param.name; });

}  // namespace
}  // namespace holdfast::test
