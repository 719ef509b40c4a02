#include "store-postgres/commits.h"

#include "platform/exceptions.h"
#include "platform/scoped_blocking_call.h"
#include "platform/status_macros.h"
#include "session/answers.h"
#include "session/change_decision.h"
#include "session/codec/records.h"
#include "session/guard.h"
#include "session/refusal.h"
#include "store-postgres/entry_range.h"
#include "store-postgres/item_answers.h"
#include "store-postgres/pg/failure.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"

#include <algorithm>
#include <list>
#include <random>
#include <utility>
#include <variant>

namespace holdfast::pg {
namespace {

// A head that moves on faster than it can be decided on.
constexpr int kRounds = 64;
// Connections that may break under one change before its fate is left open.
constexpr int kBroken = 3;
// How often a change is sent again after the database rolled it back in favour of other
// transactions, and the pause between two attempts: about so long, and then twice as long.
constexpr int kLost = 3;
constexpr absl::Duration kPauseAfterLoss = absl::Milliseconds(20);

constexpr Statement kLoad = {
    "load",
    "SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum, s.lease_left,"
    " holdfast.acts_of($1, $2, r.n), s.token"
    " FROM holdfast.current_session s LEFT JOIN holdfast.log r ON r.tenant = $1"
    "  AND r.session_id = $2 AND r.request = $3::text::uuid AND r.at >= $4"
    " WHERE s.tenant = $1 AND s.session_id = $2"};
// The same, and writes the session again: the answer then waits for a flush, and for the standby,
// that come after everything it shows. All in one statement, since two might run on two servers. A
// row is found by its key alone: `NOT deleted` would also fit indexes that know only the tenant.
constexpr Statement kLoadFlushed = {
    "load_flushed",
    "WITH kept AS (UPDATE holdfast.session s SET active_at = s.active_at"
    "  FROM (SELECT set_config('lock_timeout', '10s', true)) x"
    "  WHERE s.tenant = $1 AND s.session_id = $2 AND s.deleted::integer = 0"
    "   AND s.store_id = holdfast.store_id() RETURNING s.tenant, s.session_id)"
    " SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum, s.lease_left,"
    "  holdfast.acts_of($1, $2, r.n), s.token, EXISTS (SELECT FROM kept) AS written"
    " FROM holdfast.current_session s LEFT JOIN holdfast.log r ON r.tenant = $1"
    "  AND r.session_id = $2 AND r.request = $3::text::uuid AND r.at >= $4"
    " WHERE s.tenant = $1 AND s.session_id = $2"};
constexpr size_t kWritten = kOutcomeToken + 1;
// A session that is there and was not written again is being deleted meanwhile.
constexpr int kFlushedLooks = 8;

// Gives way to the transactions that a change lost against. The jitter keeps two losers from
// retrying at the same time.
void PauseAfterLoss(int lost) {
  thread_local std::minstd_rand generator(std::random_device{}());
  const double jitter = std::uniform_real_distribution<double>(0.5, 1.5)(generator);
  const ScopedBlockingCall blocking;
  absl::SleepFor(kPauseAfterLoss * lost * jitter);
}

// Rows of a deleted session that a creation under its id removes itself.
constexpr int64_t kPurgedByCreation = 10'000;

// A change of a group that must be decided by itself.
absl::Status MayNotRead() { return absl::AbortedError(""); }

std::optional<absl::Status> ItemRefusalOf(const WriteResult& result, const ItemWrites& writes,
                                          const ItemBounds& bounds) {
  if (writes.empty()) return std::nullopt;
  return ReadItemRefusal(*result.rows, result.row, kOutcomeItems, writes, bounds);
}

}  // namespace

StoreFacts Commits::Facts() const {
  return {.store = database_.store,
          .incarnation = database_.incarnation,
          .now = database_.Now(),
          .clock = database_.store_clock.Now(),
          .snapshots_kept = database_.retention.snapshots};
}

absl::StatusOr<Commits::DecisionInput> Commits::ReadInput(const Rows& rows, size_t row,
                                                          const SessionKey& key) {
  DecisionInput input{.stored = ReadStoredHead(rows, row, database_), .request = {}, .fresh = true};
  if (!input.stored.refusal.ok()) {
    heads_.Forget(key);
    return input;
  }
  ASSIGN_OR_RETURN(input.request, ReadRequest(rows, row, kOutcomeRequest, input.stored.head));
  const StoredHead& stored = input.stored;
  heads_.Put(key, {.version = stored.version, .sum = stored.sum, .head = stored.head});
  return input;
}

absl::StatusOr<Commits::DecisionInput> Commits::LoadFreshInput(
    const SessionKey& key, const std::optional<RequestId>& request) {
  ASSIGN_OR_RETURN(DecisionInput input, LoadInput(key, request));
  // The answer will be made of this reply: it waits for the flush that the first one waited for.
  if (input.request) return LoadFlushedInput(key, *request);
  return input;
}

absl::StatusOr<Commits::DecisionInput> Commits::LoadInput(const SessionKey& key,
                                                          const std::optional<RequestId>& request) {
  Params params;
  params.Text(key.tenant.value()).Text(key.session.value());
  request ? params.Text(request->value()) : params.Null();
  params.Time(RepliesSince(database_.store_clock.Now()));
  ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kLoad, params));
  return ReadInput(rows, 0, key);
}

