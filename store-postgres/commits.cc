#include "store-postgres/commits.h"

#include "session/answers.h"
#include "session/change_decision.h"
#include "session/codec/records.h"
#include "session/exceptions.h"
#include "session/guard.h"
#include "session/refusal.h"
#include "session/saboteur.h"
#include "session/scoped_blocking_call.h"
#include "session/status_macros.h"
#include "store-postgres/journal_part.h"
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
// Times that a change is sent though it is rolled back for other transactions' sakes, and what is
// waited between them: about so long, and then twice as long.
constexpr int kLost = 3;
constexpr absl::Duration kPauseAfterLoss = absl::Milliseconds(20);

constexpr Statement kLoad = {
    "load",
    "SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum, s.lease_left,"
    " holdfast.acts_of($1, $2, r.n), s.token"
    " FROM holdfast.standing s LEFT JOIN holdfast.log r ON r.tenant = $1"
    "  AND r.session_id = $2 AND r.request = $3::text::uuid AND r.at >= $4"
    " WHERE s.tenant = $1 AND s.session_id = $2"};
// The same, and writes the session again: the answer then waits for a flush, and for the standby,
// that come after whatever it shows. All in one statement, for two might meet two servers. A row is
// found by its key alone: `NOT deleted` would also fit indexes that know only the tenant.
constexpr Statement kLoadFlushed = {
    "load_flushed",
    "WITH kept AS (UPDATE holdfast.session s SET active_at = s.active_at"
    "  FROM (SELECT set_config('lock_timeout', '10s', true)) x"
    "  WHERE s.tenant = $1 AND s.session_id = $2 AND s.deleted::integer = 0"
    "   AND s.store_id = holdfast.store_id() RETURNING s.tenant, s.session_id)"
    " SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum, s.lease_left,"
    "  holdfast.acts_of($1, $2, r.n), s.token, EXISTS (SELECT FROM kept) AS written"
    " FROM holdfast.standing s LEFT JOIN holdfast.log r ON r.tenant = $1"
    "  AND r.session_id = $2 AND r.request = $3::text::uuid AND r.at >= $4"
    " WHERE s.tenant = $1 AND s.session_id = $2"};
constexpr size_t kWritten = kOutcomeToken + 1;
// A session that is there and was not written again is being deleted meanwhile.
constexpr int kFlushedLooks = 8;
constexpr Statement kEntriesOf = {
    "entries_of",
    "SELECT rec, slot_rec, slot_data FROM holdfast.journal WHERE tenant = $1 AND session_id = $2"
    " AND number > $3 AND number <= $4 AND turn = $5 AND entry >= $6 AND entry <= $7"
    " ORDER BY number LIMIT $8"};

// Lets those that a change lost against get on. They do the same, so nobody waits just as long.
void PauseAfterLoss(int lost) {
  thread_local std::minstd_rand generator(std::random_device{}());
  const double jitter = std::uniform_real_distribution<double>(0.5, 1.5)(generator);
  const ScopedBlockingCall blocking;
  absl::SleepFor(kPauseAfterLoss * lost * jitter);
}

// A change of a group that must be decided by itself.
absl::Status MayNotRead() { return absl::AbortedError(""); }

struct EntryRange {
  TurnNumber turn;
  EntryNumber first;
  EntryNumber last;
};

// Those that are kept and can be read.
absl::StatusOr<std::vector<JournalEntry>> ReadEntries(const Database& database,
                                                      const SessionKey& key, const Head& head,
                                                      const EntryRange& range) {
  const JournalPart part = PartOf(head, range.turn);
  const uint64_t behind =
      std::max(part.behind.value(), part.began.value() + range.first.value() - 1);
  Params params;
  params.Text(key.tenant.value()).Text(key.session.value());
  params.Int(Signed(behind)).Int(Signed(std::min(part.last, head.journal)));
  params.Int(Signed(range.turn)).Int(Signed(range.first)).Int(Signed(range.last));
  params.Int(Signed(range.last.value() - range.first.value() + 1));
  ASSIGN_OR_RETURN(const Rows rows, database.Ask(kEntriesOf, params));
  std::vector<JournalEntry> entries;
  for (size_t row = 0; row < rows.size(); ++row) {
    std::optional<JournalEntry> stored = ReadEntry(rows, row, 0);
    if (stored) entries.push_back(*std::move(stored));
  }
  return entries;
}

}  // namespace

StoreFacts Commits::Facts() const {
  return {.store = database_.store,
          .incarnation = database_.incarnation,
          .now = database_.Now(),
          .clock = database_.store_clock.Now()};
}

