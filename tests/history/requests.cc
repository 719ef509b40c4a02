#include "tests/history/requests.h"

#include "session/grant_correlation.h"

namespace holdfast::history {

bool Reconnected(const Operation& operation) {
  const Asked& asked = operation.asked;
  return asked.method == Method::kResume && asked.epoch != 0 &&
         operation.answered.outcome == Outcome::kOk && operation.answered.epoch == asked.epoch;
}

Requests::Requests(const std::vector<const Operation*>& operations) : operations_(operations) {
  of_.reserve(operations.size());
  requests_.reserve(operations.size());
  index_.reserve(2 * operations.size());  // a grant has two ids
  for (const Operation* operation : operations) Add(*operation);
}

void Requests::Add(const Operation& operation) {
  if (operation.asked.request == Uuid()) {
    of_.push_back(kNone);
    return;
  }
  const auto next = static_cast<uint32_t>(requests_.size());
  const auto [found, added] = index_.try_emplace(operation.asked.request, next);
  const uint32_t number = found->second;  // the next id may move the table
  if (added) {
    requests_.push_back({.first = &operation});
    const Method method = operation.asked.method;
    // The log names a grant by what is derived from its id.
    if (method == Method::kCreate || method == Method::kResume) {
      const auto id = RequestId::Parse(ToText(operation.asked.request));
      index_.try_emplace(UuidFrom(GrantCorrelation(*id)), next);
    }
  }
  of_.push_back(number);
  Request& request = requests_[number];
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
