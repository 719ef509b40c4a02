// Traces without a server: which calls are recorded, when a batch is sent again, and what becomes
// of each span that is handed over.
#include "server/log.h"
#include "server/rpc/call/call_span.h"
#include "server/telemetry/export_retry.h"
#include "server/telemetry/otlp.h"
#include "server/telemetry/span_exporter.h"
#include "server/telemetry/trace_resource.h"
#include "server/telemetry/trace_sampler.h"
#include "server/telemetry/tracer.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_random.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using grpc::StatusCode;
using ::holdfast::testing::WaitUntil;

// A trace id whose last 56 bits, which decide, are `share` of the most.
std::string TraceIdAt(double share) {
  const auto bits = static_cast<uint64_t>(share * static_cast<double>(uint64_t{1} << 56));
  return absl::StrCat("000000000000000000", absl::Hex(bits, absl::kZeroPad14));
}

TEST(TraceSampler, FollowsTheCaller) {
  const FakeClock clock;
  TraceSampler none({.ratio = 0}, clock);
  EXPECT_TRUE(none.Sample(TraceIdAt(0.1), kSampledFlag));
  EXPECT_FALSE(none.Sample(TraceIdAt(0.9), std::nullopt));
  TraceSampler all({.ratio = 1}, clock);
  EXPECT_FALSE(all.Sample(TraceIdAt(0.9), uint8_t{0}));
  EXPECT_TRUE(all.Sample(TraceIdAt(0), std::nullopt));
}

TEST(TraceSampler, TakesARatioOfTheTracesThatBeginHere) {
  const FakeClock clock;
  TraceSampler quarter({.ratio = 0.25}, clock);
  EXPECT_FALSE(quarter.Sample(TraceIdAt(0.74), std::nullopt));
  EXPECT_TRUE(quarter.Sample(TraceIdAt(0.76), std::nullopt));
  // Without regard to the caller the ratio is of all.
  TraceSampler alone({.ratio = 0.25, .parent_based = false}, clock);
  EXPECT_FALSE(alone.Sample(TraceIdAt(0.74), kSampledFlag));
  EXPECT_TRUE(alone.Sample(TraceIdAt(0.76), uint8_t{0}));
}

TEST(TraceSampler, BoundsWhatIsRecordedInASecondAndCountsTheRest) {
  FakeClock clock;
  TraceSampler sampler({.roots_per_second = 10}, clock);
  for (int second = 1; second <= 3; ++second) {
    int kept = 0;
    for (int i = 0; i < 100; ++i) {
      // Half of them say themselves that they are recorded.
      const auto parent = i % 2 == 0 ? std::optional(kSampledFlag) : std::nullopt;
      if (sampler.Sample(TraceIdAt(0.5), parent)) ++kept;
    }
    EXPECT_EQ(kept, 10);
    EXPECT_EQ(sampler.beyond_cap(), 90 * second);
    clock.Advance(absl::Seconds(1));
  }
}

TEST(ExportRetry, GoesByTheRulesOfTheProtocol) {
  for (const StatusCode code :
       {StatusCode::CANCELLED, StatusCode::DEADLINE_EXCEEDED, StatusCode::ABORTED,
        StatusCode::OUT_OF_RANGE, StatusCode::UNAVAILABLE, StatusCode::DATA_LOSS}) {
    EXPECT_TRUE(IsRetryable({.code = code})) << code;
  }
  for (const StatusCode code :
       {StatusCode::UNKNOWN, StatusCode::INVALID_ARGUMENT, StatusCode::NOT_FOUND,
        StatusCode::ALREADY_EXISTS, StatusCode::PERMISSION_DENIED, StatusCode::UNAUTHENTICATED,
        StatusCode::FAILED_PRECONDITION, StatusCode::UNIMPLEMENTED, StatusCode::INTERNAL,
        StatusCode::RESOURCE_EXHAUSTED}) {
    EXPECT_FALSE(IsRetryable({.code = code})) << code;
  }
  EXPECT_TRUE(
      IsRetryable({.code = StatusCode::RESOURCE_EXHAUSTED, .retry_after = absl::Seconds(1)}));
}

