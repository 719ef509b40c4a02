// The use cases. Each one loads a head, decides by a pure function and hands a change to the store.
//
//   Sessions sessions(store, SystemRandom());
//   ASSIGN_OR_RETURN(MutationResult result, sessions.CommitTurn(caller, command));
//
// Any thread may call; calls block as the store does. Every error is a Refusal of the closed list,
// and a refused call has changed nothing unless the refusal says that the outcome is unknown.
#ifndef HOLDFAST_SESSION_SESSIONS_H_
#define HOLDFAST_SESSION_SESSIONS_H_

#include "platform/clock.h"
#include "session/checkpoint.h"
#include "session/commands.h"
#include "session/commit_failures.h"
#include "session/decide.h"
#include "session/head.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/related_items.h"
#include "session/secrets/secret_scan.h"
#include "session/store.h"
#include "session/sweep.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {

// What a mutation did. `head` is the session after it, or, for a repeated request, as it is now.
struct MutationResult {
  SessionId session;
  Receipt receipt;
  Head head;
  bool repeated = false;
};

// How a stored slot compares with what a reader expects.
struct SlotReport {
  enum class Status : uint8_t { kMatch, kMigrate, kWarn, kReject, kAbsent };
  std::string owner;
  Status status = Status::kMatch;
  std::string stored_version;
  std::string expected_version;
};

// What a resume found.
struct RecoveryReport {
  Revision restored;
  Revision snapshot;
  uint64_t entries_after_snapshot = 0;
  uint64_t tail_bytes_truncated = 0;
  TurnNumber abandoned_turn;
  std::vector<std::string> open_tool_uses;  // at most kOpenToolUsesShown, the newest ones
  bool open_tool_uses_truncated = false;    // there may be older ones
  std::string previous_holder;
  std::optional<RequestId> last_committed_request;
  std::vector<SlotReport> slots;
  std::vector<std::string> damaged_slots;
};

struct ResumeResult {
  MutationResult result;
  std::string token;
  RecoveryReport report;
  std::vector<Message> messages;
  std::vector<Slot> slots;
  bool inline_omitted = false;
};

struct BeginTurnResult {
  MutationResult result;
  std::optional<Slot> sm_slot;
  bool inline_omitted = false;
};

struct RestoreResult {
  MutationResult result;
  // The last messages that the history lost, oldest first: as many as were asked for and have room,
  // in the reply to a repeat kReturnedBytesStored of them.
  std::vector<Message> removed;
};

struct CheckpointResult {
  MutationResult result;
  Checkpoint checkpoint;
};

struct SlotsRead {
  SlotPage page;
  std::vector<SlotReport> reports;
};

struct RequestOutcome {
  enum class Kind : uint8_t { kCommitted, kNever, kNotKnown };
  Kind kind = Kind::kNotKnown;
  std::optional<RequestRow> request;  // of a committed one, without its token
  Head head;
};

// What a close that may wait has to wait for.
struct Draining {
  bool active = false;     // a turn is, and the close would be let through
  uint64_t committed = 0;  // turns so far
};

// A session as a caller names it.
struct NamedSession {
  SessionId id;
  std::optional<SessionUid> uid;  // absent: whichever has the id
};

// What became of an audit chain.
struct AuditVerdict {
  uint64_t records = 0;  // that are sound, from the first on
  Digest last{};         // hash of the last of them; zeros when there is none
  std::string why;       // empty: all of them are; else what is wrong with the one behind
  Revision revision;

  [[nodiscard]] bool sound() const { return why.empty(); }
};

// A change that a command asks for, decided and not yet committed.
struct PreparedChange {
  SessionKey key;
  Change change;
};

// Whether a session that is missing, as `status` of a call of `command` says, is to be created: not
// where the caller means one that it knows.
template <typename Command>
bool CreatesMissing(const Command& command, const absl::Status& status) {
  if (!command.create_if_missing || command.uid) return false;
  return Is(status, command.create_if_missing->reuse_deleted ? Reason::kTombstoned
                                                             : Reason::kSessionNotFound);
}

class Sessions {
 public:
  // All that is given must outlive this. What `secrets` finds in a command is refused.
  Sessions(SessionStore& store, Random& random, const SecretScanner& secrets = NoSecrets());

