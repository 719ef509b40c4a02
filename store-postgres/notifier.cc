#include "store-postgres/notifier.h"

#include <utility>
#include <variant>

namespace holdfast::pg {
namespace {

constexpr Statement kNotify = {
    "notify",
    "SELECT pg_notify('holdfast', $1)::text"
    " FROM (SELECT writer FROM holdfast.server WHERE writer <> $2 ORDER BY writer LIMIT 1) other"};

}  // namespace

void Notifier::Start() {
  thread_ = std::jthread([this] { Run(); });
}

void Notifier::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_ = std::jthread();
}

void Notifier::Touch(const SessionKey& key) {
  const size_t bucket = BucketOf(key);
  const absl::MutexLock lock(&mutex_);
  touched_.set(bucket);
}

void Notifier::Run() {
  for (Buckets touched = Take(); touched.any(); touched = Take()) {
    bool notified = false;
    if (!guard_.Run([&] { notified = Notify(touched); })) connection_.reset();
    if (!notified) {
      const absl::MutexLock lock(&mutex_);
      touched_ |= touched;
    }
    Pause(notified ? kNotifyBeat : kNotifyRetry);
  }
  connection_.reset();
}

Buckets Notifier::Take() {
  const absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &Notifier::HasWork));
  if (stopping_) return {};
  return std::exchange(touched_, {});
}

bool Notifier::Notify(const Buckets& touched) {
  if (!Connect()) return false;
  Params params;
  params.Text(ToPayload({.writer = database_.writer, .touched = touched})).Int(database_.writer);
  const Answer answer = connection_->Run(kNotify, params);
  const auto* const failure = std::get_if<Failure>(&answer);
  if (failure != nullptr) database_.Report(kNotify, *failure);
  return failure == nullptr;
}

bool Notifier::Connect() {
  const bool usable = connection_ != nullptr && connection_->LooksUsable() &&
                      connection_->timeline() >= database_.pool.newest_timeline();
  if (usable) return true;
  connection_.reset();
  auto made = database_.pool.Apart("notifier");
  if (!made.ok() || (*made)->Try("SET synchronous_commit = off")) return false;
  connection_ = *std::move(made);
  return true;
}

void Notifier::Pause(absl::Duration pause) {
  const absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&stopping_), pause);
}

}  // namespace holdfast::pg
