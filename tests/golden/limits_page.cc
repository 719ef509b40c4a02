#include "tests/golden/limits_page.h"

#include "server/config.h"
#include "server/config_limits.h"
#include "server/log.h"
#include "server/log_writer.h"
#include "server/rpc/call/commit_batcher.h"
#include "server/rpc/reflection_service.h"
#include "session/limits.h"
#include "store-fs/bounds.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include <cstdint>

namespace holdfast::test {
namespace {

struct Limit {
  const char* name;  // of the constant
  std::string value;
  const char* of;      // what is bounded
  const char* met_by;  // client: a caller; operator: by configuration or in reports; server: no one
  const char* answer;  // the reason, or what happens; empty where it is only a size
  const char* key = "";  // of the configuration
};

struct Group {
  const char* title;
  std::vector<Limit> limits;
};

std::string Count(double value) { return absl::StrCat(value); }
std::string Count(uint64_t value) { return absl::StrCat(value); }
std::string Count(int value) { return absl::StrCat(value); }
std::string Count(int64_t value) { return absl::StrCat(value); }
std::string Count(uint32_t value) { return absl::StrCat(value); }

std::string Bytes(uint64_t value) {
  constexpr uint64_t kGiB = 1024 * kMiB;
  if (value % kGiB == 0) return absl::StrCat(value / kGiB, " GiB");
  if (value % kMiB == 0) return absl::StrCat(value / kMiB, " MiB");
  if (value % kKiB == 0) return absl::StrCat(value / kKiB, " KiB");
  return absl::StrCat(value, " B");
}

std::string Time(absl::Duration value) { return absl::FormatDuration(value); }

Group IdsAndTexts() {
  return {
      "Ids and texts",
      {{"kTenantIdBytes", Bytes(kTenantIdBytes), "a tenant's name", "client", "INVALID_FIELD"},
       {"kSessionIdBytes", Bytes(kSessionIdBytes), "a session's id", "client", "INVALID_FIELD"},
       {"kProjectRootBytes", Bytes(kProjectRootBytes), "the path of a project", "client",
        "TOO_LARGE"},
       {"kGroupBytes", Bytes(kGroupBytes), "the group of a session", "client", "TOO_LARGE"},
       {"kHolderBytes", Bytes(kHolderBytes), "the label of a lease's holder", "client",
        "TOO_LARGE"},
       {"kReasonTextBytes", Bytes(kReasonTextBytes), "the reason of a forced resume", "client",
        "TOO_LARGE"},
       {"kSlotOwnerBytes", Bytes(kSlotOwnerBytes), "the owner of a slot", "client", "TOO_LARGE"},
       {"kSlotVersionBytes", Bytes(kSlotVersionBytes), "the version of a slot", "client",
        "TOO_LARGE"},
       {"kRoleBytes", Bytes(kRoleBytes), "the role of a message", "client", "TOO_LARGE"},
       {"kContentTypeBytes", Bytes(kContentTypeBytes), "the content type of a message", "client",
        "TOO_LARGE"},
       {"kEntryRefBytes", Bytes(kEntryRefBytes), "the reference of a journal entry", "client",
        "TOO_LARGE"},
       {"kAttributeKeyBytes", Bytes(kAttributeKeyBytes), "the key of an attribute", "client",
        "TOO_LARGE"},
       {"kAttributeValueBytes", Bytes(kAttributeValueBytes), "the value of an attribute", "client",
        "TOO_LARGE"},
       {"kCancelNameBytes", Bytes(kCancelNameBytes), "the stage or tool of a cancellation request",
        "client", "TOO_LARGE"},
       {"kAuditClassBytes", Bytes(kAuditClassBytes), "the class of an audit record", "client",
        "TOO_LARGE"},
       {"kAuditCodeBytes", Bytes(kAuditCodeBytes), "the code of an audit record", "client",
        "TOO_LARGE"},
       {"kCorrelationIdBytes", Bytes(kCorrelationIdBytes), "a correlation id", "client",
        "TOO_LARGE"},
       {"kAuditKeyBytes", Bytes(kAuditKeyBytes), "the key of a fact in an audit record", "client",
        "TOO_LARGE"},
       {"kAuditValueBytes", Bytes(kAuditValueBytes), "the value of a fact in an audit record",
        "client", "what is more is cut, and counted in another fact"},
       {"kItemCollectionBytes", Bytes(kItemCollectionBytes), "the name of a collection of items",
        "client", "TOO_LARGE"},
       {"kItemKeyBytes", Bytes(kItemKeyBytes), "the key of an item", "client", "TOO_LARGE"},
       {"kItemLabelNameBytes", Bytes(kItemLabelNameBytes), "the name of an item's label", "client",
        "TOO_LARGE"},
       {"kItemLabelValueBytes", Bytes(kItemLabelValueBytes), "the text of an item's label",
        "client", "TOO_LARGE"},
       {"kCheckpointNameBytes", Bytes(kCheckpointNameBytes), "the name of a checkpoint", "client",
        "TOO_LARGE"},
       {"kTokenBytes", Bytes(kTokenBytes), "a lease token, cursor or page token", "client",
        "INVALID_FIELD"}}};
}

Group CountsInA() {
  return {
      "Counts in a request and in a session",
      {{"kMessagesPerChange", Count(kMessagesPerChange), "messages of one request", "client",
        "TOO_LARGE"},
       {"kSlotsPerChange", Count(kSlotsPerChange), "slots of one request", "client", "TOO_LARGE"},
       {"kEntriesPerChange", Count(kEntriesPerChange), "journal entries of one request", "client",
        "TOO_LARGE"},
       {"kAttributesPerSession", Count(kAttributesPerSession), "attributes of one session",
        "client", "TOO_LARGE"},
       {"kAttributeBytesPerSession", Bytes(kAttributeBytesPerSession),
        "keys and values of one session's attributes together", "client", "TOO_LARGE"},
       {"kSlotsPerSession", Count(kSlotsPerSession), "slots of one session", "client", "TOO_LARGE"},
       {"kOwnersPerRead", Count(kOwnersPerRead), "owners that one read of slots names", "client",
        "TOO_LARGE"},
       {"kSlotsPerRow", Count(kSlotsPerRow),
        "owners whose slots a row of a listing brings, or one read of a batch", "client",
        "TOO_LARGE"},
       {"kSlotBytesInRow", Bytes(kSlotBytesInRow), "the data of one of them", "client",
        "none: `data_left_out` is set, and `size` says how large it is"},
       {"kSessionsPerBatch", Count(kSessionsPerBatch), "sessions that one call reads", "client",
        "TOO_LARGE"},
       {"kItemsPerBatchRead", Count(kItemsPerBatchRead), "items that it reads of each", "client",
        "TOO_LARGE"},
       {"kReturnedMessages", Count(kReturnedMessages), "removed messages that a restore returns",
        "client", "TOO_LARGE"},
       {"kReturnedBytes", Bytes(kReturnedBytes), "their data", "client",
        "none: the last ones that have room are returned"},
       {"kReturnedBytesStored", Bytes(kReturnedBytesStored),
        "their data in the reply to a repeat of the request", "client",
        "none: the last ones that have room are returned"},
       {"kHistorySpans", Count(kHistorySpans),
        "earlier histories whose messages a restored one begins with", "client",
        "none: the messages of the last ones are stored again; TOO_LARGE when they have no room in "
        "one change"},
       {"kCheckpointsPerSession", Count(kCheckpointsPerSession),
        "checkpoints of kind MANUAL of one session", "client", "TOO_LARGE"},
       {"kOwnCheckpointsKept", Count(kOwnCheckpointsKept),
        "checkpoints of each other kind of one session", "client",
        "none: the oldest goes when another one is added"},
       {"kSurvivedItems", Count(kSurvivedItems), "items that one compaction names", "client",
        "TOO_LARGE"},
       {"kAuditRecordsLookedAt", Count(kAuditRecordsLookedAt),
        "audit records that one page of a list of one class looks at", "client",
        "none: the page ends, and its token goes on"},
       {"kItemLabels", Count(kItemLabels), "labels of one item", "client", "TOO_LARGE"},
       {"kItemRefs", Count(kItemRefs), "references of one item", "client", "TOO_LARGE"},
       {"kItemPutsPerChange", Count(kItemPutsPerChange), "puts of one request", "client",
        "TOO_LARGE"},
       {"kItemDeletesPerChange", Count(kItemDeletesPerChange), "deletes of one request", "client",
        "TOO_LARGE"},
       {"kItemKeysPerRead", Count(kItemKeysPerRead), "keys that one read of items names", "client",
        "TOO_LARGE"},
       {"kItemsLookedAt", Count(kItemsLookedAt), "items that one read by labels looks at", "client",
        "none: the page ends, and its token goes on"},
       {"kSessionsPerItemPage", Count(kSessionsPerItemPage),
        "sessions that one read of a group's items reads", "client",
        "none: the page ends, and its token goes on"},
       {"kItemsWithAttached", Count(kItemsWithAttached),
        "items of a page that is no range, with those that are attached to each", "client",
        "none: the page ends, and its token goes on"},
       {"kItemsPerDelete", Count(kItemsPerDelete), "items that the deletes of one request find",
        "client", "TOO_LARGE"},
       {"kItemsPerSession", Count(kItemsPerSession), "items of one session", "client", "TOO_LARGE"},
       {"kItemBytesPerSession", Bytes(kItemBytesPerSession), "items of one session together",
        "client", "TOO_LARGE"},
       {"kLeasesPerRenewal", Count(kLeasesPerRenewal), "leases that one call renews", "client",
        "TOO_LARGE"},
       {"kRenewalCancelBytes", Bytes(kRenewalCancelBytes),
        "cancel requests in one reply to a renewal", "client",
        "none: `cancel_requests_omitted` is set"},
       {"kInformingCancelRequests", Count(kInformingCancelRequests),
        "cancellation requests of stages and tools in one turn", "client", "TOO_LARGE"},
       {"kAuditFacts", Count(kAuditFacts), "facts of one audit record", "client", "TOO_LARGE"},
       {"kAuditBytes", Bytes(kAuditBytes), "facts of one audit record together", "client",
        "TOO_LARGE"}}};
}

Group BytesOfRequests() {
  return {
      "Bytes of requests, changes and reads",
      {{"kUnaryRequestBytes", Bytes(kUnaryRequestBytes), "a request that is not a stream", "client",
        "TOO_LARGE"},
       {"kProcessBytes", Bytes(kProcessBytes),
        "what the process holds beside `limits.memory_budget`, and in a container together at most "
        "three quarters of its memory; at more, connections that sent most without a call "
        "(headers, requests that are not whole) are closed",
        "client", "a connection that broke"},
       {"kUnbegunLeast", Bytes(kUnbegunLeast),
        "of headers and requests that are not whole: a connection that sent less is not closed for "
        "it",
        "client", ""},
       {"kMemoryBeat", Time(kMemoryBeat), "how often the memory of the process is looked at",
        "server", ""},
       {"kMemoryBeatsOver", Count(kMemoryBeatsOver),
        "looks that find too much, one after the other, before every connection is closed",
        "client", "a connection that broke"},
       {"kTransportMessageBytes", Bytes(kTransportMessageBytes), "a message on the wire", "client",
        "RESOURCE_EXHAUSTED by gRPC, without details"},
       {"kMetadataBytes", Bytes(kMetadataBytes), "the metadata of a call", "client", "TOO_LARGE"},
       {"kChangeBytes", Bytes(kChangeBytes),
        "what one request adds to a session; more goes by stream", "client", "TOO_LARGE"},
       {"kEncodedChangeBytes", Bytes(kEncodedChangeBytes), "a change as it is written", "client",
        "TOO_LARGE"},
       {"kFramePayloadBytes", Bytes(kFramePayloadBytes), "the payload of one frame of a journal",
        "server", ""},
       {"kJournalFileBytes", Bytes(kJournalFileBytes),
        "a session's journal while it cannot be rotated", "client", "STORAGE_FULL"},
       {"kSnapshotBytes", Bytes(kSnapshotBytes), "what one streamed commit carries", "client",
        "TOO_LARGE"},
       {"kChunkBytes", Bytes(kChunkBytes), "one chunk of a streamed body", "client", "TOO_LARGE"},
       {"kReadResponseBytes", Bytes(kReadResponseBytes),
        "what one response of a streamed read is filled up to", "server", ""},
       {"kInlineBytes", Bytes(kInlineBytes), "messages and slots in the reply of a resume",
        "client", "`inline_omitted` in the reply"},
       {"kReadAtOnceBytes", Bytes(kReadAtOnceBytes), "slots that one read brings into memory",
        "client", "TOO_LARGE"},
       {"kRelatedItemBytes", Bytes(kRelatedItemBytes),
        "items that are read because they belong to those of a page", "client", "TOO_LARGE"},
       {"kResumeJournalEntries", Count(kResumeJournalEntries),
        "journal entries of an abandoned turn that a resume looks at", "client",
        "the recovery report says so"},
       {"kResumeJournalBytes", Bytes(kResumeJournalBytes), "the same in bytes", "client",
        "the recovery report says so"},
       {"kOpenToolUsesShown", Count(kOpenToolUsesShown),
        "open tool uses that a recovery report lists", "client", "the recovery report says so"},
       {"kReappearedShown", Count(kReappearedShown),
        "deleted sessions that are there again, in a check of the store", "operator", ""},
       {"kPageDefault", Count(kPageDefault), "items of a page when the request does not say",
        "client", ""},
       {"kPageMost", Count(kPageMost), "items of a page", "client", "none: the page has so many"},
       {"kPageBytes", Bytes(kPageBytes), "bytes of a page", "client", "the page ends"}}};
}

Group StreamedBodies() {
  return {
      "Streamed bodies",
      {{"kUploadsKept", Time(kUploadsKept), "an unfinished body, after its last chunk", "client",
        "the body is sent again"},
       {"kStagedBytesDefault", Bytes(kStagedBytesDefault), "unfinished bodies on the disk together",
        "client", "OVERLOADED", "limits.staged_bytes"},
       {"kStagedStepBytes", Bytes(kStagedStepBytes),
        "the steps in which a body reserves its share of them", "server", ""}}};
}

Group ConnectionsAndStreams() {
  return {
      "Connections and streams",
      {{"kCallsPerConnectionDefault", Count(kCallsPerConnectionDefault),
        "calls and streams open on one connection", "client", "the call waits in the client",
        "limits.calls_per_connection"},
       {"kCallsPerConnectionMost", Count(kCallsPerConnectionMost),
        "the most that can be configured", "operator", "refused at start"},
       {"kClientConnectionsDefault", Count(kClientConnectionsDefault), "connections open at once",
        "client", "the connection is closed", "server.connections"},
       {"kClientConnectionsPerPeerDefault", Count(kClientConnectionsPerPeerDefault),
        "connections of one peer: an IPv4 address, an IPv6 /64, or the socket file", "client",
        "the connection is closed", "server.connections_per_peer"},
       {"kClientConnectionsMost", Count(kClientConnectionsMost), "the most that can be configured",
        "operator", "refused at start"},
       {"kNewConnectionsPerSecond", Count(kNewConnectionsPerSecond),
        "new connections of one peer in a second", "client", "the connection is closed"},
       {"kNewConnectionsBurst", Count(kNewConnectionsBurst), "new connections of one peer at once",
        "client", "the connection is closed"},
       {"kPeersRemembered", Count(kPeersRemembered),
        "peers whose rate of new connections is known; the least recently used one is dropped",
        "server", ""},
       {"kHandshakeTimeout", Time(kHandshakeTimeout), "until a client has sent its first settings",
        "client", "the connection is closed"},
       {"kConnectionIdleDefault", Time(kConnectionIdleDefault), "a connection without a call",
        "client", "the connection is closed", "server.connection_idle"},
       {"kConnectionMaxAgeDefault", Time(kConnectionMaxAgeDefault), "a connection", "client",
        "the connection is closed once its calls have ended", "server.connection_max_age"},
       {"kAcceptPause", Time(kAcceptPause),
        "the pause of the acceptor when the process has no descriptor left", "server", ""},
       {"kConnectionBeat", Time(kConnectionBeat),
        "how often connections that have ended are looked for", "server", ""},
       {"kAcceptLogInterval", Time(kAcceptLogInterval), "one log line about missing descriptors",
        "operator", ""},
       {"kOtherDescriptors", Count(kOtherDescriptors),
        "descriptors beside those of connections and of the store", "operator", "refused at start"},
       {"kResetsPerPeer", Count(kResetsPerPeer),
        "calls of one peer that it resets before their work begins, or ends without their request",
        "client", "its connections are closed"},
       {"kResetWindow", Time(kResetWindow), "the time in which they are counted", "client", ""},
       {"kProbeRequestBytes", Bytes(kProbeRequestBytes),
        "a request of the health or the reflection service", "client", "TOO_LARGE"},
       {"kResumeWaitMost", Time(kResumeWaitMost),
        "how long a worker that comes back from a disk waits for a core, before it goes on all the "
        "same",
        "server", ""},
       {"kWorkerStallMost", Time(kWorkerStallMost),
        "calls that wait for a core while no worker makes progress, before the health service says "
        "NOT_SERVING of `liveness`",
        "server", ""},
       {"kWorkerBeat", Time(kWorkerBeat), "how often the workers are looked at", "server", ""},
       {"kHealthWatches", Count(kHealthWatches), "watches of the health service", "client",
        "OVERLOADED"},
       {"kStreamIdleDefault", Time(kStreamIdleDefault),
        "a stream whose client sends nothing; watches are exempt", "client", "DEADLINE",
        "limits.stream_idle"},
       {"kStreamWriteTimeoutDefault", Time(kStreamWriteTimeoutDefault),
        "a stream, or a reply, whose client reads nothing", "client", "DEADLINE",
        "limits.stream_write_timeout"},
       {"kIdleStreamBytes", Bytes(kIdleStreamBytes),
        "what an idle stream holds of the memory budget", "server", ""}}};
}

Group Watches() {
  return {
      "Watches",
      {{"kWatchersDefault", Count(kWatchersDefault), "watches at once", "client", "OVERLOADED",
        "limits.watchers"},
       {"kWatchersMost", Count(kWatchersMost), "the most that can be configured", "operator",
        "refused at start"},
       {"kWatchPageItems", Count(kWatchPageItems), "events of a page that is written to a watcher",
        "server", ""},
       {"kWatchPageBytes", Bytes(kWatchPageBytes), "bytes of such a page", "server", ""},
       {"kWatchProgressDefault", Time(kWatchProgressDefault),
        "after which a silent watch sends its progress", "client", "", "limits.watch_progress"},
       {"kWatchWriteTimeoutDefault", Time(kWatchWriteTimeoutDefault),
        "a watcher that takes no message", "client", "WATCH_ENDED", "limits.watch_write_timeout"},
       {"kWatchRetry", Time(kWatchRetry), "RetryInfo of a watch that the server ended", "client",
        ""},
       {"kWakeupsMost", Count(kWakeupsMost), "sessions that one wake-up names", "server", ""},
       {"kWatchBeat", Time(kWatchBeat), "how often watchers are looked after", "server", ""},
       {"kWatchPollsPerBeat", Count(kWatchPollsPerBeat),
        "watchers that look at their events then without a wake-up", "server", ""}}};
}

Group LeasesCancellingAnd() {
  return {"Leases, cancelling and closing",
          {{"kLeaseTtlLeast", Time(kLeaseTtlLeast), "the shortest time of a lease", "client",
            "INVALID_FIELD"},
           {"kLeaseTtlMost", Time(kLeaseTtlMost), "the longest", "client", "INVALID_FIELD"},
           {"kLeaseTtlDefault", Time(kLeaseTtlDefault),
            "a lease's time when the request does not say", "client", ""},
           {"kCancelGraceDefault", Time(kCancelGraceDefault), "a cancelled turn", "client",
            "the turn is abandoned", "recovery.cancel_grace"},
           {"kCancelSweepInterval", Time(kCancelSweepInterval),
            "how often cancelled sessions are looked at", "server", ""},
           {"kWaitMost", Time(kWaitMost),
            "how long a close waits for the active turn, a resume for a lease", "client",
            "INVALID_FIELD"},
           {"kWaitBeat", Time(kWaitBeat),
            "how often such a call checks that its caller still waits", "server", ""},
           {"kWaitBeatsPerLook", Count(kWaitBeatsPerLook),
            "every which of these checks asks the store", "server", ""}}};
}

Group Retention() {
  return {"Retention",
          {{"kSnapshotsKeptDefault", Count(kSnapshotsKeptDefault), "snapshots of a session",
            "client", "REVISION_PRUNED", "retention.snapshots"},
           {"kSnapshotsKeptMost", Count(kSnapshotsKeptMost), "the most of them", "operator",
            "the configuration is refused", "retention.snapshots"},
           {"kRequestsKept", Time(kRequestsKept), "replies by request id", "client",
            "the request may act again"},
           {"kEventsKeptDefault", Time(kEventsKeptDefault), "events", "client", "EVENTS_COMPACTED",
            "retention.events"},
           {"kEventsKeptShortest", Time(kEventsKeptShortest), "the shortest of them", "operator",
            "the configuration is refused", "retention.events"},
           {"kEventsKeptLongest", Time(kEventsKeptLongest), "the longest", "operator",
            "the configuration is refused", "retention.events"},
           {"kEventsKeptLeast", Count(kEventsKeptLeast),
            "events of a session that are kept however old they are", "client", ""},
           {"kGrantsKept", Count(kGrantsKept), "grants of a session that are remembered", "client",
            "GetRequestOutcome says not known"},
           {"kEndedTurnsKept", Count(kEndedTurnsKept),
            "ended turns whose last journal entry is remembered", "client", "STALE_TURN"}}};
}

Group WorkOfThe() {
  return {
      "Work of the server",
      {{"kDefaultDeadline", Time(kDefaultDeadline), "a call without a deadline of its own",
        "client", "DEADLINE"},
       {"kMemoryBudgetDefault", Bytes(kMemoryBudgetDefault),
        "requests of running and waiting calls; in a container at most half of its memory",
        "client", "OVERLOADED", "limits.memory_budget"},
       {"kParsedBytesPerWireByte", Count(kParsedBytesPerWireByte),
        "bytes in memory that one on the wire may become", "server", ""},
       {"kParsedBytesLeast", Bytes(kParsedBytesLeast), "what the smallest request may take",
        "server", ""},
       {"kQueuedCallsDefault", Count(kQueuedCallsDefault), "calls that wait for a worker", "client",
        "OVERLOADED", "limits.queued_calls"},
       {"kWorkersMost", Count(kWorkersMost), "workers that can be configured", "operator",
        "refused at start"},
       {"kWorkersPerDelivery", Count(kWorkersPerDelivery),
        "workers for each one that may deliver to watchers", "server", ""},
       {"kWaitersPerSession", Count(kWaitersPerSession),
        "calls that wait for one session; applies once it has made no progress for 2 s (files) or "
        "1 s (PostgreSQL)",
        "client", "OVERLOADED"},
       {"kOverloadRetry", Time(kOverloadRetry),
        "RetryInfo of OVERLOADED; the trailer for gRPC's retries has up to twice as long", "client",
        ""},
       {"kStorageFullRetry", Time(kStorageFullRetry), "RetryInfo of STORAGE_FULL", "client", ""},
       {"kRaceRetries", Count(kRaceRetries), "tries of a change that lost a race", "client",
        "STORE_UNAVAILABLE"},
       {"kRestoreRetries", Count(kRestoreRetries), "tries of a restore that lost a race", "client",
        "STORE_UNAVAILABLE"},
       {"kSnapshotFailures", Count(kSnapshotFailures), "failed commits of one turn on one server",
        "client", "SNAPSHOT_FAILED"},
       {"kCachedHeads", Count(kCachedHeads), "heads of sessions in memory", "server", ""},
       {"kCachedHeadBytes", Bytes(kCachedHeadBytes), "the same in bytes", "server", ""},
       {"kLeaseRows", Count(kLeaseRows), "leases whose end a store of files remembers", "server",
        ""},
       {"kSweepCandidates", Count(kSweepCandidates), "sessions that one sweep takes up", "server",
        ""},
       {"kStoreCheckShared", Time(kStoreCheckShared),
        "a check of the store serves every caller for so long", "operator", ""},
       {"kLogLinesQueued", Count(kLogLinesQueued), "lines of the log that wait to be written",
        "operator", "the line is dropped and counted"},
       {"kLogLineBytes", Bytes(kLogLineBytes), "a line of the log", "operator",
        "the line is cut"}}};
}

Group TracesOfCalls() {
  return {"Traces",
          {{"kSampledRootsDefault", Count(kSampledRootsDefault), "calls recorded in a second",
            "operator", "not recorded and counted", "telemetry.sampled_roots_per_second"},
           {"kSampledRootsMost", Count(kSampledRootsMost), "the most that can be configured",
            "operator", "refused at start"},
           {"kTraceStateBytes", Bytes(kTraceStateBytes), "the header `tracestate` of a call",
            "client", "ignored"},
           {"kTraceStateMembers", Count(kTraceStateMembers), "members of it", "client", "ignored"},
           {"kResourceAttributes", Count(kResourceAttributes),
            "attributes in `telemetry.resource_attributes`", "operator", "refused at start"},
           {"kResourceAttributesBytes", Bytes(kResourceAttributesBytes), "its text", "operator",
            "refused at start"},
           {"kSpansQueued", Count(kSpansQueued), "spans that wait for their export", "operator",
            "the span is dropped and counted"},
           {"kSpansPerExport", Count(kSpansPerExport), "spans of one export", "server", ""},
           {"kSpanExportDelay", Time(kSpanExportDelay),
            "how long an export waits to be filled up to that", "server", ""},
           {"kSpanExportTimeout", Time(kSpanExportTimeout), "one try of an export", "operator",
            "tried again"},
           {"kSpanRetryFirst", Time(kSpanRetryFirst), "the first pause before it is tried again",
            "server", ""},
           {"kSpanRetryMost", Time(kSpanRetryMost), "the longest, unless the receiver says more",
            "server", ""},
           {"kSpanRetryGiveUp", Time(kSpanRetryGiveUp), "all tries of an export", "operator",
            "its spans are dropped and counted"},
           {"kSpanFlushLeast", Time(kSpanFlushLeast),
            "what a stop waits for the last exports where `server.drain_timeout` has passed",
            "operator", "the rest is dropped and counted"},
           {"kSpanFlushMost", Time(kSpanFlushMost), "the same at most", "operator", ""}}};
}

Group ConnectionsToA() {
  return {"Connections to a database",
          {{"kConnectionsLeast", Count(kConnectionsLeast), "the fewest that can be configured",
            "operator", "refused at start"},
           {"kConnectionsDefault", Count(kConnectionsDefault), "connections for calls", "operator",
            "", "stores[].connections"},
           {"kConnectionsMost", Count(kConnectionsMost), "the most that can be configured",
            "operator", "refused at start"},
           {"kGroupMost", Count(kGroupMost), "changes in one statement", "operator",
            "refused at start", "stores[].group"}}};
}

Group SecretsRefusalsAnd() {
  return {
      "Secrets, refusals and the configuration",
      {{"kSecretBytesLeast", Bytes(kSecretBytesLeast), "the shortest secret that is looked for",
        "operator", "refused at start"},
       {"kSecretBytesMost", Bytes(kSecretBytesMost), "the longest", "operator", "refused at start"},
       {"kKnownSecretsMost", Count(kKnownSecretsMost), "known secrets", "operator",
        "refused at start"},
       {"kSecretPatternsMost", Count(kSecretPatternsMost), "patterns of secrets", "operator",
        "refused at start"},
       {"kSecretPatternBytes", Bytes(kSecretPatternBytes), "a pattern", "operator",
        "refused at start"},
       {"kSecretPlacesShown", Count(kSecretPlacesShown), "places that SECRET_LEAK names", "client",
        ""},
       {"kReferenceDepth", Count(kReferenceDepth),
        "depth of JSON in which references to secrets are looked for", "client",
        "MALFORMED_SECRET_REFERENCE"},
       {"kRefusalTextBytes", Bytes(kRefusalTextBytes), "a fact or message of a refusal", "client",
        "the text is cut"},
       {"kConfigBytes", Bytes(kConfigBytes), "a configuration file", "operator",
        "refused at start"}}};
}

Group PartsOfTheServer() {
  return {
      "Parts of the server",
      {{"kReflectionStreams", Count(kReflectionStreams), "streams of the reflection service",
        "client", "OVERLOADED"},
       {"kBatchedCalls", Count(kBatchedCalls), "calls that are committed together", "server", ""},
       {"kBatchedRequestBytes", Bytes(kBatchedRequestBytes),
        "a request that is committed with others; a larger one has a worker", "server", ""},
       {"kRefusedLinesPerSecond", Count(kRefusedLinesPerSecond),
        "lines in a second about refused calls of one method for one reason", "operator",
        "counted, and a line says how many"},
       {"kLogQueueBytes", Bytes(kLogQueueBytes), "lines of the log that wait, together", "operator",
        "the line is dropped and counted"},
       {"kLogFlushMost", Time(kLogFlushMost), "what an orderly end waits for its last lines",
        "operator", "the rest is lost"},
       {"kAbortFlushMost", Time(kAbortFlushMost), "the same before an abort", "operator",
        "the rest is lost"}}};
}

Group FilesOfAStore() {
  return {
      "Files of a store",
      {{"kHeadFileBytes", Bytes(fs::kHeadFileBytes), "the head of a session", "server",
        "the journal is not rotated and grows up to `kJournalFileBytes`"},
       {"kIndexFileBytes", Bytes(fs::kIndexFileBytes), "the index of all sessions", "server",
        "not written: the next start reads each session"},
       {"kManifestFileBytes", Bytes(fs::kManifestFileBytes), "`manifest.json` of a session",
        "client", "TOO_LARGE"},
       {"kWriteAheadFileBytes", Bytes(fs::kWriteAheadFileBytes),
        "each of the two files of the write-ahead log", "server",
        "the other file is used once its journals are synced; commits wait for that"},
       {"kIndexKeyBytes", Bytes(fs::kIndexKeyBytes), "a key in the sorted index of a session",
        "server", ""},
       {"kIndexValueBytes", Bytes(fs::kIndexValueBytes), "the value of such a key", "server", ""},
       {"kItemFactsInlineBytes", Bytes(fs::kItemFactsInlineBytes),
        "the facts of an item (labels, type, references), in that index", "server",
        "it is read from where the data is"},
       {"kRunBlockBytes", Bytes(fs::kRunBlockBytes), "a block of a run of that index", "server",
        "the next entry begins another block"},
       {"kRunBlocks", Count(fs::kRunBlocks), "blocks of a run", "server",
        "larger runs are not merged"},
       {"kRunFilterBytes", Bytes(fs::kRunFilterBytes), "the Bloom filter of a run", "server",
        "with more keys it excludes fewer reads"},
       {"kRunDirectoryBytes", Bytes(fs::kRunDirectoryBytes),
        "the directory of a run, with the filter", "server", "the run is not written"},
       {"kRunsPerSpace", Count(fs::kRunsPerSpace), "runs of one kind of records", "server",
        "further entries stay in the head of the session"},
       {"kInlineEntryBytes", Bytes(fs::kInlineEntryBytes),
        "entries of the index in the head of a session", "server",
        "the next rotation writes them as a run"},
       {"kRootFileBytes", Bytes(fs::kRootFileBytes), "the file that names the store", "operator",
        "refused at start"},
       {"kPayloadHeadBytes", Bytes(fs::kPayloadHeadBytes),
        "what a frame of a journal has beside its changes", "server", ""}}};
}

Group ValuesOfTheConfiguration() {
  const Config config = DefaultConfig({.state_home = "/"});
  return {"Values of the configuration",
          {{"kQueuedCallsMost", Count(kQueuedCallsMost), "`limits.queued_calls` at most",
            "operator", "refused at start"},
           {"kMemoryBudgetLeast", Bytes(kMemoryBudgetLeast), "`limits.memory_budget` at least",
            "operator", "refused at start"},
           {"kConnectionLifeMost", Time(kConnectionLifeMost),
            "`server.connection_max_age` and `server.connection_idle` at most", "operator",
            "refused at start"},
           {"kDrainTimeoutMost", Time(kDrainTimeoutMost), "`server.drain_timeout` at most",
            "operator", "refused at start"},
           {"kSyncIntervalMost", Time(kSyncIntervalMost), "`stores[].interval` at most", "operator",
            "refused at start"},
           {"server.workers", Count(config.server.workers), "threads that run calls, by default",
            "server", ""},
           {"server.drain_timeout", Time(config.server.drain_timeout),
            "what running calls may take after SIGTERM, by default", "client",
            "the call is cut off, its outcome is not known"},
           {"recovery.sweep_interval", Time(config.recovery.sweep_interval),
            "how often sessions without a holder are looked for, by default", "server", ""},
           {"recovery.abandon_after", Time(config.recovery.abandon_after),
            "a session without a holder on which nothing happens, by default", "client",
            "it is closed"}}};
}

std::vector<Group> Groups() {
  return {IdsAndTexts(),
          CountsInA(),
          BytesOfRequests(),
          StreamedBodies(),
          ConnectionsAndStreams(),
          Watches(),
          LeasesCancellingAnd(),
          Retention(),
          WorkOfThe(),
          TracesOfCalls(),
          ConnectionsToA(),
          SecretsRefusalsAnd(),
          PartsOfTheServer(),
          FilesOfAStore(),
          ValuesOfTheConfiguration()};
}

}  // namespace

std::string LimitsPage() {
  std::string page =
      "# Limits\n\nEvery bound of the service by name. This page is made from the constants of "
      "`session/limits.h`, "
      "`server/config_limits.h` and some of their parts, and from the defaults of the "
      "configuration; `golden.Golden.LimitsPage` keeps it true.\n\n"
      "Who meets a limit: a *client*, in the answer to a call; an *operator*, in the "
      "configuration, "
      "the log or a report; or only the *server* itself, which sizes its work by it. A refusal is "
      "one "
      "of the reasons of [api-reference.md](api-reference.md#reasons) and names `field`, `limit` "
      "and `got` where there are such.\n";
  for (const Group& group : Groups()) {
    absl::StrAppend(&page, "\n## ", group.title,
                    "\n\n| limit | value | of | met by | answer |\n|---|---|---|---|---|\n");
    for (const Limit& limit : group.limits) {
      const std::string key =
          *limit.key == 0 ? "" : absl::StrCat("; `", limit.key, "`, this is its default");
      absl::StrAppend(&page, "| `", limit.name, "` | ", limit.value, " | ", limit.of, key, " | ",
                      limit.met_by, " | ", limit.answer, " |\n");
    }
  }
  return page;
}

std::vector<std::string> FilesOfLimits() {
  return {"session/limits.h",
          "server/config_limits.h",
          "server/log.h",
          "server/log_writer.h",
          "store-fs/bounds.h",
          "server/rpc/call/commit_batcher.h",
          "server/rpc/reflection_service.h"};
}

std::vector<std::string> LimitsOnPage() {
  std::vector<std::string> names;
  for (const Group& group : Groups()) {
    for (const Limit& limit : group.limits) names.emplace_back(limit.name);
  }
  return names;
}

}  // namespace holdfast::test
