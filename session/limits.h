// Every bound of the service, by name. What exceeds one is answered with a typed refusal, never a
// crash.
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
inline constexpr size_t kGroupBytes = 256;
inline constexpr size_t kHolderBytes = 256;
inline constexpr size_t kReasonTextBytes = 1024;
inline constexpr size_t kSlotOwnerBytes = 256;
inline constexpr size_t kSlotVersionBytes = 64;
inline constexpr size_t kRoleBytes = 64;
inline constexpr size_t kContentTypeBytes = 128;
inline constexpr size_t kEntryRefBytes = 256;
inline constexpr size_t kAttributeKeyBytes = 64;
inline constexpr size_t kAttributeValueBytes = 4 * kKiB;
inline constexpr size_t kCancelNameBytes = 256;
inline constexpr size_t kAuditClassBytes = 64;
inline constexpr size_t kAuditCodeBytes = 128;
inline constexpr size_t kCorrelationIdBytes = 256;
inline constexpr size_t kAuditKeyBytes = 64;
inline constexpr size_t kAuditValueBytes = 64 * kKiB;
inline constexpr size_t kTokenBytes = 512;
inline constexpr size_t kItemCollectionBytes = 64;
inline constexpr size_t kItemKeyBytes = 512;
inline constexpr size_t kItemLabelNameBytes = 64;
inline constexpr size_t kItemLabelValueBytes = 1 * kKiB;

// Counts.
inline constexpr size_t kMessagesPerChange = 4096;
inline constexpr size_t kSlotsPerChange = 256;
inline constexpr size_t kEntriesPerChange = 4096;
inline constexpr size_t kAttributesPerSession = 64;
// Keys and values of one session's attributes together. A head carries them in every reply.
inline constexpr size_t kAttributeBytesPerSession = 64 * kKiB;
// Slots that one session may have, and owners that one read may name.
inline constexpr size_t kSlotsPerSession = 4096;
inline constexpr size_t kOwnersPerRead = 256;
// Owners whose slots a row of a listing brings, or one read of a batch, and up to which size a row
// brings the data of one.
inline constexpr size_t kSlotsPerRow = 16;
inline constexpr size_t kSlotBytesInRow = 16 * kKiB;
// Sessions that one call reads, and items that it names of each. What says of them that they had no
// room has room in kPageBytes.
inline constexpr size_t kSessionsPerBatch = 16;
inline constexpr size_t kItemsPerBatchRead = 32;
inline constexpr size_t kLeasesPerRenewal = 1000;
// Cancel requests that one reply to a renewal carries altogether, in bytes; leases beyond say that
// theirs were left out.
inline constexpr size_t kRenewalCancelBytes = 1024 * kKiB;
// Cancel requests of stages and tools that one turn may have.
inline constexpr size_t kInformingCancelRequests = 64;
inline constexpr size_t kAuditFacts = 64;
// Facts of one audit record together.
inline constexpr size_t kAuditBytes = 256 * kKiB;

// Messages that the reply to a restore returns of those that it removed, their bytes, and those of
// the part that is stored for a repeat.
inline constexpr size_t kReturnedMessages = 64;
inline constexpr size_t kReturnedBytes = 1024 * kKiB;
inline constexpr size_t kReturnedBytesStored = 64 * kKiB;

// Checkpoints of kind MANUAL that one session may have, and of each other kind, of which the oldest
// goes when another one is added.
inline constexpr uint64_t kCheckpointsPerSession = 1000;
inline constexpr uint64_t kOwnCheckpointsKept = 10;
inline constexpr size_t kCheckpointNameBytes = 128;
// Items that one compaction says stay in the context.
inline constexpr size_t kSurvivedItems = 64;
// Audit records that one page of a list of one class looks at.
inline constexpr uint32_t kAuditRecordsLookedAt = 10'000;

// Items: of one item, of one call, and of one session.
inline constexpr size_t kItemLabels = 64;
inline constexpr size_t kItemRefs = 1024;
inline constexpr size_t kItemPutsPerChange = 4096;
inline constexpr size_t kItemDeletesPerChange = 4096;
inline constexpr size_t kItemKeysPerRead = 1000;
inline constexpr uint64_t kItemsPerSession = 1'000'000;
inline constexpr uint64_t kItemBytesPerSession = uint64_t{16} * 1024 * kMiB;
// Items that the deletes of one change find.
inline constexpr uint64_t kItemsPerDelete = 100'000;
// Items that one page of a read by labels looks at, of all its sessions together.
inline constexpr uint32_t kItemsLookedAt = 10'000;
// Sessions that one page of a read of a group's items reads.
inline constexpr uint32_t kSessionsPerItemPage = 256;
// Items of a page that is no range, when each of them brings those that are attached to it.
inline constexpr uint32_t kItemsWithAttached = 16;