  absl::StatusOr<MutationResult> Create(const Caller& caller, const CreateCommand& command);
  absl::StatusOr<Head> Get(const Caller& caller, const SessionId& session);
  // The newest session of a project root; NO_SNAPSHOT when there is none. STORE_UNAVAILABLE with
  // RetryInfo while the store's listing is not complete.
  absl::StatusOr<std::pair<SessionId, Head>> Latest(const Caller& caller,
                                                    const std::string& project_root);
  absl::StatusOr<MutationResult> Update(const Caller& caller, const UpdateCommand& command);
  absl::StatusOr<ResumeResult> Resume(const Caller& caller, const ResumeCommand& command);
  absl::StatusOr<BeginTurnResult> BeginTurn(const Caller& caller, const BeginTurnCommand& command);
  absl::StatusOr<MutationResult> AppendJournal(const Caller& caller,
                                               const AppendJournalCommand& command);
  absl::StatusOr<MutationResult> CommitTurn(const Caller& caller, const CommitTurnCommand& command);
  // A snapshot without a turn.
  absl::StatusOr<MutationResult> Write(const Caller& caller, const WriteCommand& command);
  // A snapshot that is as the session was at a point of its past. Copies no history.
  absl::StatusOr<RestoreResult> Restore(const Caller& caller, const RestoreCommand& command);
  // Decides a command whose contents have not arrived: its stored reply, or a refusal that does not
  // depend on the contents; nullopt otherwise. The command has no messages and slots yet.
  absl::StatusOr<std::optional<MutationResult>> Precheck(const Caller& caller,
                                                         const CommitTurnCommand& command);
  absl::StatusOr<std::optional<MutationResult>> Precheck(const Caller& caller,
                                                         const WriteCommand& command);
  absl::StatusOr<MutationResult> AbandonTurn(const Caller& caller,
                                             const AbandonTurnCommand& command);
  // Pins a snapshot that is kept, or changes a checkpoint; moves no revision.
  absl::StatusOr<CheckpointResult> PutCheckpoint(const Caller& caller,
                                                 const PutCheckpointCommand& command);
  // All checkpoints of one revision go, of whatever kind.
  absl::StatusOr<MutationResult> DeleteCheckpoint(const Caller& caller,
                                                  const DeleteCheckpointCommand& command);

  // The two halves of BeginTurn, AppendJournal, CommitTurn, Write and AbandonTurn, for calls whose
  // changes are committed together (SessionStore::CommitMany).
  //
  // The change that `command` makes on the cached head. nullopt when the call must not join a
  // group: there is no cached head, the command is refused, or the call does more than commit one
  // change.
  template <typename Command>
  std::optional<PreparedChange> Prepare(const Caller& caller, const Command& command);
  // What the call is answered with, once its change was committed: `committed`.
  absl::StatusOr<BeginTurnResult> Settle(const BeginTurnCommand& command,
                                         const PreparedChange& prepared,
                                         absl::StatusOr<CommitResult> committed);
  absl::StatusOr<MutationResult> Settle(const AppendJournalCommand& command,
                                        const PreparedChange& prepared,
                                        absl::StatusOr<CommitResult> committed);
  absl::StatusOr<MutationResult> Settle(const CommitTurnCommand& command,
                                        const PreparedChange& prepared,
                                        absl::StatusOr<CommitResult> committed);
  absl::StatusOr<MutationResult> Settle(const WriteCommand& command, const PreparedChange& prepared,
                                        absl::StatusOr<CommitResult> committed);
  absl::StatusOr<MutationResult> Settle(const AbandonTurnCommand& command,
                                        const PreparedChange& prepared,
                                        absl::StatusOr<CommitResult> committed);

  absl::StatusOr<MutationResult> Close(const Caller& caller, const CloseCommand& command);
  // Whether `command` has something to wait for; its refusal where it would be refused now. Writes
  // nothing.
  absl::StatusOr<Draining> Drain(const Caller& caller, const CloseCommand& command);
  absl::StatusOr<MutationResult> Delete(const Caller& caller, const DeleteCommand& command);
  // A cancel request of the session closes the session at once, or when its active turn ends.
  absl::StatusOr<MutationResult> Cancel(const Caller& caller, const CancelCommand& command);
  // The record is durable before the answer; it moves no revision and makes no event.
  absl::StatusOr<MutationResult> AppendAudit(const Caller& caller,
                                             const AppendAuditCommand& command);
  // Walks the chain from its first record to the one that the head names. `go_on` is asked before
  // each page; what it refuses ends the walk.
  absl::StatusOr<AuditVerdict> VerifyAudit(const Caller& caller, const NamedSession& session,
                                           const std::function<absl::Status()>& go_on);
  // Writes items, and creates the session where it is missing and the command says how.
  absl::StatusOr<MutationResult> PutItems(const Caller& caller, const PutItemsCommand& command);
  absl::StatusOr<RelatedPage> ReadItems(const Caller& caller, const SessionId& session,
                                        const RelatedQuery& query, PageLimit limit);
  absl::StatusOr<MutationResult> Release(const Caller& caller, const ReleaseCommand& command);
  std::vector<absl::StatusOr<Renewed>> Renew(const std::vector<RenewRequest>& requests);
  absl::StatusOr<RequestOutcome> Outcome(const Caller& caller, const OutcomeQuery& query);

  // `expected` and `acting_owner` guard the read (SLOT_DRIFT_REJECTED, SLOT_ACCESS_DENIED).
  absl::StatusOr<SlotsRead> ReadSlots(const Caller& caller, const SessionId& session,
                                      const SlotQuery& query, const std::string& acting_owner,
                                      const std::vector<ExpectedSlot>& expected);
  // Reads that need no decision go straight to the store.
  [[nodiscard]] SessionStore& store() { return store_; }

