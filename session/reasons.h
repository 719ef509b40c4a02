// The closed list of refusals: every error a client can meet is one of these
// rows.
#ifndef HOLDFAST_SESSION_REASONS_H_
#define HOLDFAST_SESSION_REASONS_H_

#include "absl/status/status.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace holdfast {

enum class Reason : uint8_t {
  kResumeMismatch,
  kManifestDrift,
  kDamaged,
  kRevisionAhead,
  kSessionNotFound,
  kNoSnapshot,
  kTombstoned,
  kSessionExists,
  kIllegalTransition,
  kConcurrentTurn,
  kStaleTurn,
  kStaleRevision,
  kLeaseRequired,
  kFenced,
  kLeaseHeld,
  kStoreUnavailable,
  kSnapshotFailed,
  kDeadline,
  kCancelled,
  kWatchEnded,
  kOverloaded,
  kQuota,
  kStorageFull,
  kTooLarge,
  kInvalidField,
  kImmutableField,
  kRequestIdReused,
  kSlotVersionMissing,
  kMalformedSecretReference,
  kSecretLeak,
  kSlotDriftRejected,
  kSlotMigrationFailed,
  kSlotAccessDenied,
  kRoleForbidden,
  kUserInputForbidden,
  kUnauthenticated,
  kRevisionPruned,
  kEventsCompacted,
  kCapabilityMissing,
  kMaxDepth,
  kLeafDelegation,
  kLineageCycle,
  kInternal,
  kRecordNotFound,
};

// What a client does next.
enum class Retry : uint8_t {
  kNever,
  kAfterReadingHead,
  kAfterResume,
  kSameRequestId,
  kAfterRetryInfoSameRequestId,
  kAfterRetryInfo,
  kResumeInstead,
  kFromCursor,
  kByStreamOrNever,
  kWithCredentials,
  kFromWhatIsKept,
};

// One row of the list.
struct ReasonRow {
  Reason reason;
  std::string_view name;  // ErrorInfo.reason on the wire
  absl::StatusCode status;
  std::string_view code;  // the source systems' code, in ErrorInfo.metadata["code"]
  Retry retry;
  bool reserved;  // no call of this version causes it
};

// All rows, in the order of the enum.
extern const std::array<ReasonRow, 44> kReasonRows;

// The row of `reason`.
const ReasonRow& RowOf(Reason reason);

// Advice in words, as docs/api-reference.md prints it.
std::string_view Words(Retry retry);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_REASONS_H_
