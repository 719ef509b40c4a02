#include "session/bounds.h"

#include "session/saboteur.h"

#include <algorithm>

namespace holdfast {
namespace {

std::optional<Refusal> CheckGrowth(const char* field, size_t limit, size_t before, size_t after) {
  if (after <= limit || after <= before || Sabotaged(Saboteur::kNoBounds)) return std::nullopt;
  return TooLarge(field, limit, after);
}

}  // namespace

size_t AttributeBytes(const Head& head) {
  size_t bytes = 0;
  for (const auto& [key, value] : head.attributes) bytes += key.size() + value.size();
  return bytes;
}

std::optional<Refusal> CheckAttributes(const Head& before, const Head& after) {
  if (auto refusal = CheckGrowth("attributes", kAttributesPerSession, before.attributes.size(),
                                 after.attributes.size())) {
    return refusal;
  }
  return CheckGrowth("attributes", kAttributeBytesPerSession, AttributeBytes(before),
                     AttributeBytes(after));
}

std::optional<Refusal> CheckSlotCount(size_t before, size_t after) {
  return CheckGrowth("slots", kSlotsPerSession, before, after);
}

size_t SlotsAddedAtMost(const Head& before, const Applied& applied) {
  // The store's own slot is not counted.
  const auto counts = [](const Slot& slot) { return slot.owner != kStoreSlotOwner; };
  auto most = static_cast<size_t>(std::ranges::count_if(applied.slots, counts));
  most += static_cast<size_t>(std::ranges::count_if(applied.entries, UpdatesSlotAtOnce));
  // Each entry of the turn that no snapshot holds yet may be an update of another slot.
  if (applied.applied_turn && before.turn) {
    most += before.turn->last_entry.value() - applied.applied_after.value();
  }
  return most;
}

void SlotOwners::Add(const std::string& owner) {
  if (owner != kStoreSlotOwner) owners_.insert(owner);
}

void SlotOwners::Name(const std::string& owner) {
  if (owner == kStoreSlotOwner || unnamed_ == 0) return;
  if (owners_.insert(owner).second) --unnamed_;
}

void SlotOwners::AddPending(const std::string& owner) { pending_.insert(owner); }

void SlotOwners::Take(const Applied& applied) {
  if (applied.applied_turn) owners_.merge(pending_);
  if (applied.applied_turn || applied.dropped) pending_.clear();
  for (const std::string& owner : applied.deleted_slots) owners_.erase(owner);
  for (const Slot& slot : applied.slots) Add(slot.owner);
  for (const JournalEntry& entry : applied.entries) {
    if (!entry.slot) continue;
    UpdatesSlotAtOnce(entry) ? Add(entry.slot->owner) : AddPending(entry.slot->owner);
  }
}

}  // namespace holdfast
