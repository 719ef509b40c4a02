#include "tests/history/refusals.h"

namespace holdfast::history {
namespace {

bool MayWrite(const Asked& asked, const State& state) {
  return asked.epoch != 0 && asked.epoch == state.epoch && state.held;
}

bool EndsTurn(Method method) { return method == Method::kCommit || method == Method::kAbandon; }

bool NotPossibleIn(const Asked& asked, const State& state) {
  if (!MayWrite(asked, state)) return false;
  if (asked.method == Method::kBegin) return state.lifecycle == Lifecycle::kClosed;
  return EndsTurn(asked.method) && state.turn == 0;
}

bool OfAnotherTurn(const Asked& asked, const State& state) {
  if (!MayWrite(asked, state) || asked.turn == state.turn) return false;
  return asked.method == Method::kAppend || (EndsTurn(asked.method) && state.turn != 0);
}

}  // namespace

bool Justified(const Asked& asked, Cause cause, const State& state) {
  const bool exists = state.revision > 0;
  switch (cause) {
    case Cause::kFenced:
      return exists && asked.epoch != 0 && asked.epoch < state.epoch;
    case Cause::kLeaseRequired:
      return exists && (asked.epoch == 0 || (asked.epoch == state.epoch && !state.held));
    case Cause::kLeaseHeld:
      return asked.method == Method::kResume && !asked.force && state.held;
    case Cause::kConcurrentTurn:
      return asked.method == Method::kBegin && MayWrite(asked, state) && state.turn != 0;
    case Cause::kIllegalTransition:
      return NotPossibleIn(asked, state);
    case Cause::kStaleTurn:
      return OfAnotherTurn(asked, state);
    case Cause::kStaleRevision:
      return asked.expected_revision != 0 && MayWrite(asked, state) &&
             asked.expected_revision < state.revision;
    case Cause::kSessionExists:
      return asked.method == Method::kCreate && exists;
    case Cause::kSessionNotFound:
      return !exists;
    case Cause::kNoEffect:
      return true;
    case Cause::kNone:
    case Cause::kOther:
      return false;
  }
  return false;
}

}  // namespace holdfast::history
