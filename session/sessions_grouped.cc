// The halves of the calls whose changes are committed together.
#include "session/check_command.h"
#include "session/marks.h"
#include "session/refusal.h"
#include "session/secret_check.h"
#include "session/sessions.h"
#include "session/status_macros.h"

#include <optional>
#include <type_traits>
#include <utility>

namespace holdfast {
namespace {

template <typename Command>
constexpr bool kBegins = std::is_same_v<Command, BeginTurnCommand>;

// Whether the call reads or writes something else behind its change.
template <typename Command>
bool DoesMore(const Head& head) {
  return EndingMark(head) != nullptr || (kBegins<Command> && head.sm_slot_pending);
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
  if (!head || DoesMore<Command>(*head)) return std::nullopt;
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

absl::StatusOr<Done> Sessions::SettleChange(const PreparedChange& prepared,
                                            absl::StatusOr<CommitResult> result) {
  auto answer = Answer(prepared.key, prepared.change, result);
  if (answer) return *std::move(answer);
  return StoreUnavailable("the session is changing too fast: try again", Fate::kNoEffect);
}

absl::StatusOr<Done> Sessions::SettleAsked(const PreparedChange& prepared,
                                           absl::StatusOr<CommitResult> result) {
  ASSIGN_OR_RETURN(Done done, SettleChange(prepared, std::move(result)));
  CloseIfCancelled(prepared.key, done);
  return done;
}

absl::StatusOr<Done> Sessions::Settle(const AppendJournalCommand& /*command*/,
                                      const PreparedChange& prepared,
                                      absl::StatusOr<CommitResult> result) {
  return SettleChange(prepared, std::move(result));
}

absl::StatusOr<Begun> Sessions::Settle(const BeginTurnCommand& /*command*/,
                                       const PreparedChange& prepared,
                                       absl::StatusOr<CommitResult> result) {
  ASSIGN_OR_RETURN(Done done, SettleAsked(prepared, std::move(result)));
  return HandOut(prepared.key, std::move(done));
}

absl::StatusOr<Done> Sessions::Settle(const CommitTurnCommand& command,
                                      const PreparedChange& prepared,
                                      absl::StatusOr<CommitResult> result) {
  absl::StatusOr<Done> done = SettleAsked(prepared, std::move(result));
  RETURN_IF_ERROR(failures_.Judge(prepared.key, command.turn, done.status()));
  return done;
}

absl::StatusOr<Done> Sessions::Settle(const WriteCommand& /*command*/,
                                      const PreparedChange& prepared,
                                      absl::StatusOr<CommitResult> result) {
  return SettleAsked(prepared, std::move(result));
}

absl::StatusOr<Done> Sessions::Settle(const AbandonTurnCommand& /*command*/,
                                      const PreparedChange& prepared,
                                      absl::StatusOr<CommitResult> result) {
  return SettleAsked(prepared, std::move(result));
}

}  // namespace holdfast
