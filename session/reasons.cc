#include "session/reasons.h"

#include <cstddef>

namespace holdfast {

using absl::StatusCode;

const std::array<ReasonRow, 44> kReasonRows = {{
    {Reason::kResumeMismatch, "RESUME_MISMATCH", StatusCode::kFailedPrecondition,
     "Session/ResumeMismatch", Retry::kNever, false},
    {Reason::kManifestDrift, "MANIFEST_DRIFT", StatusCode::kDataLoss, "Session/ManifestDrift",
     Retry::kNever, false},
    {Reason::kDamaged, "DAMAGED", StatusCode::kDataLoss, "Session/Damaged", Retry::kNever, false},
    {Reason::kRevisionAhead, "REVISION_AHEAD", StatusCode::kFailedPrecondition,
     "Session/RevisionAhead", Retry::kNever, false},
    {Reason::kSessionNotFound, "SESSION_NOT_FOUND", StatusCode::kNotFound, "Session/NotFound",
     Retry::kNever, false},
    {Reason::kNoSnapshot, "NO_SNAPSHOT", StatusCode::kNotFound, "Session/NoSnapshot", Retry::kNever,
     false},
    {Reason::kTombstoned, "TOMBSTONED", StatusCode::kNotFound, "Session/Deleted", Retry::kNever,
     false},
    {Reason::kSessionExists, "SESSION_EXISTS", StatusCode::kAlreadyExists, "Session/Exists",
     Retry::kResumeInstead, false},
    {Reason::kIllegalTransition, "ILLEGAL_TRANSITION", StatusCode::kFailedPrecondition,
     "Session/IllegalTransition", Retry::kAfterReadingHead, false},
    {Reason::kConcurrentTurn, "CONCURRENT_TURN", StatusCode::kAborted,
     "ExtensionHost/ConcurrentTurnForbidden", Retry::kAfterReadingHead, false},
    {Reason::kStaleTurn, "STALE_TURN", StatusCode::kAborted, "Session/StaleTurn",
     Retry::kAfterReadingHead, false},
    {Reason::kStaleRevision, "STALE_REVISION", StatusCode::kAborted, "Session/StaleRevision",
     Retry::kAfterReadingHead, false},
    {Reason::kLeaseRequired, "LEASE_REQUIRED", StatusCode::kFailedPrecondition,
     "Session/LeaseRequired", Retry::kAfterResume, false},
    {Reason::kFenced, "FENCED", StatusCode::kFailedPrecondition, "Session/Fenced",
     Retry::kAfterResume, false},
    {Reason::kLeaseHeld, "LEASE_HELD", StatusCode::kAborted, "Session/LeaseHeld",
     Retry::kAfterRetryInfoSameRequestId, false},
    {Reason::kStoreUnavailable, "STORE_UNAVAILABLE", StatusCode::kUnavailable,
     "Session/StoreUnavailable", Retry::kSameRequestId, false},
    {Reason::kSnapshotFailed, "SNAPSHOT_FAILED", StatusCode::kUnavailable,
     "Session/StoreUnavailable", Retry::kSameRequestId, false},
    {Reason::kDeadline, "DEADLINE", StatusCode::kDeadlineExceeded, "Cancellation/Deadline",
     Retry::kSameRequestId, false},
    {Reason::kCancelled, "CANCELLED", StatusCode::kCancelled, "Cancellation/Cancelled",
     Retry::kSameRequestId, false},
    {Reason::kWatchEnded, "WATCH_ENDED", StatusCode::kUnavailable, "", Retry::kFromCursor, false},
    {Reason::kOverloaded, "OVERLOADED", StatusCode::kUnavailable, "", Retry::kSameRequestId, false},
    {Reason::kQuota, "QUOTA", StatusCode::kResourceExhausted, "", Retry::kAfterRetryInfo, true},
    {Reason::kStorageFull, "STORAGE_FULL", StatusCode::kResourceExhausted, "Session/StorageFull",
     Retry::kAfterRetryInfo, false},
    {Reason::kTooLarge, "TOO_LARGE", StatusCode::kInvalidArgument, "Validation/TooLarge",
     Retry::kByStreamOrNever, false},
    {Reason::kInvalidField, "INVALID_FIELD", StatusCode::kInvalidArgument,
     "Validation/ManifestShapeInvalid", Retry::kNever, false},
    {Reason::kImmutableField, "IMMUTABLE_FIELD", StatusCode::kInvalidArgument,
     "Validation/ImmutableField", Retry::kNever, false},
    {Reason::kRequestIdReused, "REQUEST_ID_REUSED", StatusCode::kInvalidArgument,
     "Validation/RequestIdReused", Retry::kNever, false},
    {Reason::kSlotVersionMissing, "SLOT_VERSION_MISSING", StatusCode::kInvalidArgument,
     "Validation/SlotVersionMissing", Retry::kNever, false},
    {Reason::kMalformedSecretReference, "MALFORMED_SECRET_REFERENCE", StatusCode::kInvalidArgument,
     "Validation/MalformedSecretReference", Retry::kNever, false},
    {Reason::kSecretLeak, "SECRET_LEAK", StatusCode::kInvalidArgument, "Session/SecretLeak",
     Retry::kNever, false},
    {Reason::kSlotDriftRejected, "SLOT_DRIFT_REJECTED", StatusCode::kFailedPrecondition,
     "Session/SlotDriftRejected", Retry::kNever, false},
    {Reason::kSlotMigrationFailed, "SLOT_MIGRATION_FAILED", StatusCode::kFailedPrecondition,
     "Session/SlotMigrationFailed", Retry::kNever, true},
    {Reason::kSlotAccessDenied, "SLOT_ACCESS_DENIED", StatusCode::kPermissionDenied,
     "ExtensionHost/SlotAccessDenied", Retry::kNever, false},
    {Reason::kRoleForbidden, "ROLE_FORBIDDEN", StatusCode::kPermissionDenied, "", Retry::kNever,
     true},
    {Reason::kUserInputForbidden, "USER_INPUT_FORBIDDEN", StatusCode::kPermissionDenied, "",
     Retry::kNever, true},
    {Reason::kUnauthenticated, "UNAUTHENTICATED", StatusCode::kUnauthenticated, "",
     Retry::kWithCredentials, true},
    {Reason::kRevisionPruned, "REVISION_PRUNED", StatusCode::kOutOfRange, "Session/RevisionPruned",
     Retry::kFromWhatIsKept, false},
    {Reason::kEventsCompacted, "EVENTS_COMPACTED", StatusCode::kOutOfRange,
     "Session/EventsCompacted", Retry::kFromWhatIsKept, false},
    {Reason::kCapabilityMissing, "CAPABILITY_MISSING", StatusCode::kUnimplemented,
     "Session/CapabilityMissing", Retry::kNever, false},
    {Reason::kMaxDepth, "MAX_DEPTH", StatusCode::kFailedPrecondition, "EmergencyHalt/MaxDepth",
     Retry::kNever, true},
    {Reason::kLeafDelegation, "LEAF_DELEGATION", StatusCode::kFailedPrecondition,
     "EmergencyHalt/LeafDelegation", Retry::kNever, true},
    {Reason::kLineageCycle, "LINEAGE_CYCLE", StatusCode::kFailedPrecondition,
     "Session/LineageCycle", Retry::kNever, true},
    {Reason::kInternal, "INTERNAL", StatusCode::kInternal, "", Retry::kSameRequestId, false},
    {Reason::kRecordNotFound, "RECORD_NOT_FOUND", StatusCode::kNotFound, "Session/RecordNotFound",
     Retry::kNever, false},
}};

const ReasonRow& RowOf(Reason reason) { return kReasonRows.at(static_cast<size_t>(reason)); }

std::string_view Words(Retry retry) {
  switch (retry) {
    case Retry::kNever:
      return "never";
    case Retry::kAfterReadingHead:
      return "after reading the session";
    case Retry::kAfterResume:
      return "after a resume";
    case Retry::kSameRequestId:
      return "with the same request id";
    case Retry::kAfterRetryInfoSameRequestId:
      return "after RetryInfo, with the same request id, or force";
    case Retry::kAfterRetryInfo:
      return "after RetryInfo";
    case Retry::kResumeInstead:
      return "resume it instead";
    case Retry::kFromCursor:
      return "from the cursor";
    case Retry::kByStreamOrNever:
      return "by stream, or never";
    case Retry::kWithCredentials:
      return "with credentials";
    case Retry::kFromWhatIsKept:
      return "from what is kept";
  }
  return "never";
}

}  // namespace holdfast
