#include "tests/history/simulation.h"

#include "tests/history/agent.h"
#include "tests/history/model.h"

#include <cstring>
#include <functional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace holdfast::history {
namespace {

constexpr int64_t kMicrosecond = 1000;
constexpr int64_t kMostDelay = 900 * kMicrosecond;  // of each half of a call
constexpr int64_t kTtl = 20'000 * kMicrosecond;
constexpr int64_t kMostLate = 10 * kMostDelay;  // of a call that was given up
constexpr uint32_t kPercentLost = 5;

// What happens to an operation next.
struct Moment {
  enum class Kind : uint8_t { kSend, kAct, kReturn };
  int64_t time = 0;
  uint64_t order = 0;  // of what happens at one time
  Kind kind = Kind::kSend;
  uint32_t client = 0;
  size_t operation = 0;

  friend bool operator>(const Moment& a, const Moment& b) {
    return std::pair(a.time, a.order) > std::pair(b.time, b.order);
  }
};

class Simulation final {
 public:
  explicit Simulation(const SimulationPlan& plan) : plan_(plan), random_(plan.seed) {
    for (uint32_t i = 0; i < plan.sessions; ++i) models_.emplace_back(i);
    for (uint32_t i = 0; i < plan.clients; ++i) {
      agents_.emplace_back(plan.sessions, kTtl, random_());
      Plan(Moment::Kind::kSend, i, 0, Delay(kMostDelay));
    }
  }

  History Run() {
    while (!moments_.empty()) {
      const Moment moment = moments_.top();
      moments_.pop();
      now_ = moment.time;
      switch (moment.kind) {
        case Moment::Kind::kSend:
          Send(moment.client);
          break;
        case Moment::Kind::kAct:
          Act(moment);
          break;
        case Moment::Kind::kReturn:
          Return(moment);
          break;
      }
    }
    for (const Model& model : models_) history_.endings.push_back(model.End());
    return std::move(history_);
  }

 private:
  int64_t Delay(int64_t most) { return 1 + static_cast<int64_t>(random_() % most); }
  bool Chance(uint32_t percent) { return random_() % 100 < percent; }

  void Plan(Moment::Kind kind, uint32_t client, size_t operation, int64_t in) {
    moments_.push({.time = now_ + in,
                   .order = ++order_,
                   .kind = kind,
                   .client = client,
                   .operation = operation});
  }

  void Send(uint32_t client) {
    const size_t index = history_.operations.size();
    if (index >= plan_.operations) return;
    Operation& operation = history_.operations.emplace_back();
    operation.client = client;
    operation.number = index;
    operation.invoked = now_;
    operation.asked = agents_[client].Next();
    for (size_t i = 0; i < operation.asked.items.size(); ++i) {
      // Any bytes will do, as long as a repeat has the same.
      Digest& item = operation.asked.items[i];
      std::memcpy(item.data(), &operation.asked.request, sizeof(Uuid));
      item.back() = static_cast<uint8_t>(i);
    }
    const int64_t acts_in = Delay(kMostDelay);
    const bool lost = Chance(kPercentLost);
    if (!lost) return Plan(Moment::Kind::kAct, client, index, acts_in);
    lost_.resize(index + 1);
    lost_[index] = true;
    if (Chance(60))
      Plan(Moment::Kind::kAct, client, index, Chance(50) ? acts_in : Delay(kMostLate));
    Plan(Moment::Kind::kReturn, client, index, 2 * acts_in);
  }

  [[nodiscard]] bool Lost(size_t operation) const {
    return operation < lost_.size() && lost_[operation];
  }

  void Act(const Moment& moment) {
    Operation& operation = history_.operations[moment.operation];
    const Answered answered = models_[operation.asked.session].Do(operation.asked, now_);
    if (Lost(moment.operation)) return;
    operation.answered = answered;
    Plan(Moment::Kind::kReturn, moment.client, moment.operation, Delay(kMostDelay));
  }

  void Return(const Moment& moment) {
    Operation& operation = history_.operations[moment.operation];
    operation.returned = now_;
    agents_[moment.client].Learn(operation.answered);
    Plan(Moment::Kind::kSend, moment.client, 0, Delay(kMostDelay));
  }

  const SimulationPlan plan_;
  std::mt19937_64 random_;
  std::vector<Model> models_;
  std::vector<Agent> agents_;
  std::priority_queue<Moment, std::vector<Moment>, std::greater<>> moments_;
  std::vector<bool> lost_;  // by operation: its answer never arrives
  int64_t now_ = 0;
  uint64_t order_ = 0;
  History history_;
};

}  // namespace

History Simulate(const SimulationPlan& plan) { return Simulation(plan).Run(); }

}  // namespace holdfast::history
