#include "store-postgres/slot_counts.h"

#include "platform/status_macros.h"
#include "session/bounds.h"
#include "session/limits.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace holdfast::pg {
namespace {

constexpr Statement kOwners = {
    "slot_owners",
    "SELECT v.owner FROM ("
    " SELECT DISTINCT ON (x.owner) x.owner, x.rec IS NOT NULL AS there FROM holdfast.slot x"
    " WHERE x.tenant = $1 AND x.session_id = $2 ORDER BY x.owner, x.revision DESC) v"
    " WHERE v.there"};
constexpr Statement kPendingOwners = {
    "pending_slot_owners",
    "SELECT DISTINCT slot_owner FROM holdfast.journal WHERE tenant = $1 AND session_id = $2"
    " AND number > $3 AND turn = $4 AND entry > $5 AND slot_owner IS NOT NULL"};

// What the head alone says: no change writes more slots than one may, and no entry more than one.
size_t EverAtMost(const Head& head) {
  const uint64_t revisions = std::min<uint64_t>(head.revision.value(), kSlotsPerSession);
  const uint64_t entries = std::min<uint64_t>(head.journal.value(), kSlotsPerSession);
  return static_cast<size_t>(revisions * kSlotsPerChange + entries);
}

}  // namespace

absl::StatusOr<SlotVerdict> SlotCounts::Check(const SlotCountInput& input, const Applied& applied) {
  if (auto verdict = CheckKnown(input, applied)) return *std::move(verdict);
  return Count(input, applied);
}

std::optional<SlotVerdict> SlotCounts::CheckKnown(const SlotCountInput& input,
                                                  const Applied& applied) {
  const size_t added = SlotsAddedAtMost(input.head, applied);
  const std::optional<size_t> known = Find(input);
  if (added == 0) return SlotVerdict{.refusal = {}, .at_most = known};
  if (!known || *known + added > kSlotsPerSession) return std::nullopt;
  return SlotVerdict{.refusal = {}, .at_most = *known + added};
}

absl::StatusOr<SlotVerdict> SlotCounts::Count(const SlotCountInput& input, const Applied& applied) {
  SlotOwners owners;
  Params params;
  params.Text(input.key.tenant.value()).Text(input.key.session.value());
  ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kOwners, params));
  for (size_t row = 0; row < rows.size(); ++row) owners.Add(std::string(rows.Text(row, 0)));
  const size_t there = owners.size();
  if (applied.applied_turn && input.head.turn) {
    const TurnRecord& turn = *input.head.turn;
    // Each entry of a turn has a number of the journal of its own: what was applied is behind that.
    params.Int(static_cast<int64_t>(turn.journal_before.value() + applied.applied_after.value()));
    params.Int(static_cast<int64_t>(turn.number.value()));
    params.Int(static_cast<int64_t>(applied.applied_after.value()));
    ASSIGN_OR_RETURN(const Rows pending, database_.Ask(kPendingOwners, params));
    for (size_t row = 0; row < pending.size(); ++row) {
      owners.AddPending(std::string(pending.Text(row, 0)));
    }
  }
  owners.Take(applied);
  return SlotVerdict{.refusal = CheckSlotCount(there, owners.size()), .at_most = owners.size()};
}

void SlotCounts::Note(const SlotCountInput& after, const SlotVerdict& verdict) {
  if (!verdict.at_most || EverAtMost(after.head) <= kSlotsPerSession) return;
  estimates_.Put(after.key, {.sum = after.sum, .at_most = *verdict.at_most},
                 [](const Estimate&) { return false; });
}

std::optional<size_t> SlotCounts::Find(const SlotCountInput& input) {
  const size_t ever = EverAtMost(input.head);
  if (ever <= kSlotsPerSession) return ever;
  const std::optional<Estimate> found = estimates_.Find(input.key);
  // Another head is another server's change, or one from before a failover.
  if (!found || found->sum != input.sum) return std::nullopt;
  return found->at_most;
}

}  // namespace holdfast::pg
