#include "tests/history/traffic.h"

#include "platform/clock.h"
#include "platform/status_macros.h"
#include "tests/history/wire.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <map>
#include <utility>

namespace holdfast::history {
namespace {

// After which a client goes to the next server, as one behind a balancer does. Without that, all
// would soon be where nothing was killed.
constexpr uint64_t kCallsAtAServer = 40;

}  // namespace

int64_t HistoryNow() { return absl::ToInt64Nanoseconds(SystemClock().SinceBoot()); }

absl::StatusOr<History> FinishRecord(const TrafficPlan& plan) {
  Recorder recorder(plan.file);
  Wire reader(plan.addresses, plan.prefix, 0);
  for (uint32_t session = 0; session < plan.sessions; ++session) {
    ASSIGN_OR_RETURN(const Ending ending, reader.ReadEnding(session));
    if (!recorder.Ended(ending)) return absl::DataLossError("the record cannot be written");
  }
  return ReadRecord(plan.file);
}

Traffic::Traffic(TrafficPlan plan)
    : plan_(std::move(plan)), recorder_(plan_.file), in_flight_(plan_.addresses.size()) {}

Traffic::~Traffic() { Stop(); }

void Traffic::Start() {
  for (uint32_t i = 0; i < plan_.clients; ++i) {
    clients_.emplace_back([this, i] { RunClient(i); });
  }
}

void Traffic::Stop() {
  stopping_ = true;
  for (std::thread& client : clients_) client.join();
  clients_.clear();
}

void Traffic::RunClient(uint32_t client) {
  Wire wire(plan_.addresses, plan_.prefix, client);
  Agent agent(plan_.sessions, absl::ToInt64Nanoseconds(plan_.lease_ttl),
              plan_.seed * plan_.clients + client);
  for (uint64_t number = 0; !stopping_; ++number) {
    Operation operation;
    operation.client = client;
    operation.number = number;
    operation.asked = agent.Next();
    Wire::Fill(operation.asked);
    const bool mutates = Mutates(operation.asked.method);
    if (number % kCallsAtAServer == kCallsAtAServer - 1) wire.Move();
    operation.server = wire.server();
    operation.invoked = HistoryNow();
    if (!recorder_.Sent(operation)) return;
    if (mutates) ++in_flight_[operation.server];
    operation.answered = wire.Send(operation.asked);
    operation.returned = HistoryNow();
    if (mutates) --in_flight_[operation.server];
    const Outcome outcome = operation.answered.outcome;
    if (mutates && outcome == Outcome::kOk) ++acknowledged_;
    if (!recorder_.Returned(operation)) return;
    agent.Learn(operation.answered);
  }
}

absl::StatusOr<History> Traffic::Finish() { return FinishRecord(plan_); }

uint64_t Traffic::in_flight() const {
  uint64_t sum = 0;
  for (const std::atomic<uint64_t>& at : in_flight_) sum += at;
  return sum;
}

std::string Summary(const History& history) {
  std::map<std::string, size_t> counts;
  for (const Operation& operation : history.operations) {
    const Answered& answered = operation.answered;
    std::string what(Name(operation.asked.method));
    if (answered.outcome == Outcome::kOk) what += answered.repeated ? " repeated" : " ok";
    if (answered.outcome == Outcome::kUnknown) what += " unanswered";
    if (answered.outcome == Outcome::kRefused) what += " " + std::string(Name(answered.cause));
    ++counts[what];
  }
  std::string text;
  for (const auto& [what, count] : counts) absl::StrAppend(&text, what, ": ", count, "\n");
  return absl::StrCat(text, history.operations.size(), " operations\n");
}

}  // namespace holdfast::history
