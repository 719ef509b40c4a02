// A refusal as a value: a reason of the closed list with its facts, carried inside an absl::Status.
//
//   return Refusal(Reason::kStaleRevision, "the session has moved on")
//       .With("expected", "4").With("actual", "5");
#ifndef HOLDFAST_SESSION_REFUSAL_H_
#define HOLDFAST_SESSION_REFUSAL_H_

#include "session/reasons.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// What is known of a mutation that was refused after it had been handed to the store.
enum class Fate : uint8_t { kNotApplicable, kNoEffect, kUnknown };

class Refusal {
 public:
  Refusal(Reason reason, std::string_view message) : reason_(reason), message_(message) {}

  // Adds a fact for ErrorInfo.metadata.
  Refusal&& With(std::string_view name, std::string_view value) &&;
  Refusal&& With(std::string_view name, uint64_t value) &&;
  // Adds RetryInfo.
  Refusal&& RetryAfter(absl::Duration delay) &&;
  // The same on a refusal that has a name; assigning it the moved one would empty it.
  void Add(std::string_view name, std::string_view value);

  [[nodiscard]] Reason reason() const { return reason_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] const std::map<std::string, std::string>& facts() const { return facts_; }
  [[nodiscard]] std::optional<absl::Duration> retry_after() const { return retry_after_; }

  // The refusal as a status; its code is the reason's.
  [[nodiscard]] absl::Status ToStatus() const;
  // NOLINTNEXTLINE(google-explicit-constructor): reads as `return Refusal(...)`
  operator absl::Status() const { return ToStatus(); }
  template <typename T>
  // NOLINTNEXTLINE(google-explicit-constructor): likewise
  operator absl::StatusOr<T>() const {
    return ToStatus();
  }

  friend Refusal RefusalOf(const absl::Status& status);

 private:
  Reason reason_;
  std::string message_;
  std::map<std::string, std::string> facts_;
  std::optional<absl::Duration> retry_after_;
};

// The refusal inside `status`, which must not be OK; a status from elsewhere is INTERNAL without
// its text.
Refusal RefusalOf(const absl::Status& status);

// True when `status` carries `reason`.
bool Is(const absl::Status& status, Reason reason);

// INVALID_FIELD: `field` is the path in the request, `why` says what would be valid.
Refusal InvalidField(std::string_view field, std::string_view why);

// TOO_LARGE: `field` has `got` where at most `limit` are taken.
Refusal TooLarge(std::string_view field, size_t limit, size_t got);

// STORAGE_FULL: `message` says where space is missing. Nothing was written.
Refusal StorageFull(std::string_view message);

// STORE_UNAVAILABLE with what is known of the outcome.
Refusal StoreUnavailable(std::string_view message, Fate fate);

// True when the refusal says that the call may have acted all the same.
bool OutcomeIsUnknown(const absl::Status& status);

// What a call is answered with whose last attempt ended with `status`, when an attempt before may
// have acted: a failure that only says that the last one did nothing leaves the outcome unknown.
absl::Status LeaveInDoubt(const absl::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_REFUSAL_H_
