#include "session/sessions.h"

#include "platform/status_macros.h"
#include "session/answers.h"
#include "session/cancel_requests.h"
#include "session/check_command.h"
#include "session/fingerprint.h"
#include "session/guard.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/secrets/secret_check.h"
#include "session/staged.h"
#include "session/validate.h"

namespace holdfast {
namespace {

// Rows that the search for a project's newest session looks at, each gone when it is read.
constexpr uint32_t kLatestRows = 64;
// After which a listing that was not complete is worth another look.
constexpr absl::Duration kListingRetry = absl::Seconds(1);

MutationResult ResultFrom(const SessionKey& key, CommitResult committed, bool repeated) {
  return {.session = key.session,
          .receipt = std::move(committed.receipt),
          .head = std::move(committed.head),
          .repeated = repeated};
}

// The answer to a call that wrote nothing because the session already was as it asked.
MutationResult UnchangedResult(const SessionKey& key, const Head& head) {
  Receipt receipt;
  receipt.revision = head.revision;
  receipt.before = head.revision;
  receipt.epoch = head.lease.epoch;
  receipt.messages = head.messages;
  receipt.snapshot = head.snapshots.back().at.revision;
  return {.session = key.session, .receipt = receipt, .head = head, .repeated = false};
}

// The same request in another guise is refused; the same one is answered with its stored receipt.
absl::StatusOr<MutationResult> Repeat(const SessionKey& key, const LoadedSession& loaded,
                                      const RequestStamp& stamp) {
  if (!SameRequest(loaded.request->stamp, stamp)) return RequestIdReused(stamp, *loaded.request);
  return MutationResult{.session = key.session,
                        .receipt = loaded.request->receipt,
                        .head = loaded.head,
                        .repeated = true};
}

bool EndsTurnOrLease(const Change& change) {
  return change.end_turn || change.ends_lease || change.raises_epoch;
}

// The session id is derived from the request, so that a repeat of the request finds its own
// session.
SessionId DerivedId(const TenantId& tenant, const RequestId& request) {
  const Digest digest = Sha256(tenant.value() + '\n' + request.value());
  return *SessionId::Parse(UuidText(View(digest), 8));
}

}  // namespace

Sessions::Sessions(SessionStore& store, Random& random, const SecretScanner& secrets)
    : store_(store),
      random_(random),
      secrets_(secrets),
      recovery_(store, DueKind::kAbandoned),
      cancellation_(store, DueKind::kCancelled) {}

template <typename Command>
absl::StatusOr<MutationResult> Sessions::ExecuteAsked(const Caller& caller,
                                                      const Command& command) {
  const Asked asked{.id = command.request, .stamp = [&] { return StampOf(command); }};
  const SessionKey key{caller.tenant, command.session};
  ASSIGN_OR_RETURN(MutationResult result, Execute(key, asked, [&](const Head& head) {
                     return Decide(head, caller, command);
                   }));
  CloseIfCancelled(key, result);
  return result;
}

void Sessions::CloseIfCancelled(const SessionKey& key, MutationResult& result) {
  if (result.head.turn || EndingCancelRequest(result.head) == nullptr) return;
  absl::StatusOr<MutationResult> closed =
      ExecuteOnLoaded(key, std::nullopt, [&](const Head& head) -> absl::StatusOr<Decision> {
        if (head.turn) return Decision();
        return DecideCancelled(head, key);
      });
  if (closed.ok()) result.head = std::move(closed->head);
}

absl::StatusOr<MutationResult> Sessions::Execute(const SessionKey& key,
                                                 const std::optional<Asked>& asked,
                                                 const Decider& decide, int retries) {
  // A remembered head may let the command through, for the store's guards decide. It may neither
  // refuse nor say that there is nothing to do.
  if (const std::shared_ptr<const Head> cached = store_.CachedHead(key)) {
    absl::StatusOr<Decision> decision = decide(*cached);
    if (decision.ok() && decision->change) {
      return CommitUntilSettled(key, *std::move(decision->change), decide, retries);
    }
  }
  return ExecuteOnLoaded(key, asked, decide, retries);
}

absl::StatusOr<MutationResult> Sessions::ExecuteOnLoaded(const SessionKey& key,
                                                         const std::optional<Asked>& asked,
                                                         const Decider& decide, int retries) {
  const auto id = asked ? std::optional(asked->id) : std::nullopt;
  ASSIGN_OR_RETURN(LoadedSession loaded, store_.LoadForDecision(key, id));
  if (loaded.request) return Repeat(key, loaded, asked->stamp());
  ASSIGN_OR_RETURN(Decision decision, decide(loaded.head));
  if (!decision.change) return UnchangedResult(key, loaded.head);
  return CommitUntilSettled(key, *std::move(decision.change), decide, retries);
}

std::optional<absl::StatusOr<MutationResult>> Sessions::Answer(
    const SessionKey& key, const Change& change, absl::StatusOr<CommitResult>& committed) {
  if (!committed.ok()) return committed.status();
  switch (committed->kind) {
    case CommitResult::Kind::kApplied:
      if (on_turn_or_lease_end_ && EndsTurnOrLease(change)) on_turn_or_lease_end_(key);
      return ResultFrom(key, *std::move(committed), false);
    case CommitResult::Kind::kRepeated:
      return ResultFrom(key, *std::move(committed), true);
    case CommitResult::Kind::kRefused:
      return committed->refusal;
    case CommitResult::Kind::kMoved:
      break;
  }
  return std::nullopt;
}

absl::StatusOr<MutationResult> Sessions::CommitUntilSettled(const SessionKey& key, Change change,
                                                            const Decider& decide, int retries) {
  for (int attempt = 0; attempt < retries; ++attempt) {
    absl::StatusOr<CommitResult> committed = store_.Commit(change);
    if (auto answer = Answer(key, change, committed)) return *std::move(answer);
    ASSIGN_OR_RETURN(Decision decision, decide(committed->head));
    if (!decision.change) return UnchangedResult(key, committed->head);
    change = *std::move(decision.change);
  }
  return StoreUnavailable("the session is changing too fast: try again", Fate::kNoEffect);
}

absl::StatusOr<MutationResult> Sessions::Create(const Caller& caller,
                                                const CreateCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  const SessionId session = command.session.value_or(DerivedId(caller.tenant, command.request));
  return CreateAs(caller, command, session, StampOf(command));
}

template <typename Command>
absl::StatusOr<MutationResult> Sessions::OrCreateMissing(const Caller& caller,
                                                         const Command& command,
                                                         absl::StatusOr<MutationResult> result) {
  if (!CreatesMissing(command, result.status())) return result;
  const SessionKey key{caller.tenant, command.session};
  const std::optional<Change> change = DecideCreate(caller, key, command, FreshCreation());
  if (!change) return result;
  result =
      CommitUntilSettled(key, *change, [&](const Head&) { return Decision{.change = change}; });
  // Another call created it meanwhile: write to that session.
  return Is(result.status(), Reason::kSessionExists) ? ExecuteAsked(caller, command) : result;
}

Fresh Sessions::FreshCreation() {
  return {.uid = *SessionUid::Parse(UuidText(random_.Bytes(16), 4)),
          .secret = random_.Bytes(kSecretBytes)};
}

absl::StatusOr<MutationResult> Sessions::CreateAs(const Caller& caller,
                                                  const CreateCommand& command,
                                                  const SessionId& session,
                                                  const RequestStamp& stamp) {
  const SessionKey key{caller.tenant, session};
  Change change = DecideCreate(caller, key, command, stamp, FreshCreation());
  return CommitUntilSettled(key, change, [&](const Head&) { return Decision{.change = change}; });
}

absl::StatusOr<Head> Sessions::Get(const Caller& caller, const SessionId& session) {
  ASSIGN_OR_RETURN(LoadedSession loaded,
                   store_.LoadForDecision({caller.tenant, session}, std::nullopt));
  return std::move(loaded.head);
}

// A listing may be out of date: a session may be deleted between its row and its read, and then the
// next row counts. An incomplete listing does not show which session is the newest, nor that there
// is none.
absl::StatusOr<std::pair<SessionId, Head>> Sessions::Latest(const Caller& caller,
                                                            const std::string& project_root) {
  ListQuery query{.tenant = caller.tenant,
                  .project_root = project_root,
                  .lifecycles = {},
                  .kinds = {SessionKind::kLeased},
                  .descending = true,
                  .after = std::nullopt,
                  .limit = 1};
  for (uint32_t looked = 0; looked < kLatestRows; ++looked) {
    ASSIGN_OR_RETURN(const ListPage page, store_.List(query));
    if (!page.complete) {
      return StoreUnavailable("the store is still finding out what it holds: ask again",
                              Fate::kNoEffect)
          .RetryAfter(kListingRetry);
    }
    if (page.rows.empty()) {
      return Refusal(Reason::kNoSnapshot, "no session of this project is stored here")
          .With("project_root", project_root);
    }
    const SessionRow& row = page.rows.front();
    absl::StatusOr<Head> head = Get(caller, row.id);
    if (head.ok()) return std::pair(row.id, *std::move(head));
    const bool gone =
        Is(head.status(), Reason::kTombstoned) || Is(head.status(), Reason::kSessionNotFound);
    if (!gone) return head.status();
    query.after = ListKey{.created_at = row.created_at, .id = row.id.value()};
  }
  return StoreUnavailable("the project is changing too fast: ask again", Fate::kNoEffect)
      .RetryAfter(kListingRetry);
}

absl::StatusOr<MutationResult> Sessions::Update(const Caller& caller,
                                                const UpdateCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  return ExecuteAsked(caller, command);
}

absl::StatusOr<BeginTurnResult> Sessions::BeginTurn(const Caller& caller,
                                                    const BeginTurnCommand& command) {
  RETURN_IF_ERROR(CheckSecrets(secrets_, command));
  const SessionKey key{caller.tenant, command.session};
  ASSIGN_OR_RETURN(MutationResult result, ExecuteAsked(caller, command));
  return HandOut(key, std::move(result));
}

absl::StatusOr<BeginTurnResult> Sessions::HandOut(const SessionKey& key, MutationResult result) {
  BeginTurnResult begun{
      .result = std::move(result), .sm_slot = std::nullopt, .inline_omitted = false};
  const MutationResult& mutation = begun.result;
  if (!mutation.receipt.sm_slot_handed_out || !mutation.head.sm) return begun;
  begun.inline_omitted = mutation.repeated;
  if (mutation.repeated) return begun;
  // The turn has begun whatever becomes of this read: core work never depends on a slot.
  absl::StatusOr<SlotPage> page = store_.ReadSlots(key, {.revision = mutation.receipt.revision,
                                                         .owners = {mutation.head.sm->ext_id},
                                                         .most_bytes = kInlineBytes});
  if (!page.ok() || page->uid != mutation.head.uid) {
    begun.inline_omitted = true;
  } else if (!page->slots.empty() && !page->slots.front().damaged) {
    Slot& slot = page->slots.front().slot;
    begun.inline_omitted =
        page->slots.front().size > kInlineBytes || !ResolveUpload(store_, key, slot).ok();
    if (!begun.inline_omitted) begun.sm_slot = std::move(slot);
  }
  return begun;
}

absl::StatusOr<MutationResult> Sessions::AppendJournal(const Caller& caller,
                                                       const AppendJournalCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  return Execute({caller.tenant, command.session}, std::nullopt,
                 [&](const Head& head) { return Decide(head, caller, command); });
}

absl::StatusOr<MutationResult> Sessions::CommitTurn(const Caller& caller,
                                                    const CommitTurnCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  const SessionKey key{caller.tenant, command.session};
  absl::StatusOr<MutationResult> result =
      NameTheCheckpoint(key, command.checkpoint, ExecuteAsked(caller, command));
  RETURN_IF_ERROR(failures_.Classify(key, command.turn, result.status()));
  return result;
}

absl::StatusOr<MutationResult> Sessions::Write(const Caller& caller, const WriteCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  absl::StatusOr<MutationResult> result = ExecuteAsked(caller, command);
  result = OrCreateMissing(caller, command, std::move(result));
  return NameTheCheckpoint({caller.tenant, command.session}, command.checkpoint, std::move(result));
}

absl::StatusOr<MutationResult> Sessions::PutItems(const Caller& caller,
                                                  const PutItemsCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  absl::StatusOr<MutationResult> result = ExecuteAsked(caller, command);
  return OrCreateMissing(caller, command, std::move(result));
}

absl::StatusOr<RelatedPage> Sessions::ReadItems(const Caller& caller, const SessionId& session,
                                                const RelatedQuery& query, PageLimit limit) {
  RETURN_IF_ERROR(Validate(query));
  return ReadRelatedItems(store_, {caller.tenant, session}, query, limit);
}

template <typename Command>
absl::StatusOr<std::optional<MutationResult>> Sessions::PrecheckAs(Method method,
                                                                   const Caller& caller,
                                                                   const Command& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  const SessionKey key{caller.tenant, command.session};
  ASSIGN_OR_RETURN(const LoadedSession loaded, store_.LoadForDecision(key, command.request));
  if (loaded.request) {
    // The id alone decides: what the request means is not known before it is all there.
    RequestStamp stamp = loaded.request->stamp;
    stamp.method = method;
    ASSIGN_OR_RETURN(MutationResult result, Repeat(key, loaded, stamp));
    return result;
  }
  if (auto refusal = CheckGuard(loaded.head, GuardOf(command), {})) return refusal->ToStatus();
  return std::nullopt;
}

absl::StatusOr<std::optional<MutationResult>> Sessions::Precheck(const Caller& caller,
                                                                 const CommitTurnCommand& command) {
  return PrecheckAs(Method::kCommitTurn, caller, command);
}

absl::StatusOr<std::optional<MutationResult>> Sessions::Precheck(const Caller& caller,
                                                                 const WriteCommand& command) {
  return PrecheckAs(Method::kWrite, caller, command);
}

absl::StatusOr<MutationResult> Sessions::AbandonTurn(const Caller& caller,
                                                     const AbandonTurnCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  return ExecuteAsked(caller, command);
}

absl::StatusOr<MutationResult> Sessions::Close(const Caller& caller, const CloseCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  return ExecuteAsked(caller, command);
}

absl::StatusOr<Draining> Sessions::Drain(const Caller& caller, const CloseCommand& command) {
  RETURN_IF_ERROR(Validate(command));
  ASSIGN_OR_RETURN(const LoadedSession loaded,
                   store_.LoadForDecision({caller.tenant, command.session}, command.request));
  Draining draining{.active = false, .committed = loaded.head.committed_turns};
  if (loaded.request || !loaded.head.turn) return draining;
  RETURN_IF_ERROR(Decide(loaded.head, caller, command).status());
  draining.active = true;
  return draining;
}

absl::StatusOr<MutationResult> Sessions::Delete(const Caller& caller,
                                                const DeleteCommand& command) {
  RETURN_IF_ERROR(CheckSecrets(secrets_, command));
  absl::StatusOr<MutationResult> result = ExecuteAsked(caller, command);
  // Deleting a deleted session answers OK again.
  if (Is(result.status(), Reason::kTombstoned)) {
    return MutationResult{.session = command.session, .receipt = {}, .head = {}, .repeated = true};
  }
  return result;
}

absl::StatusOr<MutationResult> Sessions::Cancel(const Caller& caller,
                                                const CancelCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  return ExecuteAsked(caller, command);
}

absl::StatusOr<MutationResult> Sessions::Release(const Caller& caller,
                                                 const ReleaseCommand& command) {
  RETURN_IF_ERROR(CheckSecrets(secrets_, command));
  return ExecuteAsked(caller, command);
}

std::vector<absl::StatusOr<Renewed>> Sessions::Renew(const std::vector<RenewRequest>& requests) {
  return store_.RenewLeases(requests);
}

absl::StatusOr<size_t> Sessions::RunSweep(Sweep& sweep, absl::Duration quiet, size_t limit,
                                          const SweepDecider& decide) {
  const auto act = [&](const SessionKey& key) {
    return ExecuteOnLoaded(key, std::nullopt, [&](const Head& head) { return decide(head, key); })
        .status();
  };
  return sweep.Run(quiet, limit, act, on_sweep_failure_, [this] { return sweeps_stopped_.load(); });
}

absl::StatusOr<size_t> Sessions::RecoverDue(absl::Duration abandon_after, size_t limit) {
  return RunSweep(recovery_, abandon_after, limit, DecideRecovery);
}

absl::StatusOr<size_t> Sessions::EndCancelled(absl::Duration grace, size_t limit) {
  return RunSweep(cancellation_, grace, limit, DecideCancelled);
}

}  // namespace holdfast