TEST(ExportRetry, PausesLongerEachTimeAndGivesUp) {
  SeededRandom random;
  const RetryLimits limits{
      .first = absl::Seconds(1), .most = absl::Seconds(8), .give_up = absl::Seconds(60)};
  ExportRetry retry(limits, random, absl::Hours(1));
  absl::Duration now = absl::Hours(1);
  int tries = 0;
  for (absl::Duration whole = absl::Seconds(1);; whole = std::min(whole * 2, limits.most)) {
    const auto pause = retry.Next({.code = StatusCode::UNAVAILABLE}, now);
    if (!pause) break;
    EXPECT_GE(*pause, whole / 2);
    EXPECT_LT(*pause, whole);
    now += *pause;
    ++tries;
  }
  EXPECT_GE(tries, 8);
  EXPECT_GT(now, absl::Hours(1) + limits.give_up - limits.most);
}

TEST(ExportRetry, WaitsAsLongAsTheReceiverSays) {
  SeededRandom random;
  ExportRetry retry({.give_up = absl::Seconds(60)}, random, absl::ZeroDuration());
  const ExportAnswer later{.code = StatusCode::UNAVAILABLE, .retry_after = absl::Seconds(30)};
  EXPECT_EQ(retry.Next(later, absl::ZeroDuration()), absl::Seconds(30));
  // The next try would come too late.
  EXPECT_EQ(retry.Next(later, absl::Seconds(30)), std::nullopt);
}

// Answers as a test says, and remembers what it was sent.
class ScriptedReceiver final : public SpanReceiver {
 public:
  struct Script {
    absl::Mutex mutex;
    std::deque<ExportAnswer> answers ABSL_GUARDED_BY(mutex);               // after them OK
    std::vector<std::vector<std::string>> batches ABSL_GUARDED_BY(mutex);  // names of spans
    bool held ABSL_GUARDED_BY(mutex) = false;
    bool cancelled ABSL_GUARDED_BY(mutex) = false;

    void Answer(ExportAnswer answer) {
      const absl::MutexLock lock(&mutex);
      answers.push_back(std::move(answer));
    }
    void Hold(bool holds) {
      const absl::MutexLock lock(&mutex);
      held = holds;
    }
    std::vector<std::vector<std::string>> Batches() {
      const absl::MutexLock lock(&mutex);
      return batches;
    }
  };

  explicit ScriptedReceiver(Script& script) : script_(script) {}

  ExportAnswer Export(const std::vector<Span>& spans, absl::Duration timeout) override {
    EXPECT_GT(timeout, absl::ZeroDuration());
    const absl::MutexLock lock(&script_.mutex);
    script_.batches.emplace_back();
    for (const Span& span : spans) script_.batches.back().push_back(span.name);
    const auto released = [this] {
      script_.mutex.AssertHeld();
      return !script_.held || script_.cancelled;
    };
    script_.mutex.Await(absl::Condition(&released));
    if (script_.cancelled) return {.code = StatusCode::CANCELLED};
    if (script_.answers.empty()) return {};
    ExportAnswer answer = std::move(script_.answers.front());
    script_.answers.pop_front();
    return answer;
  }

  void Cancel() override {
    const absl::MutexLock lock(&script_.mutex);
    script_.cancelled = true;
  }

 private:
  Script& script_;
};

class SpanExporterTest : public ::testing::Test {
 protected:
  SpanExporterTest() : log_([](LogLevel, const std::string&) {}, clock_) {}

  // Retries come without a pause that a test would wait for.
  void Start(ExportLimits limits) {
    limits.retry.first = absl::Milliseconds(1);
    exporter_ = std::make_unique<SpanExporter>(
        SpanExporter::Parts{.receiver = std::make_unique<ScriptedReceiver>(script_),
                            .clock = clock_,
                            .random = random_,
                            .log = log_},
        limits);
  }
  void Add(int count) {
    for (int i = 0; i < count; ++i) exporter_->Add({.name = absl::StrCat(++added_)});
  }
  bool AwaitCounts(const SpanCounts& counts) {
    const bool there = WaitUntil([&] { return exporter_->Counts() == counts; });
    EXPECT_TRUE(there) << "exported " << exporter_->Counts().exported << ", dropped "
                       << exporter_->Counts().dropped();
    return there;
  }

