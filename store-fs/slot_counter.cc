#include "store-fs/slot_counter.h"

#include "platform/status_macros.h"
#include "session/limits.h"

namespace holdfast::fs {

SlotCounter::SlotCounter(const RunFiles& where, const SessionState* state)
    : where_(where), state_(state), at_most_(state == nullptr ? 0 : state->slots.at_most()) {}

absl::StatusOr<std::optional<Refusal>> SlotCounter::Check(const Head& before,
                                                          const Applied& applied,
                                                          const std::vector<Applied>& taken) {
  if (!owners_ && at_most_ + SlotsAddedAtMost(before, applied) <= kSlotsPerSession) {
    return std::nullopt;
  }
  if (!owners_) {
    RETURN_IF_ERROR(BeginCounting(taken));
  }
  RETURN_IF_ERROR(NameOwners(applied));
  SlotOwners after = *owners_;
  after.Take(applied);
  return CheckSlotCount(owners_->size(), after.size());
}

void SlotCounter::Take(const Head& before, const Applied& applied) {
  at_most_ += SlotsAddedAtMost(before, applied);
  if (owners_) owners_->Take(applied);
}

absl::Status SlotCounter::BeginCounting(const std::vector<Applied>& taken) {
  size_t count = 0;
  if (state_ != nullptr) {
    ASSIGN_OR_RETURN(count, state_->slots.Count(where_));
    for (const auto& [owner, version] : state_->pending) pending_.insert(owner);
  }
  SlotOwners& owners = owners_.emplace(count);
  for (const std::string& owner : pending_) owners.AddPending(owner);
  for (const Applied& before : taken) {
    const absl::Status named = NameOwners(before);
    if (!named.ok()) {
      owners_.reset();
      return named;
    }
    owners.Take(before);
  }
  return absl::OkStatus();
}

absl::Status SlotCounter::NameOwners(const Applied& applied) {
  for (const JournalEntry& entry : applied.entries) {
    if (entry.slot) pending_.insert(entry.slot->owner);
  }
  for (const std::string& owner : applied.deleted_slots) {
    RETURN_IF_ERROR(NameOwner(owner));
  }
  for (const Slot& slot : applied.slots) {
    RETURN_IF_ERROR(NameOwner(slot.owner));
  }
  for (const JournalEntry& entry : applied.entries) {
    if (!UpdatesSlotAtOnce(entry)) continue;
    RETURN_IF_ERROR(NameOwner(entry.slot->owner));
  }
  if (!applied.applied_turn) return absl::OkStatus();
  for (const std::string& owner : pending_) {
    RETURN_IF_ERROR(NameOwner(owner));
  }
  return absl::OkStatus();
}

absl::Status SlotCounter::NameOwner(const std::string& owner) {
  if (state_ == nullptr || named_.contains(owner)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool has, state_->slots.Has(where_, owner));
  if (has) owners_->Name(owner);
  named_.insert(owner);
  return absl::OkStatus();
}

}  // namespace holdfast::fs
