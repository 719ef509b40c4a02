#include "tests/history/traffic.h"

#include "session/clock.h"
#include "session/status_macros.h"
#include "tests/history/wire.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <map>
#include <utility>

namespace holdfast::history {
namespace {

bool Mutates(Method method) {
  return method != Method::kReadHead && method != Method::kReadMessages &&
         method != Method::kReadSlot;
}

}  // namespace

int64_t HistoryNow() { return absl::ToInt64Nanoseconds(SystemClock().SinceBoot()); }

Traffic::Traffic(TrafficPlan plan) : plan_(std::move(plan)), recorder_(plan_.file) {}

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
    operation.invoked = HistoryNow();
    if (!recorder_.Sent(operation)) return;
    if (mutates) ++in_flight_;
    operation.answered = wire.Send(operation.asked);
    operation.returned = HistoryNow();
    if (mutates) --in_flight_;
    const Outcome outcome = operation.answered.outcome;
    if (mutates && outcome == Outcome::kOk) ++acknowledged_;
    if (!recorder_.Returned(operation)) return;
    agent.Learn(operation.answered);
  }
}

absl::StatusOr<History> Traffic::Finish() {
  Wire reader(plan_.addresses, plan_.prefix, 0);
  for (uint32_t session = 0; session < plan_.sessions; ++session) {
    ASSIGN_OR_RETURN(const Ending ending, reader.ReadEnding(session));
    if (!recorder_.Ended(ending)) return absl::DataLossError("the record cannot be written");
  }
  return ReadRecord(plan_.file);
}

size_t KillsInFlight(const History& history, const std::vector<int64_t>& kills) {
  return std::count_if(kills.begin(), kills.end(), [&](int64_t kill) {
    return std::any_of(history.operations.begin(), history.operations.end(),
                       [&](const Operation& operation) {
                         return Mutates(operation.asked.method) && operation.invoked < kill &&
                                operation.returned > kill;
                       });
  });
}

size_t Unanswered(const History& history) {
  return std::count_if(
      history.operations.begin(), history.operations.end(), [](const Operation& operation) {
        return Mutates(operation.asked.method) && operation.answered.outcome == Outcome::kUnknown;
      });
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