  // Calls `notify`, on the thread that made the change, after each change by this server that ended
  // a turn or a lease. Set once, before the first call.
  void OnTurnOrLeaseEnd(std::function<void(const SessionKey&)> notify) {
    on_turn_or_lease_end_ = std::move(notify);
  }

  // Calls `report` for each candidate of a sweep that failed, once for each reason in a row. Set
  // once, before the first sweep.
  void OnSweepFailure(Sweep::Report report) { on_sweep_failure_ = std::move(report); }
  // Ends the sweep that runs, behind the candidate that it is at, and every later one.
  void StopSweeps() { sweeps_stopped_ = true; }

  // Closes sessions whose holder is gone; answers how many. Like EndCancelled it takes up at most
  // `limit` candidates, starts where the last one stopped, and skips those that fail.
  absl::StatusOr<size_t> RecoverDue(absl::Duration abandon_after, size_t limit);
  // Ends turns that were asked to end `grace` ago, and closes sessions without a turn that were
  // asked to; answers how many sessions it changed.
  absl::StatusOr<size_t> EndCancelled(absl::Duration grace, size_t limit);

 private:
  using Decider = std::function<absl::StatusOr<Decision>(const Head&)>;
  using SweepDecider = absl::StatusOr<Decision> (*)(const Head&, const SessionKey&);
  absl::StatusOr<size_t> RunSweep(Sweep& sweep, absl::Duration quiet, size_t limit,
                                  const SweepDecider& decide);
  // A request's id and its stamp. The stamp is computed only when there is a stored reply to
  // compare.
  struct Asked {
    RequestId id;
    std::function<RequestStamp()> stamp;
  };

  absl::StatusOr<MutationResult> Execute(const SessionKey& key, const std::optional<Asked>& asked,
                                         const Decider& decide, int retries = kRaceRetries);
  absl::StatusOr<MutationResult> ExecuteOnLoaded(const SessionKey& key,
                                                 const std::optional<Asked>& asked,
                                                 const Decider& decide, int retries = kRaceRetries);
  // Of a command with a request id, on the session it names.
  template <typename Command>
  absl::StatusOr<MutationResult> ExecuteAsked(const Caller& caller, const Command& command);
  template <typename Command>
  absl::StatusOr<std::optional<MutationResult>> PrecheckAs(Method method, const Caller& caller,
                                                           const Command& command);
  // Of a change that was committed: `committed`, which answers the call; nullopt: it is to be
  // decided again on the head in `committed`.
  std::optional<absl::StatusOr<MutationResult>> Answer(const SessionKey& key, const Change& change,
                                                       absl::StatusOr<CommitResult>& committed);
  absl::StatusOr<MutationResult> SettleChange(const PreparedChange& prepared,
                                              absl::StatusOr<CommitResult> committed);
  // The same, and CloseIfCancelled.
  absl::StatusOr<MutationResult> SettleAsked(const PreparedChange& prepared,
                                             absl::StatusOr<CommitResult> committed);
  // What a client gets of a turn that has begun: with the state machine's slot, once.
  absl::StatusOr<BeginTurnResult> HandOut(const SessionKey& key, MutationResult result);
  absl::StatusOr<MutationResult> CommitUntilSettled(const SessionKey& key, Change change,
                                                    const Decider& decide,
                                                    int retries = kRaceRetries);
  // `result` of a call that pins its snapshot as `mark`; INVALID_FIELD where the name is taken.
  absl::StatusOr<MutationResult> NameTheCheckpoint(const SessionKey& key,
                                                   const std::optional<CheckpointMark>& mark,
                                                   absl::StatusOr<MutationResult> result);
  // Closes a session with a cancel request whose turn has ended with `result`; the head of `result`
  // is then the closed one. After a failure the next sweep closes it.
  void CloseIfCancelled(const SessionKey& key, MutationResult& result);
  Fresh FreshCreation();
  // `result` of a call that has found its session; else the session is created, if `command` says
  // how.
  template <typename Command>
  absl::StatusOr<MutationResult> OrCreateMissing(const Caller& caller, const Command& command,
                                                 absl::StatusOr<MutationResult> result);
  absl::StatusOr<MutationResult> CreateAs(const Caller& caller, const CreateCommand& command,
                                          const SessionId& session, const RequestStamp& stamp);
  absl::StatusOr<MutationResult> ResumeOrCreate(const Caller& caller, const ResumeCommand& command);
  absl::Status Report(const SessionKey& key, const ResumeCommand& command, ResumeResult& resumed);

  SessionStore& store_;
  Random& random_;
  const SecretScanner& secrets_;
  Sweep recovery_;
  Sweep cancellation_;
  std::atomic<bool> sweeps_stopped_ = false;
  Sweep::Report on_sweep_failure_;
  CommitFailures failures_;
  std::function<void(const SessionKey&)> on_turn_or_lease_end_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_SESSIONS_H_