absl::StatusOr<Commits::DecisionInput> Commits::LoadFlushedInput(const SessionKey& key,
                                                                 const RequestId& request) {
  Params params;
  params.Text(key.tenant.value()).Text(key.session.value()).Text(request.value());
  params.Time(RepliesSince(database_.store_clock.Now()));
  for (int look = 0; look < kFlushedLooks; ++look) {
    ASSIGN_OR_RETURN(const Rows rows, database_.AskFlushed(kLoadFlushed, params));
    ASSIGN_OR_RETURN(DecisionInput input, ReadInput(rows, 0, key));
    if (!input.stored.refusal.ok() || rows.Bool(0, kWritten)) return input;
  }
  return StoreUnavailable("the session is changing too fast: try again", Fate::kNoEffect);
}

absl::StatusOr<LoadedSession> Commits::Load(const SessionKey& key,
                                            const std::optional<RequestId>& request) {
  ASSIGN_OR_RETURN(DecisionInput input, LoadInput(key, request));
  RETURN_IF_ERROR(input.stored.refusal);
  if (input.request) return LoadForOutcome(key, *request);
  return LoadedSession{.head = std::move(input.stored.head), .request = std::nullopt};
}

// It may wait for the session's row as a change does, so it has the session's lock: one statement
// of a session waits for a lock, on one connection.
absl::StatusOr<LoadedSession> Commits::LoadForOutcome(const SessionKey& key,
                                                      const RequestId& request) {
  const SessionQueue::Lock lock(queue_, key);
  RETURN_IF_ERROR(lock.status());
  ASSIGN_OR_RETURN(DecisionInput input, LoadFlushedInput(key, request));
  RETURN_IF_ERROR(input.stored.refusal);
  return LoadedSession{.head = std::move(input.stored.head), .request = std::move(input.request)};
}

// A lease may have ended since: the write checks that.
Commits::DecisionInput Commits::InputFrom(const VersionedHead& known) {
  DecisionInput input;
  input.stored.version = known.version;
  input.stored.sum = known.sum;
  input.stored.head = known.head;
  LeaseRecord& lease = input.stored.head.lease;
  lease.state = lease.held ? LeaseState::kExpired : LeaseState::kFree;
  return input;
}

absl::StatusOr<Commits::DecisionInput> Commits::FindFirstInput(const Change& change) {
  if (const auto known = heads_.Find(change.key)) return InputFrom(*known);
  if (!change.create || change.create->replaces) {
    return LoadFreshInput(change.key,
                          change.request ? std::optional(change.request->id) : std::nullopt);
  }
  DecisionInput input;
  input.stored.refusal = SessionIsNotThere();
  return input;
}