// Bytes on the wire and in memory.
inline constexpr size_t kUnaryRequestBytes = 4 * kMiB;
inline constexpr size_t kTransportMessageBytes = 16 * kMiB;
inline constexpr size_t kChangeBytes = 8 * kMiB;
// What a decided change takes when it is encoded, the payload of one frame, and a journal as long
// as it may become while it cannot be rotated. A writer refuses what a reader would not open.
inline constexpr size_t kEncodedChangeBytes = 16 * kMiB;
inline constexpr size_t kFramePayloadBytes = 64 * kMiB;
inline constexpr size_t kJournalFileBytes = 1024 * kMiB;
inline constexpr size_t kSnapshotBytes = 256 * kMiB;
inline constexpr size_t kChunkBytes = 1 * kMiB;
// Up to which a response of a stream takes on pieces.
inline constexpr size_t kReadResponseBytes = 256 * kKiB;
inline constexpr size_t kMetadataBytes = 64 * kKiB;
// What the process may hold beside the memory budget: headers and requests that have not arrived
// whole, which no call counts yet, caches, and its own data. Beyond it, connections are closed that
// sent more than kUnbegunLeast without a call; after so many looks in vain, every one.
inline constexpr size_t kProcessBytes = 512 * kMiB;
inline constexpr size_t kUnbegunLeast = 16 * kKiB;
inline constexpr absl::Duration kMemoryBeat = absl::Milliseconds(100);
inline constexpr int kMemoryBeatsOver = 20;
inline constexpr size_t kInlineBytes = 1 * kMiB;
// Of slots that one read of a store brings into memory.
inline constexpr size_t kReadAtOnceBytes = 16 * kMiB;
// Of items that are read beside those of a page because they belong to them.
inline constexpr size_t kRelatedItemBytes = 8 * kMiB;
// What a resume reads of the journal of a turn that it abandons, and how many open tool uses its
// report lists.
inline constexpr size_t kResumeJournalEntries = 4096;
inline constexpr size_t kResumeJournalBytes = 4 * kMiB;
inline constexpr size_t kOpenToolUsesShown = 256;

// Uploads: an unlinked one goes this long after its last chunk, and all together are bounded.
inline constexpr absl::Duration kUploadsKept = absl::Hours(1);
inline constexpr size_t kStagedBytesDefault = 2048 * kMiB;
// An upload reserves its share of them in steps of this many bytes, as the bytes arrive.
inline constexpr size_t kStagedStepBytes = 4 * kMiB;

// Deleted sessions that a check of the store names, of those that are there again.
inline constexpr size_t kReappearedShown = 1000;

// Pages.
inline constexpr uint32_t kPageDefault = 50;
inline constexpr uint32_t kPageMost = 1000;
inline constexpr size_t kPageBytes = 2 * kMiB;

// Calls and streams that one connection has open at once. What is more waits in the client, where
// it costs this server nothing: a server that is offered more than it can even refuse would fill
// up with calls whose callers have gone.
inline constexpr size_t kCallsPerConnectionDefault = 1024;
inline constexpr size_t kCallsPerConnectionMost = 1'000'000;

// Connections of clients. A peer is an IPv4 address, an IPv6 /64 or the socket file.
inline constexpr size_t kClientConnectionsDefault = 4096;
inline constexpr size_t kClientConnectionsPerPeerDefault = 512;
inline constexpr size_t kClientConnectionsMost = 1'000'000;
inline constexpr double kNewConnectionsPerSecond = 100;
inline constexpr double kNewConnectionsBurst = 200;
// Peers whose rate of new connections is remembered; the least recently used one is forgotten.
inline constexpr size_t kPeersRemembered = 65536;
// Until a client has sent its first settings, without a call, and altogether.
inline constexpr absl::Duration kHandshakeTimeout = absl::Seconds(10);
inline constexpr absl::Duration kConnectionIdleDefault = absl::Minutes(15);
inline constexpr absl::Duration kConnectionMaxAgeDefault = absl::Hours(1);
// How long the acceptor waits when the process has no descriptor left, how often it looks for
// connections that have ended, and how often it says so in the log.
inline constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);
inline constexpr absl::Duration kConnectionBeat = absl::Seconds(1);
inline constexpr absl::Duration kAcceptLogInterval = absl::Minutes(1);
// Descriptors beside those of connections and of the store.
inline constexpr size_t kOtherDescriptors = 256;
// Calls of one peer that are reset before their work begins, or end without their request, within
// kResetWindow, before its connections are closed.
inline constexpr size_t kResetsPerPeer = 1000;
inline constexpr absl::Duration kResetWindow = absl::Seconds(10);
// A request of the health service or of the reflection service.
inline constexpr size_t kProbeRequestBytes = 4 * kKiB;
// A worker that comes back from a disk waits for its turn for a core.
inline constexpr absl::Duration kResumeWaitMost = absl::Milliseconds(10);
// Tasks wait for a core and no worker makes progress for so long: liveness is NOT_SERVING. Many
// times what the largest call needs of a core, and less than a person waits.
inline constexpr absl::Duration kWorkerStallMost = absl::Seconds(30);
// How often the workers are looked at.
inline constexpr absl::Duration kWorkerBeat = absl::Seconds(1);
// Watches of the health service.
inline constexpr size_t kHealthWatches = 64;