  FakeClock clock_;
  SeededRandom random_;
  Log log_;
  ScriptedReceiver::Script script_;
  std::unique_ptr<SpanExporter> exporter_;
  int added_ = 0;
};

TEST_F(SpanExporterTest, SendsWholeBatchesInOrder) {
  Start({.batch = 3, .delay = absl::Hours(1)});
  Add(7);
  AwaitCounts({.exported = 6});
  exporter_->Stop(absl::Minutes(1));
  AwaitCounts({.exported = 7});
  const std::vector<std::vector<std::string>> batches = {{"1", "2", "3"}, {"4", "5", "6"}, {"7"}};
  EXPECT_EQ(script_.Batches(), batches);
  Add(1);
  EXPECT_EQ(exporter_->Counts().dropped_stopped, 1);
}

TEST_F(SpanExporterTest, SendsWhatWaitsAfterAWhile) {
  Start({.batch = 1000, .delay = absl::Milliseconds(1)});
  Add(1);
  AwaitCounts({.exported = 1});
}

TEST_F(SpanExporterTest, DropsWhatFindsNoRoom) {
  script_.Hold(true);
  Start({.queued = 5, .batch = 2, .delay = absl::ZeroDuration()});
  Add(1);
  ASSERT_TRUE(WaitUntil([&] { return !script_.Batches().empty(); }));
  Add(8);  // five fit
  EXPECT_EQ(exporter_->Counts(), SpanCounts({.dropped_queue_full = 3}));
  script_.Hold(false);
  AwaitCounts({.exported = 6, .dropped_queue_full = 3});
}

TEST_F(SpanExporterTest, SendsABatchAgainUntilItIsTaken) {
  script_.Answer({.code = StatusCode::UNAVAILABLE});
  script_.Answer({.code = StatusCode::RESOURCE_EXHAUSTED, .retry_after = absl::Milliseconds(2)});
  Start({.batch = 2, .delay = absl::Hours(1)});
  Add(2);
  AwaitCounts({.exported = 2, .failed_exports = 2});
  const std::vector<std::string> batch = {"1", "2"};
  EXPECT_EQ(script_.Batches(), std::vector(3, batch));
}

TEST_F(SpanExporterTest, CountsWhatIsRejectedAndDoesNotSendItAgain) {
  script_.Answer({.rejected = 2});
  script_.Answer({.rejected = 99});  // more than there were
  Start({.batch = 3, .delay = absl::Hours(1)});
  Add(6);
  AwaitCounts({.exported = 1, .rejected = 5});
  EXPECT_EQ(script_.Batches().size(), 2);
}

TEST_F(SpanExporterTest, DropsWhatIsRefusedForGood) {
  script_.Answer({.code = StatusCode::INVALID_ARGUMENT});
  Start({.batch = 2, .delay = absl::Hours(1)});
  Add(4);
  AwaitCounts({.exported = 2, .dropped_refused = 2, .failed_exports = 1});
}

TEST_F(SpanExporterTest, GivesUpWhatIsNotTakenInTime) {
  const ExportAnswer later{.code = StatusCode::UNAVAILABLE, .retry_after = kSpanRetryGiveUp};
  script_.Answer(later);
  Start({.batch = 2, .delay = absl::Hours(1)});
  Add(4);
  AwaitCounts({.exported = 2, .dropped_given_up = 2, .failed_exports = 1});
}

TEST_F(SpanExporterTest, StopsInTimeWhereNothingIsTaken) {
  script_.Hold(true);
  Start({.batch = 2, .delay = absl::ZeroDuration()});
  Add(5);
  ASSERT_TRUE(WaitUntil([&] { return !script_.Batches().empty(); }));
  exporter_->Stop(absl::Milliseconds(1));
  const SpanCounts counts = exporter_->Counts();
  EXPECT_EQ(counts.dropped_stopped, 5);
  EXPECT_EQ(counts.exported, 0);
}