absl::StatusOr<CommitResult> Commits::Commit(const Change& change) {
  const SessionQueue::Lock lock(queue_, change.key);
  RETURN_IF_ERROR(lock.status());
  const Earlier earlier = earlier_.Find(change.key).value_or(Earlier());
  if (earlier.lost > 0) earlier_.Forget(change.key);
  PendingChange pending{.lost = earlier.lost};
  ASSIGN_OR_RETURN(pending.input, FindFirstInput(change));
  absl::Status given_up;
  for (int round = 0; round < kRounds; ++round) {
    given_up = TryOnce(change, pending);
    if (pending.answer) {
      // A change that a broken connection carried out has notified no watcher here.
      if (pending.broken > 0 || earlier.in_doubt) NotifyWatchers(change.key);
      if (earlier.in_doubt) earlier_.Forget(change.key);
      return *std::move(pending.answer);
    }
    if (!given_up.ok()) break;
  }
  // Once a connection broke under it, only an answer of the database shows the outcome.
  if (pending.broken > 0) {
    return StoreUnavailable("the database went away during the change", Fate::kUnknown);
  }
  if (!given_up.ok()) return given_up;
  return StoreUnavailable("the session is changing too fast: try again", Fate::kNoEffect);
}

absl::Status Commits::TryOnce(const Change& change, PendingChange& pending) {
  ASSIGN_OR_RETURN(WritePlan plan, Decide(change, pending.input));
  if (plan.answer) {
    if (pending.input.fresh) {
      pending.answer = std::move(plan.answer);
      return absl::OkStatus();
    }
    const auto request = change.request ? std::optional(change.request->id) : std::nullopt;
    ASSIGN_OR_RETURN(pending.input, LoadFreshInput(change.key, request));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(WriteOutcome outcome, Write(change, std::move(plan)));
  if (outcome.applied) {
    pending.answer = *std::move(outcome.applied);
  } else if (outcome.moved) {
    pending.input = *std::move(outcome.moved);
  } else if (LostToAnother(outcome.failure)) {
    if (++pending.lost == kLost) return RefusalFor(outcome.failure);
    PauseAfterLoss(pending.lost);
  } else {
    healthy_ = false;
    if (outcome.failure.effect == Effect::kNone || ++pending.broken == kBroken) {
      return RefusalFor(outcome.failure);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Commits::WritePlan> Commits::Decide(const Change& change,
                                                   const DecisionInput& input) {
  WritePlan plan;
  const StoredHead& stored = input.stored;
  const FormerSession* const former = stored.former ? &*stored.former : nullptr;
  const bool absent = former != nullptr || Is(stored.refusal, Reason::kSessionNotFound);
  if (!stored.refusal.ok() && !absent) {
    plan.answer = stored.refusal;
    return plan;
  }
  absl::StatusOr<std::optional<CommitResult>> answer =
      AnswerWithoutDecision(change, {.head = absent ? nullptr : &stored.head,
                                     .former = former,
                                     .request = input.request ? &*input.request : nullptr});
  if (!answer.ok()) {
    plan.answer = answer.status();
    return plan;
  }
  if (*answer) {
    plan.answer = **std::move(answer);
    return plan;
  }
  if (!absent) return DecideChange(change, input);
  if (former != nullptr) {
    ASSIGN_OR_RETURN(const bool purged, retention_.Purge(change.key, kPurgedByCreation));
    if (!purged) return FormerIsStillThere();
  }
  DecisionInput nothing = input;
  nothing.stored.head = EmptyHead(Facts(), former);
  return DecideChange(change, nothing);
}

// What a decision reads of one session in the database.
class Commits::ReadsOf final : public DecisionReads {
 public:
  // All outlive it.
  ReadsOf(Commits& commits, const Change& change, const StoredHead& stored, Reads reads)
      : commits_(commits), change_(change), stored_(stored), reads_(reads) {}

  absl::StatusOr<std::vector<JournalEntry>> StoredEntries(TurnNumber turn, EntryNumber first,
                                                          EntryNumber last) override {
    if (reads_ == Reads::kMayNot) return MayNotRead();
    return ReadEntryRange(commits_.database_, change_.key, stored_.head,
                          {.turn = turn, .first = first, .last = last});
  }
  absl::StatusOr<bool> HoldsUpload(const UploadLink& link) override {
    if (reads_ == Reads::kMayNot) return MayNotRead();
    return commits_.uploads_.Holds(change_.key, link);
  }
  absl::StatusOr<std::optional<Refusal>> CheckSlots(const Applied& applied) override {
    const SlotCountInput input{.key = change_.key, .sum = stored_.sum, .head = stored_.head};
    if (reads_ == Reads::kMay) {
      ASSIGN_OR_RETURN(slots_, commits_.slot_counts_.Check(input, applied));
    } else {
      std::optional<SlotVerdict> known = commits_.slot_counts_.CheckKnown(input, applied);
      if (!known) return MayNotRead();
      slots_ = *std::move(known);
    }
    return slots_.refusal;
  }
  // The database resolves them as it writes them.
  absl::StatusOr<std::optional<Refusal>> ResolveItemWrites(Applied& /*applied*/) override {
    if (reads_ == Reads::kMayNot) return MayNotRead();
    return std::nullopt;
  }

  // What was found of the slots.
  [[nodiscard]] SlotVerdict TakeSlots() { return std::move(slots_); }

 private:
  Commits& commits_;
  const Change& change_;
  const StoredHead& stored_;
  const Reads reads_;
  SlotVerdict slots_;
};

absl::StatusOr<Commits::WritePlan> Commits::DecideChange(const Change& change,
                                                         const DecisionInput& input, Reads reads) {
  const Head& head = input.stored.head;
  ReadsOf session(*this, change, input.stored, reads);
  ASSIGN_OR_RETURN(ChangeDecision decided, DecideOnHead(change, head, Facts(), session));
  WritePlan plan;
  if (decided.answer) {
    plan.answer = *std::move(decided.answer);
    return plan;
  }
  plan.applied = std::move(decided.applied);
  plan.slots = session.TakeSlots();
  plan.change = {.change = &change,
                 .version = input.stored.version,
                 .was = input.stored.sum,
                 .needs_free = NeedsFreeLease(head, change.guard),
                 .turn_began_behind = head.turn ? head.turn->journal_before : JournalNumber()};
  return plan;
}

absl::StatusOr<Commits::WriteOutcome> Commits::Write(const Change& change, WritePlan plan) {
  plan.change.applied = &plan.applied;
  const HeadRow row(change, plan.applied);
  plan.change.row = &row;
  return TakeAnswer(committer_.Write(plan.change), row, plan);
}

absl::StatusOr<Commits::WriteOutcome> Commits::TakeAnswer(const WriteResult& result,
                                                          const HeadRow& head_row,
                                                          WritePlan& plan) {
  const Change& change = *plan.change.change;
  RETURN_IF_ERROR(result.unreached);
  WriteOutcome outcome;
  if (result.failure) {
    outcome.failure = *result.failure;
    return outcome;
  }
  const Rows& rows = *result.rows;
  const size_t row = result.row;
  if (!rows.Bool(row, kOutcomeApplied)) {
    ASSIGN_OR_RETURN(outcome.moved, ReadInput(rows, row, change.key));
    StoredHead& now = outcome.moved->stored;
    // The cached head is outdated, even where its version was a later one.
    if (now.refusal.ok()) {
      heads_.Replace(change.key, {.version = now.version, .sum = now.sum, .head = now.head});
    }
    if (!rows.Bool(row, kOutcomeUploaded)) {
      outcome.applied = Refused(UploadIsGone(), now.head);
    } else if (auto refusal = ItemRefusalOf(result, plan.applied.items, database_.item_bounds)) {
      outcome.applied = Refused(*std::move(refusal), change.create ? EmptyHead(Facts()) : now.head);
    }
    return outcome;
  }
  healthy_ = true;
  Applied& applied = plan.applied;
  const bool has_results = applied.receipt.items_version > ItemVersion();
  if (has_results && !ReadItemResults(rows, row, kOutcomeItems, applied.receipt)) {
    return Refusal(Reason::kInternal, "the results of writes of items are not in their form");
  }
  Evaluate(LeaseLeft(rows, row, kStoredHeadColumns - 1), applied.head);
  outcome.applied = CommitResult{.kind = CommitResult::Kind::kApplied,
                                 .receipt = std::move(applied.receipt),
                                 .head = std::move(applied.head),
                                 .refusal = absl::OkStatus(),
                                 .events = std::move(applied.events)};
  slot_counts_.Note({.key = change.key, .sum = head_row.sum, .head = outcome.applied->head},
                    plan.slots);
  Publish(change, *outcome.applied,
          {.version = rows.Int(row, 0), .sum = head_row.sum, .head = outcome.applied->head});
  return outcome;
}

struct Commits::Member {
  explicit Member(size_t nth) : place(nth) {}

  size_t place;  // among the changes of its group
  std::optional<SessionQueue::Lock> lock;
  WritePlan plan;
  HeadRow row;
};

bool Commits::DecideForGroup(const Change& change, Member& member) {
  const std::shared_ptr<const VersionedHead> known = heads_.Find(change.key);
  if (!known || change.create) return false;
  member.lock.emplace(queue_, change.key, WhenLocked::kRefuse);
  if (!member.lock->status().ok()) return false;
  absl::StatusOr<WritePlan> plan = DecideChange(change, InputFrom(*known), Reads::kMayNot);
  if (!plan.ok() || plan->answer) return false;
  member.plan = *std::move(plan);
  member.row = HeadRow(change, member.plan.applied);
  member.plan.change.applied = &member.plan.applied;
  member.plan.change.row = &member.row;
  return committer_.MayJoin(member.plan.change);
}

std::vector<GroupedResult> Commits::CommitMany(const std::vector<GroupedChange>& changes) {
  std::list<Member> members;
  std::vector<GroupedWrite> writes;
  for (size_t place = 0; place < changes.size(); ++place) {
    const GroupedChange& grouped = changes[place];
    Member& member = members.emplace_back(place);
    if (!DecideForGroup(*grouped.change, member)) {
      members.pop_back();
      continue;
    }
    const DecidedChange& decided = member.plan.change;
    writes.push_back({.change = &decided, .bytes = BytesOf(decided), .span = grouped.span});
  }
  std::vector<GroupedResult> results(changes.size());
  if (writes.empty()) return results;
  const std::vector<std::optional<WriteResult>> write_results = committer_.WriteMany(writes);
  auto next = write_results.begin();
  for (Member& member : members) {
    GroupedResult& result = results[member.place];
    if (*next && CatchException([&] { result = Answer(**next, member); })) {
      result.kind = GroupedResult::Kind::kInDoubt;
    }
    if (result.kind == GroupedResult::Kind::kInDoubt) Remember(member, {.in_doubt = true});
    ++next;
  }
  return results;
}

void Commits::Remember(const Member& member, const Earlier& earlier) {
  earlier_.Put(member.plan.change.change->key, earlier, [](const Earlier&) { return false; });
}

GroupedResult Commits::Answer(const WriteResult& result, Member& member) {
  using Kind = GroupedResult::Kind;
  absl::StatusOr<WriteOutcome> outcome = TakeAnswer(result, member.row, member.plan);
  if (!outcome.ok()) return {.kind = Kind::kDone, .result = outcome.status()};
  if (outcome->applied) {
    // Refusals are for the whole way, which sees the stored reply too.
    if (outcome->applied->kind != CommitResult::Kind::kApplied) return {};
    return {.kind = Kind::kDone, .result = *std::move(outcome->applied)};
  }
  if (outcome->moved) return AnswerMoved(*member.plan.change.change, *outcome->moved);
  if (LostToAnother(outcome->failure)) {
    Remember(member, {.lost = 1});
    return {};
  }
  healthy_ = false;
  if (outcome->failure.effect == Effect::kNone) {
    return {.kind = Kind::kDone, .result = RefusalFor(outcome->failure)};
  }
  return {.kind = Kind::kInDoubt};
}

GroupedResult Commits::AnswerMoved(const Change& change, const DecisionInput& now) {
  if (!now.stored.refusal.ok() || !now.request) return {};
  // The group wrote the session again: the reply has been flushed, and has reached the standby.
  CommitResult repeated = AnswerToRepeat(*change.request, *now.request, now.stored.head);
  if (repeated.kind != CommitResult::Kind::kRepeated) return {};
  return {.kind = GroupedResult::Kind::kDone, .result = std::move(repeated)};
}

void Commits::Publish(const Change& change, const CommitResult& result, VersionedHead known) {
  const std::shared_ptr<const VersionedHead> before = heads_.Find(change.key);
  if (change.tombstone) {
    heads_.Forget(change.key);
  } else {
    heads_.Put(change.key, std::move(known));
  }
  if (change.upload) uploads_.Forget(change.key, change.upload->id);
  if (!result.events.empty()) NotifyWatchers(change.key);
  retention_.Note(change, before == nullptr ? nullptr : &before->head, result.head);
}

void Commits::NotifyWatchers(const SessionKey& key) {
  change_notifier_.Notify(key);
  notifier_.Touch(key);
}

}  // namespace holdfast::pg
