#include "cli/retry.h"

#include "cli/reasons.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

namespace holdfast::cli {
namespace {

constexpr int kMostSteps = 16;

// Between a half and one: clients that were refused together do not repeat their calls together.
double Jitter() {
  thread_local std::minstd_rand generator(std::random_device{}());
  return std::uniform_real_distribution<double>(0.5, 1.0)(generator);
}

bool IsOutage(const Failure& failure) { return failure.reason == kUnreachableReason; }

}  // namespace

absl::Duration PauseBefore(int repeat, const Failure& failure, const RetryPolicy& policy) {
  const double grown = std::pow(ServiceBackoff().growth, std::min(repeat, kMostSteps));
  const absl::Duration pause =
      std::min(policy.first_pause * grown, policy.longest_pause) * Jitter();
  return std::max(pause, failure.retry_after.value_or(absl::ZeroDuration()));
}

bool Caller::MayRepeat(const Failure& failure) const {
  switch (ExplanationOf(failure.reason).repeat) {
    case Repeat::kYes:
      return true;
    case Repeat::kWhenLeaseIsFree:
      return policy_.wait_for_lease;
    case Repeat::kNo:
      break;
  }
  return false;
}

CallResult Caller::Call(Attempt attempt) const {
  CallResult result;
  absl::Duration left = policy_.patience;
  bool asked_again = false;
  for (int repeat = 0;; ++repeat) {
    grpc::ClientContext context;
    const absl::Duration most = repeat == 0 ? policy_.deadline : std::min(policy_.deadline, left);
    context.set_deadline(std::chrono::system_clock::time_point(
        absl::ToChronoTime(clock_.Wall() + std::max(most, policy_.first_pause))));
    // A server that restarts is met as soon as it listens; the first attempt says at once that it
    // is gone.
    context.set_wait_for_ready(repeat > 0);
    const absl::Duration start = clock_.Monotonic();
    result.status = attempt(context);
    if (result.status.ok()) return result;

    const Failure failure = FailureOf(result.status);
    if (IsOutage(failure)) ++result.outages;
    if (!MayRepeat(failure)) {
      if (repeat == 0 || asked_again) return result;
      asked_again = true;
      continue;
    }
    const absl::Duration pause = PauseBefore(repeat, failure, policy_);
    if (repeat > 0) left -= clock_.Monotonic() - start;
    left -= pause;
    if (left <= absl::ZeroDuration()) return result;
    if (repeat == 0 && policy_.on_first_repeat) policy_.on_first_repeat(failure);
    clock_.Sleep(pause);
  }
}

}  // namespace holdfast::cli
