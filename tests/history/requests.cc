#include "tests/history/requests.h"

namespace holdfast::history {

bool Reconnected(const Operation& operation) {
  const Asked& asked = operation.asked;
  return asked.method == Method::kResume && asked.epoch != 0 &&
         operation.answered.outcome == Outcome::kOk && operation.answered.epoch == asked.epoch;
}

Requests::Requests(const std::vector<const Operation*>& operations) : operations_(operations) {
  of_.reserve(operations.size());
  requests_.reserve(operations.size());
  index_.reserve(operations.size());
  for (const Operation* operation : operations) Add(*operation);
}

void Requests::Add(const Operation& operation) {
  if (operation.asked.request == Uuid()) {
    of_.push_back(kNone);
    return;
  }
  const auto next = static_cast<uint32_t>(requests_.size());
  const auto [found, added] = index_.try_emplace(operation.asked.request, next);
  if (added) requests_.push_back({.first = &operation});
  of_.push_back(found->second);
  Request& request = requests_[found->second];
  const Answered& answered = operation.answered;
  if (answered.outcome == Outcome::kUnknown) request.open = true;
  if (answered.outcome != Outcome::kOk || Reconnected(operation)) return;
  if (!answered.repeated) ++request.acts;
  if (operation.returned >= request.acknowledged) return;
  request.acknowledged = operation.returned;
  request.answered = &operation;
}

Request* Requests::Find(const Uuid& id) {
  const auto found = index_.find(id);
  return found == index_.end() ? nullptr : &requests_[found->second];
}

}  // namespace holdfast::history
