// The outcome of a statement that did not answer with rows, and the one place where it becomes a
// refusal. The driver's and the server's own words are for the operator's log alone.
#ifndef HOLDFAST_STORE_POSTGRES_PG_FAILURE_H_
#define HOLDFAST_STORE_POSTGRES_PG_FAILURE_H_

#include "session/refusal.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::pg {

// What a failure means for its statement.
enum class Effect : uint8_t {
  kNone,     // it was never sent, or the server refused it: nothing was changed
  kUnknown,  // the connection broke, the server ended it or stopped waiting for a standby, all
             // after the statement was sent: it may have been carried out
};

struct Failure {
  Effect effect = Effect::kUnknown;
  std::string sqlstate;  // five characters, or empty when the server said nothing
  std::string text;      // in the driver's words
};

// SQLSTATEs that decide something here.
inline constexpr std::string_view kDiskFull = "53100";
inline constexpr std::string_view kQueryCanceled = "57014";
inline constexpr std::string_view kLockNotAvailable = "55P03";
inline constexpr std::string_view kReadOnlyTransaction = "25006";
inline constexpr std::string_view kDuplicatePreparedStatement = "42P05";
inline constexpr std::string_view kNoSuchPreparedStatement = "26000";
inline constexpr std::string_view kChangedPlan = "0A000";
inline constexpr std::string_view kCompletionUnknown = "40003";
inline constexpr std::string_view kDeadlock = "40P01";
inline constexpr std::string_view kSerialization = "40001";

// Whether the server rolled the transaction back in favour of another one: the same again may
// succeed.
bool LostToAnother(const Failure& failure);

// STORAGE_FULL when the server's disk is full and nothing was changed; else STORE_UNAVAILABLE with
// the outcome known or unknown. Contains none of `failure.text`.
Refusal RefusalFor(const Failure& failure);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_PG_FAILURE_H_
