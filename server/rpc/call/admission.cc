#include "server/rpc/call/admission.h"

#include "session/limits.h"
#include "session/refusal.h"

namespace holdfast {

Refusal Overloaded(const char* what) {
  return Refusal(Reason::kOverloaded, "the server is busy: try again a little later")
      .With("field", what)
      .RetryAfter(kOverloadRetry);
}

absl::StatusOr<Admission::Ticket> Admission::Admit(size_t bytes) {
  const absl::MutexLock lock(&mutex_);
  if (stopped_) {
    ++refused_late_;
    return StoreUnavailable("this server is stopping", Fate::kNoEffect);
  }
  return Take({.calls = 1, .bytes = bytes});
}

absl::StatusOr<Admission::Ticket> Admission::AdmitBytes(size_t bytes) {
  const absl::MutexLock lock(&mutex_);
  return Take({.calls = 0, .bytes = bytes});
}

absl::StatusOr<Admission::Ticket> Admission::Take(CallShare held) {
  if (!Fits(held.bytes, bytes_)) return Overloaded("limits.memory_budget");
  calls_ += held.calls;
  bytes_ += held.bytes;
  return Ticket(this, held);
}

void Admission::Stop() {
  const absl::MutexLock lock(&mutex_);
  stopped_ = true;
}

bool Admission::stopped() {
  const absl::MutexLock lock(&mutex_);
  return stopped_;
}

uint64_t Admission::refused_late() {
  const absl::MutexLock lock(&mutex_);
  return refused_late_;
}

bool Admission::AwaitIdle(absl::Duration patience) {
  const absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(this, &Admission::IsIdle), patience);
}

size_t Admission::InProgress() {
  const absl::MutexLock lock(&mutex_);
  return calls_;
}

size_t Admission::HeldBytes() {
  const absl::MutexLock lock(&mutex_);
  return bytes_;
}

absl::Status Admission::Ticket::Resize(size_t bytes) {
  if (admission_ == nullptr) return absl::OkStatus();
  const absl::MutexLock lock(&admission_->mutex_);
  const size_t others = admission_->bytes_ - held_.bytes;
  if (bytes > held_.bytes && !admission_->Fits(bytes, others)) {
    return Overloaded("limits.memory_budget");
  }
  admission_->bytes_ = others + bytes;
  held_.bytes = bytes;
  return absl::OkStatus();
}

void Admission::Ticket::Hold(size_t bytes) {
  if (admission_ == nullptr) return;
  const absl::MutexLock lock(&admission_->mutex_);
  admission_->bytes_ += bytes - held_.bytes;
  held_.bytes = bytes;
}

Admission::Ticket& Admission::Ticket::operator=(Ticket&& other) noexcept {
  if (this != &other) {
    GiveBack();
    admission_ = std::exchange(other.admission_, nullptr);
    held_ = other.held_;
  }
  return *this;
}

void Admission::Ticket::GiveBack() {
  if (admission_ == nullptr) return;
  const absl::MutexLock lock(&admission_->mutex_);
  admission_->calls_ -= held_.calls;
  admission_->bytes_ -= held_.bytes;
  admission_ = nullptr;
}

}  // namespace holdfast