absl::StatusOr<Commits::Basis> Commits::ReadBasis(const Rows& rows, size_t row,
                                                  const SessionKey& key) {
  Basis basis{.stored = ReadStoredHead(rows, row, database_), .request = {}, .fresh = true};
  if (!basis.stored.refusal.ok()) {
    heads_.Forget(key);
    return basis;
  }
  ASSIGN_OR_RETURN(basis.request, ReadRequest(rows, row, kOutcomeRequest, basis.stored.head));
  const StoredHead& stored = basis.stored;
  heads_.Put(key, {.version = stored.version, .sum = stored.sum, .head = stored.head});
  return basis;
}

absl::StatusOr<Commits::Basis> Commits::FreshBasis(const SessionKey& key,
                                                   const std::optional<RequestId>& request) {
  ASSIGN_OR_RETURN(Basis basis, LoadBasis(key, request));
  // The answer will be made of this reply: it waits for the flush that the first one waited for.
  if (basis.request) return FlushedBasis(key, *request);
  return basis;
}

absl::StatusOr<Commits::Basis> Commits::LoadBasis(const SessionKey& key,
                                                  const std::optional<RequestId>& request) {
  Params params;
  params.Text(key.tenant.value()).Text(key.session.value());
  request ? params.Text(request->value()) : params.Null();
  params.Time(RepliesSince(database_.store_clock.Now()));
  ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kLoad, params));
  return ReadBasis(rows, 0, key);
}

absl::StatusOr<Commits::Basis> Commits::FlushedBasis(const SessionKey& key,
                                                     const RequestId& request) {
  Params params;
  params.Text(key.tenant.value()).Text(key.session.value()).Text(request.value());
  params.Time(RepliesSince(database_.store_clock.Now()));
  const bool unflushed = Sabotaged(Saboteur::kNoReplyFlush);
  for (int look = 0; look < kFlushedLooks; ++look) {
    ASSIGN_OR_RETURN(const Rows rows,
                     database_.AskFlushed(unflushed ? kLoad : kLoadFlushed, params));
    ASSIGN_OR_RETURN(Basis basis, ReadBasis(rows, 0, key));
    if (!basis.stored.refusal.ok() || unflushed || rows.Bool(0, kWritten)) return basis;
  }
  return StoreUnavailable("the session is changing too fast: try again", Fate::kNoEffect);
}

absl::StatusOr<LoadedSession> Commits::Load(const SessionKey& key,
                                            const std::optional<RequestId>& request) {
  ASSIGN_OR_RETURN(Basis basis, LoadBasis(key, request));
  RETURN_IF_ERROR(basis.stored.refusal);
  if (basis.request) return LoadForOutcome(key, *request);
  return LoadedSession{.head = std::move(basis.stored.head), .request = std::nullopt};
}

// It may wait for the session's row as a change does, so it has the session's lock: one statement
// of a session waits for a lock, on one connection.
absl::StatusOr<LoadedSession> Commits::LoadForOutcome(const SessionKey& key,
                                                      const RequestId& request) {
  const SessionQueue::Lock lock(queue_, key);
  RETURN_IF_ERROR(lock.status());
  ASSIGN_OR_RETURN(Basis basis, FlushedBasis(key, request));
  RETURN_IF_ERROR(basis.stored.refusal);
  return LoadedSession{.head = std::move(basis.stored.head), .request = std::move(basis.request)};
}

// A lease may have ended since: whether it has is asked by the write.
Commits::Basis Commits::BasisOf(const VersionedHead& known) {
  Basis basis;
  basis.stored.version = known.version;
  basis.stored.sum = known.sum;
  basis.stored.head = known.head;
  LeaseRecord& lease = basis.stored.head.lease;
  lease.state = lease.held ? LeaseState::kExpired : LeaseState::kFree;
  return basis;
}

absl::StatusOr<Commits::Basis> Commits::FirstBasis(const Change& change) {
  if (const auto known = heads_.Find(change.key)) return BasisOf(*known);
  if (!change.create) {
    return FreshBasis(change.key,
                      change.request ? std::optional(change.request->id) : std::nullopt);
  }
  Basis basis;
  basis.stored.refusal = SessionIsNotThere();
  return basis;
}

absl::StatusOr<CommitResult> Commits::Commit(const Change& change) {
  const SessionQueue::Lock lock(queue_, change.key);
  RETURN_IF_ERROR(lock.status());
  const Earlier earlier = earlier_.Find(change.key).value_or(Earlier());
  if (earlier.lost > 0) earlier_.Forget(change.key);
  Progress progress{.lost = earlier.lost};
  ASSIGN_OR_RETURN(progress.basis, FirstBasis(change));
  absl::Status given_up;
  for (int round = 0; round < kRounds; ++round) {
    given_up = TryOnce(change, progress);
    if (progress.answer) {
      // Whatever a broken connection carried out has told nobody here.
      if (progress.broken > 0 || earlier.in_doubt) Tell(change.key);
      if (earlier.in_doubt) earlier_.Forget(change.key);
      return *std::move(progress.answer);
    }
    if (!given_up.ok()) break;
  }
  // Once a connection broke under it, only an answer of the database says what became of it.
  if (progress.broken > 0) {
    return StoreUnavailable("the database went away during the change", Fate::kUnknown);
  }
  if (!given_up.ok()) return given_up;
  return StoreUnavailable("the session is changing too fast: try again", Fate::kNoEffect);
}

