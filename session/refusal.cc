#include "session/refusal.h"

#include "platform/encoding.h"
#include "session/limits.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"

#include <utility>

namespace holdfast {
namespace {

constexpr char kPayload[] = "holdfast.refusal";
constexpr char kUnknownOutcome[] = "unknown";
constexpr absl::Duration kStoreRetry = absl::Milliseconds(500);

}  // namespace

Refusal&& Refusal::With(std::string_view name, std::string_view value) && {
  facts_.insert_or_assign(std::string(name), std::string(value));
  return std::move(*this);
}

Refusal&& Refusal::With(std::string_view name, uint64_t value) && {
  facts_.insert_or_assign(std::string(name), std::to_string(value));
  return std::move(*this);
}

Refusal&& Refusal::RetryAfter(absl::Duration delay) && {
  retry_after_ = delay;
  return std::move(*this);
}

void Refusal::Add(std::string_view name, std::string_view value) {
  facts_.insert_or_assign(std::string(name), std::string(value));
}

absl::Status Refusal::ToStatus() const {
  absl::Status status(RowOf(reason_).status, message_);
  Encoder out;
  out.Number(static_cast<uint64_t>(reason_));
  out.Number(retry_after_ ? static_cast<uint64_t>(absl::ToInt64Microseconds(*retry_after_)) + 1
                          : 0);
  out.Number(facts_.size());
  for (const auto& [name, value] : facts_) out.Text(name).Text(value);
  status.SetPayload(kPayload, absl::Cord(out.Take()));
  return status;
}

Refusal RefusalOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  if (!payload.has_value()) return {Reason::kInternal, "an internal error"};
  const std::string bytes(*payload);
  Decoder in(bytes);
  const auto reason = static_cast<Reason>(in.Number());
  Refusal refusal(reason, std::string(status.message()));
  if (const uint64_t delay = in.Number(); delay > 0) {
    refusal.retry_after_ = absl::Microseconds(delay - 1);
  }
  for (size_t left = in.Count(); left > 0; --left) {
    const std::string_view name = in.Text();
    refusal.Add(name, in.Text());
  }
  return refusal;
}

bool Is(const absl::Status& status, Reason reason) {
  return !status.ok() && RefusalOf(status).reason() == reason;
}

Refusal InvalidField(std::string_view field, std::string_view why) {
  return Refusal(Reason::kInvalidField, std::string(field) + ": " + std::string(why))
      .With("field", field)
      .With("why", why);
}

Refusal TooLarge(std::string_view field, size_t limit, size_t got) {
  return Refusal(Reason::kTooLarge,
                 absl::StrCat(std::string(field), ": ", got, " is above the limit of ", limit))
      .With("field", field)
      .With("limit", limit)
      .With("got", got);
}

Refusal StorageFull(std::string_view message) {
  return Refusal(Reason::kStorageFull, message).RetryAfter(kStorageFullRetry);
}

Refusal StoreUnavailable(std::string_view message, Fate fate) {
  return Refusal(Reason::kStoreUnavailable, message)
      .With("outcome", fate == Fate::kUnknown ? kUnknownOutcome : "known")
      .RetryAfter(kStoreRetry);
}

bool OutcomeIsUnknown(const absl::Status& status) {
  if (status.ok()) return false;
  const Refusal refusal = RefusalOf(status);
  const auto outcome = refusal.facts().find("outcome");
  return outcome != refusal.facts().end() && outcome->second == kUnknownOutcome;
}

absl::Status LeaveInDoubt(const absl::Status& status) {
  if (status.ok()) return status;
  Refusal refusal = RefusalOf(status);
  switch (refusal.reason()) {
    case Reason::kStoreUnavailable:
    case Reason::kStorageFull:
    case Reason::kOverloaded:
      return StoreUnavailable(refusal.message(), Fate::kUnknown);
    case Reason::kSnapshotFailed:
      refusal.Add("outcome", kUnknownOutcome);
      return refusal;
    default:
      return status;
  }
}

}  // namespace holdfast
