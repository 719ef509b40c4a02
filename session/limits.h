// Every bound of the service, by name. What exceeds one is answered with a typed refusal, never a
// crash (DESIGN section 3, "Limits").
#ifndef HOLDFAST_SESSION_LIMITS_H_
#define HOLDFAST_SESSION_LIMITS_H_

#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>

namespace holdfast {

inline constexpr size_t kKiB = 1024;
inline constexpr size_t kMiB = 1024 * kKiB;

// Ids and texts, in bytes.
inline constexpr size_t kTenantIdBytes = 64;
inline constexpr size_t kSessionIdBytes = 128;
inline constexpr size_t kProjectRootBytes = 4096;
inline constexpr size_t kHolderBytes = 256;
inline constexpr size_t kReasonTextBytes = 1024;
inline constexpr size_t kSlotOwnerBytes = 256;
inline constexpr size_t kSlotVersionBytes = 64;
inline constexpr size_t kRoleBytes = 64;
inline constexpr size_t kContentTypeBytes = 128;
inline constexpr size_t kEntryRefBytes = 256;
inline constexpr size_t kAttributeKeyBytes = 64;
inline constexpr size_t kAttributeValueBytes = 4 * kKiB;
inline constexpr size_t kTokenBytes = 512;

// Counts.
inline constexpr size_t kMessagesPerChange = 4096;
inline constexpr size_t kSlotsPerChange = 256;
inline constexpr size_t kEntriesPerChange = 4096;
inline constexpr size_t kAttributesPerSession = 64;
inline constexpr size_t kLeasesPerRenewal = 1000;

// Bytes on the wire and in memory.
inline constexpr size_t kUnaryRequestBytes = 4 * kMiB;
inline constexpr size_t kTransportMessageBytes = 16 * kMiB;
inline constexpr size_t kChangeBytes = 8 * kMiB;
inline constexpr size_t kSnapshotBytes = 256 * kMiB;
inline constexpr size_t kChunkBytes = 1 * kMiB;
inline constexpr size_t kMetadataBytes = 64 * kKiB;
inline constexpr size_t kInlineBytes = 1 * kMiB;

// Uploads: an unlinked one goes this long after its last chunk, and all together are bounded.
inline constexpr absl::Duration kUploadsKept = absl::Hours(1);
inline constexpr size_t kStagedBytesDefault = 2048 * kMiB;

// Pages.
inline constexpr uint32_t kPageDefault = 50;
inline constexpr uint32_t kPageMost = 1000;
inline constexpr size_t kPageBytes = 2 * kMiB;

// Leases.
inline constexpr absl::Duration kLeaseTtlLeast = absl::Seconds(5);
inline constexpr absl::Duration kLeaseTtlMost = absl::Hours(1);
inline constexpr absl::Duration kLeaseTtlDefault = absl::Seconds(60);

// Retention (DESIGN section 2).
inline constexpr size_t kSnapshotsKept = 10;
inline constexpr absl::Duration kRequestsKept = absl::Hours(24);
inline constexpr absl::Duration kEventsKept = absl::Hours(24 * 7);
inline constexpr uint64_t kEventsKeptLeast = 1000;
inline constexpr size_t kGrantsKept = 256;
// Ended turns whose last entry number is remembered; more only pile up when turns are abandoned in
// a row.
inline constexpr size_t kEndedTurnsKept = 64;

// A lost race is retried this often where the client gave no expected revision.
inline constexpr int kRaceRetries = 8;
// A commit of one turn that failed this often on one server is SNAPSHOT_FAILED.
inline constexpr int kSnapshotFailures = 3;
// Heads a server remembers, and the commit failures it counts.
inline constexpr size_t kCachedHeads = 16384;

// Deadlines.
inline constexpr absl::Duration kDefaultDeadline = absl::Seconds(30);

// Admission. A request's bytes count this many times against the memory budget, which is what a
// parsed message may take at worst; one queued call waits for one of the workers.
inline constexpr size_t kParsedBytesPerWireByte = 100;
inline constexpr size_t kMemoryBudgetDefault = 4096 * kMiB;
inline constexpr size_t kQueuedCallsDefault = 1024;
inline constexpr size_t kWorkersMost = 1024;
// After which an overloaded server is worth another try.
inline constexpr absl::Duration kOverloadRetry = absl::Milliseconds(100);
// What one fact or message of a refusal may take of the trailer, which clients bound to 8 KiB.
inline constexpr size_t kRefusalTextBytes = 256;
// A configuration file.
inline constexpr size_t kConfigBytes = kMiB;

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_LIMITS_H_
