// overload: three times what the server can do, offered by another process that does not wait for
// answers. What gets through must stay near the peak, and who is refused must be told when to try
// again.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/served.h"
#include "bench/session_maker.h"
#include "session/status_macros.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr uint64_t kSessions = 256;
constexpr size_t kTitleBytes = 1024;
constexpr size_t kPeakInFlight = 64;
constexpr uint64_t kPeakCalls = 40'000;
constexpr uint64_t kSmokePeakCalls = 2'000;
constexpr double kTimesCapacity = 3;
constexpr auto kLasts = std::chrono::seconds(60);
constexpr auto kSmokeLasts = std::chrono::seconds(3);
constexpr auto kDeadline = std::chrono::seconds(10);
constexpr auto kTick = std::chrono::milliseconds(1);
constexpr size_t kConnections = 4;
constexpr Goal kGoodput = AtLeast(0.8);
constexpr Goal kUnexplained = AtMost(0);

using SteadyClock = std::chrono::steady_clock;

// A change that needs no lease and comes in any order: what it costs the server is a commit.
v1::UpdateSessionRequest NewUpdate(uint64_t number, FreshBytes& fresh) {
  v1::UpdateSessionRequest request;
  request.set_request_id(fresh.Uuid());
  request.set_session_id("s-" + std::to_string(number % kSessions + 1));
  (*request.mutable_attributes())["title"] = std::string(kTitleBytes, 'x');
  request.mutable_update_mask()->add_paths("attributes.title");
  return request;
}

bool HasRetryInfo(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return false;
  return std::ranges::any_of(details.details(), [](const auto& detail) {
    return detail.template Is<google::rpc::RetryInfo>();
  });
}

class UpdateSlot final : public Slot {
 public:
  UpdateSlot(Served& served, std::atomic<uint64_t>& next) : served_(served), next_(next) {}

  void Start(Done done) override {
    request_ = NewUpdate(next_.fetch_add(1), fresh_);
    context_.emplace();
    served_.sessions().async()->UpdateSession(
        &*context_, &request_, &response_, [done = std::move(done)](const grpc::Status& status) {
          done(status.ok() ? absl::OkStatus() : FailedCall("UpdateSession", status));
        });
  }

 private:
  Served& served_;
  std::atomic<uint64_t>& next_;
  FreshBytes fresh_;
  std::optional<grpc::ClientContext> context_;
  v1::UpdateSessionRequest request_;
  v1::UpdateSessionResponse response_;
};

// How the calls of an open loop ended.
struct Ends {
  std::atomic<uint64_t> sent = 0;
  std::atomic<uint64_t> done = 0;
  std::atomic<uint64_t> refused = 0;      // with RetryInfo
  std::atomic<uint64_t> unexplained = 0;  // any other way
  std::atomic<uint64_t> open = 0;
};

// One call that nobody waits for: it goes away with its answer.
struct FreeCall {
  grpc::ClientContext context;
  v1::UpdateSessionRequest request;
  v1::UpdateSessionResponse response;
};

void Send(v1::SessionService::Stub& stub, v1::UpdateSessionRequest request, Ends& ends) {
  auto call = std::make_shared<FreeCall>();
  call->request = std::move(request);
  call->context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  ends.sent.fetch_add(1);
  ends.open.fetch_add(1);
  stub.async()->UpdateSession(&call->context, &call->request, &call->response,
                              [call, &ends](const grpc::Status& status) {
                                if (status.ok()) {
                                  ends.done.fetch_add(1);
                                } else if (HasRetryInfo(status)) {
                                  ends.refused.fetch_add(1);
                                } else {
                                  ends.unexplained.fetch_add(1);
                                }
                                ends.open.fetch_sub(1);
                              });
}

class Overload {
 public:
  Overload(const Plan& plan, Figures& figures)
      : plan_(plan), figures_(figures), served_(plan.holdfastd, plan.directory + "/disk") {}

  absl::Status Run() {
    RETURN_IF_ERROR(served_.Start());
    RETURN_IF_ERROR(MakeSessions(served_, kSessions, std::chrono::minutes(1)).status());
    ASSIGN_OR_RETURN(const double before, Peak());
    const double idle = served_.process().ResidentMiB();
    const double goodput = Flood(before * kTimesCapacity);
    ASSIGN_OR_RETURN(const double after, Peak());
    const double peak = std::max(before, after);
    figures_.Print("goodput-over-peak", goodput / peak, kGoodput);
    figures_.Print("refused-without-retry-info", static_cast<double>(ends_.unexplained),
                   kUnexplained);
    figures_.Print("offered-over-peak", static_cast<double>(ends_.sent) / seconds_ / peak);
    figures_.Print("peak-per-second", peak);
    figures_.Print("goodput-per-second", goodput);
    figures_.Print("MiB-more-while-overloaded", most_mib_ - idle);
    return absl::OkStatus();
  }

 private:
  // Calls a second that a closed loop gets through.
  absl::StatusOr<double> Peak() {
    std::vector<std::unique_ptr<UpdateSlot>> slots;
    std::vector<Slot*> all;
    for (size_t at = 0; at < kPeakInFlight; ++at) {
      all.push_back(slots.emplace_back(std::make_unique<UpdateSlot>(served_, next_)).get());
    }
    ASSIGN_OR_RETURN(const Round round, Drive(all, plan_.Many(kPeakCalls, kSmokePeakCalls)));
    figures_.Note(1, "peak", "per_second", round.Rate());
    return round.Rate();
  }

  // Offers `rate` calls a second, whatever comes back; answers how many a second were done.
  double Flood(double rate) {
    std::vector<std::unique_ptr<v1::SessionService::Stub>> stubs;
    for (size_t i = 0; i < kConnections; ++i) {
      stubs.push_back(v1::SessionService::NewStub(served_.NewConnection()));
    }
    FreshBytes fresh;
    const auto lasts = plan_.quick ? kSmokeLasts : kLasts;
    const auto begin = SteadyClock::now();
    auto now = begin;
    while (now - begin < lasts) {
      const double passed = std::chrono::duration<double>(now - begin).count();
      const auto due = static_cast<uint64_t>(passed * rate);
      while (ends_.sent < due) {
        Send(*stubs[ends_.sent % kConnections], NewUpdate(next_.fetch_add(1), fresh), ends_);
      }
      most_mib_ = std::max(most_mib_, served_.process().ResidentMiB());
      std::this_thread::sleep_for(kTick);
      now = SteadyClock::now();
    }
    seconds_ = std::chrono::duration<double>(now - begin).count();
    const double goodput = static_cast<double>(ends_.done) / seconds_;
    while (ends_.open > 0) std::this_thread::sleep_for(kTick);
    return goodput;
  }

  const Plan& plan_;
  Figures& figures_;
  Served served_;
  std::atomic<uint64_t> next_ = 1;
  Ends ends_;
  double seconds_ = 0;
  double most_mib_ = 0;
};

}  // namespace

absl::Status BenchOverload(const Plan& plan, Figures& figures) {
  return Overload(plan, figures).Run();
}

}  // namespace holdfast::bench
