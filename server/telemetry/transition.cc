#include "server/telemetry/transition.h"

namespace holdfast {
namespace {

// The only state that `trigger` is legal in, or kStateUnknown.
size_t OnlyStateOf(Trigger trigger) {
  size_t only = kStateUnknown;
  for (size_t state = 0; state < kLifecycles; ++state) {
    if (Next(static_cast<Lifecycle>(state), trigger).verdict != Verdict::kLegal) continue;
    if (only != kStateUnknown) return kStateUnknown;
    only = state;
  }
  return only;
}

// The premise held, for the change was applied.
size_t StateBefore(const Change& change, const Head& after) {
  if (change.create) return kStateAbsent;
  if (change.premise) return static_cast<size_t>(change.premise->lifecycle);
  if (!change.to) return static_cast<size_t>(after.lifecycle);
  return OnlyStateOf(change.guard.trigger);
}

}  // namespace

std::optional<AppliedTransition> TransitionOf(const Change& change, const Head& after) {
  if (!change.to && !change.tombstone) return std::nullopt;
  return AppliedTransition{
      .from = StateBefore(change, after),
      .to = change.tombstone ? kStateDeleted : static_cast<size_t>(*change.to),
      .trigger = change.create ? kTriggerCreate : static_cast<size_t>(change.guard.trigger)};
}

std::string_view StateName(size_t state) {
  if (state < kLifecycles) return Name(static_cast<Lifecycle>(state));
  if (state == kStateAbsent) return "NONE";
  return state == kStateDeleted ? "DELETED" : "UNKNOWN";
}

std::string_view TriggerName(size_t trigger) {
  return trigger == kTriggerCreate ? "Create" : Name(static_cast<Trigger>(trigger));
}

}  // namespace holdfast