// Streams. One whose client sends nothing for this long ends with DEADLINE, and so does one whose
// client reads nothing; while it is idle it holds no more than this of the memory budget.
inline constexpr absl::Duration kStreamIdleDefault = absl::Minutes(2);
inline constexpr absl::Duration kStreamWriteTimeoutDefault = absl::Seconds(30);
inline constexpr size_t kIdleStreamBytes = 64 * kKiB;

// Watches. A watcher holds one page while it is written, and nothing while it waits.
inline constexpr uint32_t kWatchPageItems = 64;
inline constexpr size_t kWatchPageBytes = 64 * kKiB;
inline constexpr size_t kWatchersDefault = 10'000;
inline constexpr size_t kWatchersMost = 1'000'000;
inline constexpr absl::Duration kWatchProgressDefault = absl::Seconds(30);
inline constexpr absl::Duration kWatchWriteTimeoutDefault = absl::Seconds(30);
// Sessions that one answer of WaitForEvents names; of more it says that it may be any.
inline constexpr size_t kWakeupsMost = 256;
// After which a watch that the server ended is worth starting again.
inline constexpr absl::Duration kWatchRetry = absl::Milliseconds(500);
// How often the server checks its watchers, and how many of them read their events each time
// without a wake-up: a lost wake-up delays an event by that much and loses none.
inline constexpr absl::Duration kWatchBeat = absl::Seconds(1);
inline constexpr size_t kWatchPollsPerBeat = 64;

// Leases.
inline constexpr absl::Duration kLeaseTtlLeast = absl::Seconds(5);
inline constexpr absl::Duration kLeaseTtlMost = absl::Hours(1);
inline constexpr absl::Duration kLeaseTtlDefault = absl::Seconds(60);

// Cancelling: how long a turn with a cancel request may still end by itself, and how often the
// server looks for such sessions.
inline constexpr absl::Duration kCancelGraceDefault = absl::Seconds(10);
inline constexpr absl::Duration kCancelSweepInterval = absl::Seconds(5);

// Calls that wait for a turn or a lease to end: how long at most, how often each checks that its
// caller still waits, and at every which of these checks it asks the store, for what ended on
// another server or by time.
inline constexpr absl::Duration kWaitMost = absl::Seconds(30);
inline constexpr absl::Duration kWaitBeat = absl::Milliseconds(100);
inline constexpr int kWaitBeatsPerLook = 10;

// Retention.
inline constexpr size_t kSnapshotsKeptDefault = 10;
inline constexpr size_t kSnapshotsKeptMost = 64;
// Earlier histories whose messages a restored one begins with.
inline constexpr size_t kHistorySpans = 64;
inline constexpr absl::Duration kRequestsKept = absl::Hours(24);
inline constexpr absl::Duration kEventsKeptDefault = absl::Hours(24 * 7);
inline constexpr uint64_t kEventsKeptLeast = 1000;
inline constexpr size_t kGrantsKept = 256;
// Ended turns whose last entry number is remembered; more only pile up when turns are abandoned in
// a row.
inline constexpr size_t kEndedTurnsKept = 64;

