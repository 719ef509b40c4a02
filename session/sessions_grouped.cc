// The halves of the calls whose changes are committed together.
#include "platform/status_macros.h"
#include "session/cancel_requests.h"
#include "session/check_command.h"
#include "session/refusal.h"
#include "session/secrets/secret_check.h"
#include "session/sessions.h"

#include <optional>
#include <type_traits>
#include <utility>

namespace holdfast {
namespace {

template <typename Command>
constexpr bool kBegins = std::is_same_v<Command, BeginTurnCommand>;

// Whether the call reads or writes something else behind its change.
template <typename Command>
bool DoesMore(const Head& head, const Command& command) {
  if constexpr (requires { command.checkpoint; }) {
    if (command.checkpoint) return true;
  }
  return EndingCancelRequest(head) != nullptr || (kBegins<Command> && head.sm_slot_pending);
}

template <typename Command>
bool IsValid(const SecretScanner& secrets, const Command& command) {
  if constexpr (kBegins<Command>) {
    return CheckSecrets(secrets, command).ok();
  } else {
    return CheckCommand(secrets, command).ok();
  }
}

}  // namespace

template <typename Command>
std::optional<PreparedChange> Sessions::Prepare(const Caller& caller, const Command& command) {
  if (!IsValid(secrets_, command)) return std::nullopt;
  SessionKey key{caller.tenant, command.session};
  const std::shared_ptr<const Head> head = store_.CachedHead(key);
  if (!head || DoesMore(*head, command)) return std::nullopt;
  absl::StatusOr<Decision> decision = Decide(*head, caller, command);
  if (!decision.ok() || !decision->change) return std::nullopt;
  return PreparedChange{.key = std::move(key), .change = *std::move(decision->change)};
}

template std::optional<PreparedChange> Sessions::Prepare(const Caller&, const BeginTurnCommand&);
template std::optional<PreparedChange> Sessions::Prepare(const Caller&,
                                                         const AppendJournalCommand&);
template std::optional<PreparedChange> Sessions::Prepare(const Caller&, const CommitTurnCommand&);
template std::optional<PreparedChange> Sessions::Prepare(const Caller&, const WriteCommand&);
template std::optional<PreparedChange> Sessions::Prepare(const Caller&, const AbandonTurnCommand&);

absl::StatusOr<MutationResult> Sessions::SettleChange(const PreparedChange& prepared,
                                                      absl::StatusOr<CommitResult> committed) {
  auto answer = Answer(prepared.key, prepared.change, committed);
  if (answer) return *std::move(answer);
  return StoreUnavailable("the session is changing too fast: try again", Fate::kNoEffect);
}

absl::StatusOr<MutationResult> Sessions::SettleAsked(const PreparedChange& prepared,
                                                     absl::StatusOr<CommitResult> committed) {
  ASSIGN_OR_RETURN(MutationResult result, SettleChange(prepared, std::move(committed)));
  CloseIfCancelled(prepared.key, result);
  return result;
}

absl::StatusOr<MutationResult> Sessions::Settle(const AppendJournalCommand& /*command*/,
                                                const PreparedChange& prepared,
                                                absl::StatusOr<CommitResult> committed) {
  return SettleChange(prepared, std::move(committed));
}

absl::StatusOr<BeginTurnResult> Sessions::Settle(const BeginTurnCommand& /*command*/,
                                                 const PreparedChange& prepared,
                                                 absl::StatusOr<CommitResult> committed) {
  ASSIGN_OR_RETURN(MutationResult result, SettleAsked(prepared, std::move(committed)));
  return HandOut(prepared.key, std::move(result));
}

absl::StatusOr<MutationResult> Sessions::Settle(const CommitTurnCommand& command,
                                                const PreparedChange& prepared,
                                                absl::StatusOr<CommitResult> committed) {
  absl::StatusOr<MutationResult> result = SettleAsked(prepared, std::move(committed));
  RETURN_IF_ERROR(failures_.Classify(prepared.key, command.turn, result.status()));
  return result;
}

absl::StatusOr<MutationResult> Sessions::Settle(const WriteCommand& /*command*/,
                                                const PreparedChange& prepared,
                                                absl::StatusOr<CommitResult> committed) {
  return SettleAsked(prepared, std::move(committed));
}

absl::StatusOr<MutationResult> Sessions::Settle(const AbandonTurnCommand& /*command*/,
                                                const PreparedChange& prepared,
                                                absl::StatusOr<CommitResult> committed) {
  return SettleAsked(prepared, std::move(committed));
}

}  // namespace holdfast
