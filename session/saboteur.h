// Test-only switches, each of which breaks one guarantee in one place: a test that guards it must
// then fail. A release build has none of them, and nothing to switch them on with.
#ifndef HOLDFAST_SESSION_SABOTEUR_H_
#define HOLDFAST_SESSION_SABOTEUR_H_

#include <cstdint>

namespace holdfast {

enum class Saboteur : uint8_t {
  kNone,
  kNoFileSync,             // a commit is not synced
  kNoJournalSync,          // the log is begun anew before the journals that it covers are synced
  kNoDirectorySync,        // the name of a new session is not synced
  kNoEpochCheck,           // an overtaken token may write
  kNoRequestCheck,         // a repeated request acts again
  kAcknowledgeBeforeSync,  // the sync of a commit waits for the next one
  kNoLock,                 // a count is read without its lock: for ThreadSanitizer to find
  kRefuseFromCache,        // an old head in the server's memory refuses
  kSkipEvent,              // a watch leaves an event out
  kNoVersionCheck,         // a change is written over whatever another server has left
  kNoReplyFlush,           // an answer is made of a stored reply before that is flushed once more
  kBelieveCancelledWait,   // a wait for the standby that was cut short counts as one that ended
  kNoTimelineCheck,        // a server of an older history is taken for the store
  kLeaseByOwnClock,        // a lease ends by the server's own clock
  kWaitForLockedRow,       // a group waits for a row that another transaction has locked
  kNoBounds,               // a session grows beyond what it may hold
  kNoFrameBound,           // a frame is written that no reader would take
  kNoWatermarks,           // what was acknowledged before is not remembered
  kNoWireCounts,           // elements are counted once they have been parsed
  kNoConnectionLimit,      // every connection is taken
  kNoResetLimit,           // calls that are reset are not counted
  kNoWaiterBound,          // every caller of a session that does not move on waits
  kNoSharedReads,          // each watcher reads for itself
  kSweepFromStart,         // a sweep begins with the candidates of the last one
  kRequestIdInEvents,      // a grant's request id is its correlation id
  kEndTransportFirst,      // a stop does not wait for the calls that are on their way
  kWallClockRetention,     // what is kept for a day is kept by the clock for people
  kNoStreamLimits,         // a silent stream stays open
  kHoldWholeShare,         // an idle stream holds more than it may
  kReserveAnnounced,       // an upload reserves what it has announced
  kNoLogBound,             // lines of the log wait without a bound
  kBelieveIncompleteListing,  // a listing that is not complete counts as one that is
  kNoCacheBytes,              // a cache is bounded by its entries alone
  kShortageIsFailure,         // a lack of descriptors counts as a failure of the disk
  kNoRotationBackoff,         // a rotation that found no space is tried with every change
  kLoseFailedPrunes,          // a prune that failed is not looked for again
  kLoseOverflow,              // sessions with events that are too many to name are not named at all
  kDropErrorsToo,             // a full log drops errors as it drops other lines
  kEndThrowingWorker,         // a worker ends with the task that threw
  kResumeImmediately,         // workers that come back from a disk do not wait for a core
  kForgetDoubt,               // a call forgets that an attempt of it may have acted
  kNoConnectionLife,          // connections may stay silent, idle or open for ever
  kNoProbeBounds,             // watches and requests of health and reflection have no bound
  kNoRenewalBound,            // a reply to a renewal carries every cancel request
  kNoLeaseRowBound,           // the table of leases keeps every row
  kNoSharedCheck,             // each caller's check of the store asks the store
  kNoQueueBound,              // the workers' queue takes every call
  kInflate,                   // a compressed message is inflated
  kForgetReplies,             // a reply that waits for its reader counts as no memory
  kNoPeerBound,               // every peer's rate of connections is remembered
  kNoResumeBound,             // a resume reads all of an abandoned turn's journal
  kNoPageBytes,               // a page of a listing is bounded by its rows alone
  kNoKeptBound,               // a head keeps every grant, ended turn and snapshot
  kNoFactBound,               // a refusal repeats a fact of any length
  kNoWatcherLimit,            // every watch is taken
  kNoMissingRequests,         // a call without its request is served as one with an empty one
  kNoMemoryGuard,             // nothing looks at the memory of the process
  kNoWorkerWatch,             // workers count as making progress whatever they do
  kNoTraceCap,                // every call whose caller says so is recorded
  kStopAtShortage,            // the acceptor ends with the first lack of descriptors
  kNoSuspension,              // a peer that was disconnected may come back at once
  kReadAfterShutdown,         // what a closed connection had received is still read
  kNoReflectionLimit,         // every stream of the reflection service is served
  kNoDeliveryBound,           // watchers may take every worker
  kNoJournalBound,            // a journal that cannot be rotated grows without end
  kSecretsFirst,              // a command over a limit is searched for secrets
  kKeepOlderHead,             // a cached head stays as long as its revision is the higher one
  kLostIdFailsAll,            // one request id that cannot be read fails every repeat
  kWakeByPool,                // a stop wakes callers only where the workers' queue has room
  kForgottenTurnIsEmpty,      // a turn that the head no longer remembers has no journal
  kOpenSocketFile,            // other users may connect to the socket file
  kShowMemory,                // the process may be dumped and traced
  kTrustDatabase,             // a database on another machine need not prove its identity
  kNeedSpaceToStart,          // a store whose disk is full is not opened
  kRepeatUnderNewEpoch,       // a repeated reply names the lease's epoch, not that of its turn
  kServeAnywhere,             // a build with these switches serves other machines
  kOneStepBehind,  // the program knows the schema but for its newest step, as the one before
};

// The one that $HOLDFAST_SABOTEUR names ("no_file_sync"), read once. Ends the process when there is
// none of that name: a test must not stay green for a misspelt switch. Any thread may call.
Saboteur ActiveSaboteur();

inline bool Sabotaged(Saboteur by) { return ActiveSaboteur() == by; }

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_SABOTEUR_H_