absl::Status Commits::TryOnce(const Change& change, Progress& progress) {
  ASSIGN_OR_RETURN(Decision decision, Decide(change, progress.basis));
  if (decision.answer) {
    if (progress.basis.fresh) {
      progress.answer = std::move(decision.answer);
      return absl::OkStatus();
    }
    const auto request = change.request ? std::optional(change.request->id) : std::nullopt;
    ASSIGN_OR_RETURN(progress.basis, FreshBasis(change.key, request));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Attempt attempt, Write(change, std::move(decision)));
  if (attempt.applied) {
    progress.answer = *std::move(attempt.applied);
  } else if (attempt.moved) {
    progress.basis = *std::move(attempt.moved);
  } else if (LostToAnother(attempt.failure)) {
    if (++progress.lost == kLost) return RefusalFor(attempt.failure);
    PauseAfterLoss(progress.lost);
  } else {
    healthy_ = false;
    if (attempt.failure.effect == Effect::kNone || ++progress.broken == kBroken) {
      return RefusalFor(attempt.failure);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Commits::Decision> Commits::Decide(const Change& change, const Basis& basis) {
  Decision decision;
  const absl::Status& refusal = basis.stored.refusal;
  const bool absent = Is(refusal, Reason::kSessionNotFound);
  if (!refusal.ok() && !(absent && change.create)) {
    decision.answer = refusal;
    return decision;
  }
  ASSIGN_OR_RETURN(std::optional<CommitResult> answer,
                   AnswerWithoutDecision(change, absent ? nullptr : &basis.stored.head,
                                         basis.request ? &*basis.request : nullptr));
  if (answer) {
    decision.answer = *std::move(answer);
    return decision;
  }
  if (!absent) return DecideChange(change, basis);
  Basis nothing = basis;
  nothing.stored.head = EmptyHead(Facts());
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
    return ReadEntries(commits_.database_, change_.key, stored_.head,
                       {.turn = turn, .first = first, .last = last});
  }
  absl::StatusOr<bool> HoldsUpload(const UploadLink& link) override {
    if (reads_ == Reads::kMayNot) return MayNotRead();
    return commits_.uploads_.Holds(change_.key, link);
  }
  absl::StatusOr<std::optional<Refusal>> CheckSlots(const Applied& applied) override {
    const SlotBasis basis{.key = change_.key, .sum = stored_.sum, .head = stored_.head};
    if (reads_ == Reads::kMay) {
      ASSIGN_OR_RETURN(slots_, commits_.slot_counts_.Check(basis, applied));
    } else {
      std::optional<SlotVerdict> known = commits_.slot_counts_.CheckKnown(basis, applied);
      if (!known) return MayNotRead();
      slots_ = *std::move(known);
    }
    return slots_.refusal;
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

absl::StatusOr<Commits::Decision> Commits::DecideChange(const Change& change, const Basis& basis,
                                                        Reads reads) {
  const Head& head = basis.stored.head;
  ReadsOf session(*this, change, basis.stored, reads);
  ASSIGN_OR_RETURN(ChangeDecision decided, DecideOnHead(change, head, Facts(), session));
  Decision decision;
  if (decided.answer) {
    decision.answer = *std::move(decided.answer);
    return decision;
  }
  decision.applied = std::move(decided.applied);
  decision.slots = session.TakeSlots();
  decision.change = {.change = &change,
                     .version = basis.stored.version,
                     .was = basis.stored.sum,
                     .needs_free = NeedsFreeLease(head, change.guard),
                     .turn_began_behind = head.turn ? head.turn->journal_before : JournalNumber()};
  return decision;
}

absl::StatusOr<Commits::Attempt> Commits::Write(const Change& change, Decision decision) {
  decision.change.applied = &decision.applied;
  const HeadRow row(change, decision.applied);
  decision.change.row = &row;
  return TakeAnswer(committer_.Write(decision.change), row, decision);
}

absl::StatusOr<Commits::Attempt> Commits::TakeAnswer(const Written& written,
                                                     const HeadRow& head_row, Decision& decision) {
  const Change& change = *decision.change.change;
  RETURN_IF_ERROR(written.unreached);
  Attempt attempt;
  if (written.failure) {
    attempt.failure = *written.failure;
    return attempt;
  }
  const Rows& rows = *written.rows;
  const size_t row = written.row;
  if (!rows.Bool(row, kOutcomeApplied)) {
    std::shared_ptr<const VersionedHead> known;
    if (Sabotaged(Saboteur::kNoVersionCheck)) known = heads_.Find(change.key);
    ASSIGN_OR_RETURN(attempt.moved, ReadBasis(rows, row, change.key));
    StoredHead& now = attempt.moved->stored;
    if (known) now.head = known->head;
    // What this server knew is gone, also where its version was a later one.
    if (now.refusal.ok()) {
      heads_.Replace(change.key, {.version = now.version, .sum = now.sum, .head = now.head});
    }
    if (rows.Bool(row, kOutcomeUploaded)) return attempt;
    attempt.applied = Refused(UploadIsGone(), attempt.moved->stored.head);
    return attempt;
  }
  healthy_ = true;
  Applied& applied = decision.applied;
  Evaluate(LeaseLeft(rows, row, kStoredHeadColumns - 1), applied.head);
  attempt.applied = CommitResult{.kind = CommitResult::Kind::kApplied,
                                 .receipt = std::move(applied.receipt),
                                 .head = std::move(applied.head),
                                 .refusal = absl::OkStatus(),
                                 .events = std::move(applied.events)};
  slot_counts_.Note({.key = change.key, .sum = head_row.sum, .head = attempt.applied->head},
                    decision.slots);
  Publish(change, *attempt.applied,
          {.version = rows.Int(row, 0), .sum = head_row.sum, .head = attempt.applied->head});
  return attempt;
}

struct Commits::Member {
  explicit Member(size_t nth) : place(nth) {}

  size_t place;  // among the changes of its group
  std::optional<SessionQueue::Lock> lock;
  Decision decision;
  HeadRow row;
};

bool Commits::DecideForGroup(const Change& change, Member& member) {
  const std::shared_ptr<const VersionedHead> known = heads_.Find(change.key);
  if (!known || change.create) return false;
  member.lock.emplace(queue_, change.key, WhenLocked::kRefuse);
  if (!member.lock->status().ok()) return false;
  absl::StatusOr<Decision> decision = DecideChange(change, BasisOf(*known), Reads::kMayNot);
  if (!decision.ok() || decision->answer) return false;
  member.decision = *std::move(decision);
  member.row = HeadRow(change, member.decision.applied);
  member.decision.change.applied = &member.decision.applied;
  member.decision.change.row = &member.row;
  return committer_.MayJoin(member.decision.change);
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
    const DecidedChange& decided = member.decision.change;
    writes.push_back({.change = &decided, .bytes = BytesOf(decided), .span = grouped.span});
  }
  std::vector<GroupedResult> results(changes.size());
  if (writes.empty()) return results;
  const std::vector<std::optional<Written>> written = committer_.WriteMany(writes);
  auto next = written.begin();
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
  earlier_.Put(member.decision.change.change->key, earlier, [](const Earlier&) { return false; });
}

GroupedResult Commits::Answer(const Written& written, Member& member) {
  using Kind = GroupedResult::Kind;
  absl::StatusOr<Attempt> attempt = TakeAnswer(written, member.row, member.decision);
  if (!attempt.ok()) return {.kind = Kind::kDone, .result = attempt.status()};
  if (attempt->applied) {
    // Refusals are for the whole way, which sees the stored reply too.
    if (attempt->applied->kind != CommitResult::Kind::kApplied) return {};
    return {.kind = Kind::kDone, .result = *std::move(attempt->applied)};
  }
  if (attempt->moved) return AnswerMoved(*member.decision.change.change, *attempt->moved);
  if (LostToAnother(attempt->failure)) {
    Remember(member, {.lost = 1});
    return {};
  }
  healthy_ = false;
  if (attempt->failure.effect == Effect::kNone) {
    return {.kind = Kind::kDone, .result = RefusalFor(attempt->failure)};
  }
  return {.kind = Kind::kInDoubt};
}

GroupedResult Commits::AnswerMoved(const Change& change, const Basis& now) {
  if (!now.stored.refusal.ok() || !now.request) return {};
  // The group wrote the session again: the reply has been flushed, and has reached the standby.
  CommitResult repeated = AnswerToRepeat(*change.request, *now.request, now.stored.head);
  if (repeated.kind != CommitResult::Kind::kRepeated) return {};
  return {.kind = GroupedResult::Kind::kDone, .result = std::move(repeated)};
}

void Commits::Publish(const Change& change, const CommitResult& result, VersionedHead known) {
  if (change.tombstone) {
    heads_.Forget(change.key);
  } else {
    heads_.Put(change.key, std::move(known));
  }
  if (change.upload) uploads_.Forget(change.key, change.upload->id);
  if (!result.events.empty()) Tell(change.key);
  retention_.Note(change, result.head);
}

void Commits::Tell(const SessionKey& key) {
  change_notifier_.Notify(key);
  notifier_.Touch(key);
}

}  // namespace holdfast::pg
