// overload: three times what the server can do, offered by another process that does not wait for
// answers. The goodput must stay near the peak, and a rejected call must carry a retry delay. The
// server has one core, and the load generator has the others, as if they were two machines: the
// cost of offering three times the peak must not count as the server's. The calls create sessions:
// of all mutations these cost a server most for what they cost a client. Peaks and floods take
// turns, and each flood is compared with the peaks around it: a disk may sync half as fast a minute
// later.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/served.h"
#include "bench/session_maker.h"
#include "platform/status_macros.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_unary_call.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr size_t kPeakInFlight = 64;
constexpr size_t kRounds = 5;
constexpr size_t kSmokeRounds = 1;
constexpr uint64_t kPeakCalls = 8'000;
constexpr uint64_t kSmokePeakCalls = 500;
constexpr double kTimesCapacity = 3;
constexpr auto kLasts = std::chrono::seconds(15);
constexpr auto kSmokeLasts = std::chrono::seconds(3);
constexpr auto kDeadline = std::chrono::seconds(10);
constexpr auto kTick = std::chrono::milliseconds(1);
constexpr auto kLooksAtMemory = std::chrono::milliseconds(100);
constexpr size_t kConnections = 4;
constexpr Goal kGoodput = AtLeast(0.9);
constexpr Goal kUnexplained = AtMost(0);

using SteadyClock = std::chrono::steady_clock;

bool HasRetryInfo(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return false;
  return std::ranges::any_of(details.details(), [](const auto& detail) {
    return detail.template Is<google::rpc::RetryInfo>();
  });
}

// How the calls of an open loop ended.
struct Ends {
  uint64_t sent = 0;
  uint64_t done = 0;
  uint64_t unexplained = 0;  // any other way
  uint64_t open = 0;
  std::vector<double> refused_ms;  // how long each refusal took
};

// Calls whose answers are not waited for, all by one thread: to hand each answer to another one
// would cost more than the call.
class OpenLoop {
 public:
  explicit OpenLoop(Ends& ends) : ends_(ends) {}
  OpenLoop(const OpenLoop&) = delete;
  OpenLoop& operator=(const OpenLoop&) = delete;
  // Waits for what is open.
  ~OpenLoop() {
    while (ends_.open > 0) TakeEnds(SteadyClock::now() + kTick);
    queue_.Shutdown();
    void* tag = nullptr;
    for (bool ok = false; queue_.Next(&tag, &ok);) {
    }
  }

  void Send(v1::SessionService::Stub& stub, const v1::CreateSessionRequest& request) {
    Call* const call = std::make_unique<Call>().release();  // its answer brings it back
    call->context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    call->sent = SteadyClock::now();
    call->answer = stub.AsyncCreateSession(&call->context, request, &queue_);
    call->answer->Finish(&call->response, &call->status, call);
    ++ends_.sent;
    ++ends_.open;
  }

  // Takes the answers that come until then.
  void TakeEnds(SteadyClock::time_point until) {
    const auto left = until - SteadyClock::now();
    const auto deadline = std::chrono::system_clock::now() +
                          std::chrono::duration_cast<std::chrono::system_clock::duration>(left);
    void* tag = nullptr;
    bool ok = false;
    while (SteadyClock::now() < until &&
           queue_.AsyncNext(&tag, &ok, deadline) == grpc::CompletionQueue::GOT_EVENT) {
      const std::unique_ptr<Call> call(static_cast<Call*>(tag));
      Count(*call);
    }
  }

 private:
  struct Call {
    grpc::ClientContext context;
    SteadyClock::time_point sent;
    v1::CreateSessionResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::CreateSessionResponse>> answer;
  };

  void Count(const Call& call) {
    --ends_.open;
    if (call.status.ok()) {
      ++ends_.done;
    } else if (!HasRetryInfo(call.status)) {
      ++ends_.unexplained;
    } else {
      const std::chrono::duration<double, std::milli> took = SteadyClock::now() - call.sent;
      ends_.refused_ms.push_back(took.count());
    }
  }

  Ends& ends_;
  grpc::CompletionQueue queue_;
};

class Overload {
 public:
  Overload(const Plan& plan, Figures& figures)
      : plan_(plan), figures_(figures), served_(plan.holdfastd, plan.directory + "/disk") {}