TEST_F(SpanExporterTest, TriesOnceMoreWhenItStopsInAPause) {
  script_.Answer({.code = StatusCode::UNAVAILABLE, .retry_after = absl::Seconds(59)});
  Start({.batch = 1, .delay = absl::ZeroDuration()});
  Add(1);
  AwaitCounts({.failed_exports = 1});
  exporter_->Stop(absl::Seconds(30));  // less than the pause
  EXPECT_EQ(exporter_->Counts(), SpanCounts({.exported = 1, .failed_exports = 1}));
}

TEST(Otlp, HasWhatASpanHas) {
  const Span span{
      .trace_id = "0af7651916cd43dd8448eb211c80319c",
      .span_id = "b7ad6b7169203331",
      .parent_span_id = "00f067aa0ba902b7",
      .remote_parent = true,
      .trace_state = "a=b",
      .name = "work",
      .kind = SpanKind::kClient,
      .start = absl::FromUnixNanos(1'700'000'000'123'456'789),
      .end = absl::FromUnixNanos(1'700'000'001'000'000'001),
      .attributes = {{"text", "x"}, {"number", int64_t{7}}},
      .events = {{"event", absl::FromUnixNanos(5), {{"of", "event"}}}},
      .links = {{"4bf92f3577b34da6a3ce929d0e0e4736", "1111111111111111", "previous_turn"}},
      .status = {.failed = true, .message = "INTERNAL"}};
  const auto request = ToRequest({span}, {{"service.name", "s"}});
  EXPECT_EQ(request.resource_spans(0).resource().attributes(0).value().string_value(), "s");
  const auto& out = request.resource_spans(0).scope_spans(0).spans(0);
  EXPECT_EQ(out.trace_id(), "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c");
  EXPECT_EQ(out.span_id().size(), 8);
  EXPECT_EQ(out.parent_span_id().size(), 8);
  EXPECT_EQ(out.trace_state(), "a=b");
  EXPECT_EQ(out.flags(), 0x301);
  EXPECT_EQ(out.kind(), 3);
  EXPECT_EQ(out.start_time_unix_nano(), 1'700'000'000'123'456'789);
  EXPECT_EQ(out.end_time_unix_nano(), 1'700'000'001'000'000'001);
  EXPECT_EQ(out.attributes(0).value().string_value(), "x");
  EXPECT_EQ(out.attributes(1).value().int_value(), 7);
  EXPECT_EQ(out.events(0).name(), "event");
  EXPECT_EQ(out.links(0).trace_id().size(), 16);
  EXPECT_EQ(out.status().code(), 2);
  EXPECT_EQ(out.status().message(), "INTERNAL");
}

TEST(TraceResource, TakesTheFormOfTheVariable) {
  const TraceResource expected = {{"a", "b c"}, {"d", "e=f"}};
  EXPECT_EQ(ParseResourceAttributes("a=b%20c, d = e=f"), expected);
  EXPECT_EQ(ParseResourceAttributes(""), TraceResource());
  for (const char* text : {"a", "=b", "a=%4", "a=%zz", "a=%ff", "a=b,,c=d"}) {
    EXPECT_EQ(ParseResourceAttributes(text), std::nullopt) << text;
  }
}

TEST(ServedAt, IsAHostAndAPortOrAPath) {
  EXPECT_EQ(ToServedAt("127.0.0.1:7420").address, "127.0.0.1");
  EXPECT_EQ(ToServedAt("127.0.0.1:7420").port, 7420);
  EXPECT_EQ(ToServedAt("[::1]:1").address, "::1");
  EXPECT_EQ(ToServedAt("unix:/run/h.sock").address, "/run/h.sock");
  EXPECT_EQ(ToServedAt("unix:/run/h.sock").port, std::nullopt);
}

TEST(ServiceOf, KnowsEveryMethodByItsName) {
  EXPECT_EQ(ServiceOf("CommitTurn"), "holdfast.v1.SessionService");
  EXPECT_EQ(ServiceOf("WriteSnapshotStream"), "holdfast.v1.StoreService");
  EXPECT_EQ(ServiceOf("Echo"), "holdfast.v1.AdminService");
  EXPECT_EQ(ServiceOf("Nothing"), "");
}

}  // namespace
}  // namespace holdfast::test