// A lost race is retried this often where the client gave no expected revision.
inline constexpr int kRaceRetries = 8;
// The same of restores, which several writers of one session may make at once.
inline constexpr int kRestoreRetries = 64;
// A commit of one turn that failed this often on one server is SNAPSHOT_FAILED.
inline constexpr int kSnapshotFailures = 3;
// Heads that one cache holds at most (the domain has one, and a store in a database another), and
// the commit failures that are counted.
inline constexpr size_t kCachedHeads = 16384;
inline constexpr size_t kCachedHeadBytes = 64 * kMiB;
// Calls that wait for a session without progress for 1 s to 2 s; leases whose end a store tracks.
inline constexpr size_t kWaitersPerSession = 8;
inline constexpr size_t kLeaseRows = 65536;
// Candidates that one sweep takes up.
inline constexpr size_t kSweepCandidates = 1000;

// Deadlines.
inline constexpr absl::Duration kDefaultDeadline = absl::Seconds(30);

// Admission. A request's bytes count this many times against the memory budget, which is what a
// parsed message may take at worst; one queued call waits for one of the workers.
inline constexpr size_t kParsedBytesPerWireByte = 100;
// What a message of no bytes may take.
inline constexpr size_t kParsedBytesLeast = 16 * kKiB;
inline constexpr size_t kMemoryBudgetDefault = 4096 * kMiB;
inline constexpr size_t kQueuedCallsDefault = 1024;
inline constexpr size_t kWorkersMost = 1024;
// Deliveries to watchers run on workers of their own queue: at most one in this many workers.
inline constexpr size_t kWorkersPerDelivery = 4;
// Lines of the log that wait for their writer; more are dropped and counted.
inline constexpr size_t kLogLinesQueued = 10'000;
inline constexpr size_t kLogLineBytes = 16 * kKiB;
// Spans of traces that wait for their export; more are dropped and counted. One export is under way
// at a time; a batch that is not full waits this long for more. One that was not taken is sent
// again after a pause that doubles, until it is given up. A stop waits for the last ones as long as
// it may drain, within these bounds.
inline constexpr size_t kSpansQueued = 4096;
inline constexpr size_t kSpansPerExport = 512;
inline constexpr absl::Duration kSpanExportDelay = absl::Seconds(1);
inline constexpr absl::Duration kSpanExportTimeout = absl::Seconds(10);
inline constexpr absl::Duration kSpanRetryFirst = absl::Seconds(1);
inline constexpr absl::Duration kSpanRetryMost = absl::Seconds(16);
inline constexpr absl::Duration kSpanRetryGiveUp = absl::Seconds(60);
inline constexpr absl::Duration kSpanFlushLeast = absl::Seconds(1);
inline constexpr absl::Duration kSpanFlushMost = absl::Seconds(5);
// Calls that are recorded within a second.
inline constexpr size_t kSampledRootsDefault = 100;
inline constexpr size_t kSampledRootsMost = 10'000;
// The header tracestate of a call; one that is larger is ignored.
inline constexpr size_t kTraceStateBytes = 512;
inline constexpr size_t kTraceStateMembers = 32;
// telemetry.resource_attributes, and its text.
inline constexpr size_t kResourceAttributes = 64;
inline constexpr size_t kResourceAttributesBytes = 4 * kKiB;
// A check of the store serves every caller for this long.
inline constexpr absl::Duration kStoreCheckShared = absl::Seconds(10);

// Connections to a database.
inline constexpr size_t kConnectionsLeast = 2;
inline constexpr size_t kConnectionsDefault = 8;
inline constexpr size_t kConnectionsMost = 256;
// Changes of several sessions that are written to a database in one statement, at most.
inline constexpr size_t kGroupMost = 64;
// After which an overloaded server is worth another try.
inline constexpr absl::Duration kOverloadRetry = absl::Milliseconds(100);
// After which a store without space is worth another try: an operator makes room.
inline constexpr absl::Duration kStorageFullRetry = absl::Minutes(1);
// Secrets that must not be stored. One that is shorter would be found in innocent words; a pattern
// is looked for across the borders of chunks in a window of the longest secret.
inline constexpr size_t kSecretBytesLeast = 8;
inline constexpr size_t kSecretBytesMost = 4 * kKiB;
inline constexpr size_t kKnownSecretsMost = 64;
inline constexpr size_t kSecretPatternsMost = 64;
inline constexpr size_t kSecretPatternBytes = 1 * kKiB;
// Places that a refusal names, and how deep in JSON a reference to a secret is looked for.
inline constexpr size_t kSecretPlacesShown = 16;
inline constexpr size_t kReferenceDepth = 512;
// What one fact or message of a refusal may take of the trailer, which clients bound to 8 KiB.
inline constexpr size_t kRefusalTextBytes = 256;
// A configuration file.
inline constexpr size_t kConfigBytes = kMiB;

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_LIMITS_H_