  absl::Status Run() {
    // What the transport costs is nothing that a server could save either.
    served_.ServeAtFile();
    RETURN_IF_ERROR(ShareCores());
    RETURN_IF_ERROR(served_.Start());
    ASSIGN_OR_RETURN(double before, Peak(0));
    const double idle = served_.process().ResidentMiB();
    const size_t rounds = plan_.quick ? kSmokeRounds : kRounds;
    for (size_t round = 1; round <= rounds; ++round) {
      const Flooded flooded = Flood(round, before * kTimesCapacity);
      ASSIGN_OR_RETURN(const double after, Peak(round));
      // Each session makes the next one dearer, in the file system too.
      const double peak = (before + after) / 2;
      figures_.Keep(round, "goodput", "of_peak", flooded.done / peak, goodput_);
      figures_.Keep(round, "offered", "of_peak", flooded.offered / peak, offered_);
      before = after;
    }
    figures_.Print("goodput-over-peak", Median(goodput_), kGoodput);
    figures_.Print("refused-without-retry-info", static_cast<double>(ends_.unexplained),
                   kUnexplained);
    figures_.Print("offered-over-peak", Median(offered_));
    const Round refused = Summarise(ends_.refused_ms.size(), /*seconds=*/0, ends_.refused_ms);
    figures_.Print("refusal-p50-ms", refused.p50_ms);
    figures_.Print("refusal-p99-ms", refused.p99_ms);
    figures_.Print("MiB-more-while-overloaded", most_mib_ - idle);
    return absl::OkStatus();
  }

 private:
  // Before anything has started a thread.
  absl::Status ShareCores() {
    Cores others = CoresOfThisThread();
    if (others.size() < 2) return absl::UnavailableError("there is one core alone");
    served_.KeepTo({others.front()});
    others.erase(others.begin());
    return UseCores(others);
  }

  // Calls a second.
  struct Flooded {
    double offered = 0;
    double done = 0;
  };

  // Calls a second that a closed loop gets through.
  absl::StatusOr<double> Peak(size_t after_round) {
    std::vector<std::unique_ptr<MakerSlot>> slots;
    std::vector<Slot*> all;
    for (size_t at = 0; at < kPeakInFlight; ++at) {
      all.push_back(slots.emplace_back(std::make_unique<MakerSlot>(served_, next_)).get());
    }
    ASSIGN_OR_RETURN(const Round round, Drive(all, plan_.Many(kPeakCalls, kSmokePeakCalls)));
    figures_.Note(after_round, "peak", "per_second", round.Rate());
    return round.Rate();
  }

  // Offers `rate` calls a second, whatever comes back.
  Flooded Flood(size_t round, double rate) {
    std::vector<std::unique_ptr<v1::SessionService::Stub>> stubs;
    for (size_t i = 0; i < kConnections; ++i) {
      stubs.push_back(v1::SessionService::NewStub(served_.NewConnection()));
    }
    const uint64_t sent_before = ends_.sent;
    const uint64_t done_before = ends_.done;
    OpenLoop loop(ends_);
    const auto lasts = plan_.quick ? kSmokeLasts : kLasts;
    const auto begin = SteadyClock::now();
    auto now = begin;
    while (now - begin < lasts) {
      const double passed = std::chrono::duration<double>(now - begin).count();
      const auto due = sent_before + static_cast<uint64_t>(passed * rate);
      while (ends_.sent < due) {
        loop.Send(*stubs[ends_.sent % kConnections],
                  NewSession("s-" + std::to_string(next_++), fresh_));
      }
      LookAtMemory(now);
      loop.TakeEnds(now + kTick);
      now = SteadyClock::now();
    }
    const double seconds = std::chrono::duration<double>(now - begin).count();
    const Flooded flooded{.offered = static_cast<double>(ends_.sent - sent_before) / seconds,
                          .done = static_cast<double>(ends_.done - done_before) / seconds};
    figures_.Note(round, "flood", "done_per_second", flooded.done);
    figures_.Note(round, "flood", "open", static_cast<double>(ends_.open));
    return flooded;
  }

  void LookAtMemory(SteadyClock::time_point now) {
    if (now - looked_ < kLooksAtMemory) return;
    looked_ = now;
    most_mib_ = std::max(most_mib_, served_.process().ResidentMiB());
  }

  const Plan& plan_;
  Figures& figures_;
  Served served_;
  FreshBytes fresh_;
  uint64_t next_ = 1;
  Ends ends_;
  std::vector<double> goodput_;  // over peak, of each round
  std::vector<double> offered_;  // the same
  double most_mib_ = 0;
  SteadyClock::time_point looked_;
};

}  // namespace

absl::Status BenchOverload(const Plan& plan, Figures& figures) {
  return Overload(plan, figures).Run();
}

}  // namespace holdfast::bench
