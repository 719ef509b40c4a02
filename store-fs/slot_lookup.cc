#include "store-fs/slot_lookup.h"

#include "platform/status_macros.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace holdfast::fs {
namespace {

// Never nullopt.
absl::StatusOr<std::optional<SlotEntry>> DecodedInRun(const IndexEntry& entry) {
  std::optional<SlotEntry> slot = DecodeSlotEntry(entry);
  if (!slot) return absl::DataLossError("an entry of a run is no slot version");
  return slot;
}

// The greatest key that is not greater than `key`, of all runs. A compaction puts versions with
// their new places into a later run, so that an earlier one may have a greater key.
absl::StatusOr<std::optional<IndexEntry>> FindInRuns(const RunFiles& where, const Runs& runs,
                                                     const std::string& key) {
  std::optional<IndexEntry> best;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    ASSIGN_OR_RETURN(std::optional<IndexEntry> found, (*run)->FindAtOrBelow(where, key));
    if (!found) continue;
    if (!best || found->key > best->key) best = std::move(found);
    if ((*run)->info().is_later) break;
  }
  return best;
}

}  // namespace

absl::StatusOr<std::optional<SlotEntry>> FindSlot(const RunFiles& where, const IndexView& view,
                                                  const std::string& key) {
  const auto after = std::ranges::upper_bound(view.newer, key, {}, &IndexEntry::key);
  if (after != view.newer.begin()) {
    const IndexEntry& newer = *std::prev(after);
    // The positions of newer entries are later than those of all runs.
    if (newer.key.starts_with(FilterPart(key, kSlotKeySuffix))) return DecodedInRun(newer);
  }
  ASSIGN_OR_RETURN(const std::optional<IndexEntry> found, FindInRuns(where, view.runs, key));
  if (!found) return std::nullopt;
  return DecodedInRun(*found);
}

absl::Status VisitSlots(const RunFiles& where, const IndexView& view, VisitSlot visit) {
  IndexCursor cursor(where, view, IndexScan());
  std::optional<SlotEntry> entry;
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<IndexEntry> read, cursor.Next());
    std::optional<SlotEntry> next;
    if (read) {
      ASSIGN_OR_RETURN(next, DecodedInRun(*read));
    }
    const bool ends = entry && next && next->owner == entry->owner;
    if (entry) visit(*entry, ends ? std::optional(next->from) : std::nullopt);
    if (!next) return absl::OkStatus();
    entry = std::move(next);
  }
}

absl::StatusOr<std::vector<SlotVersion>> SlotsAt(const RunFiles& where, const IndexView& view,
                                                 Position at) {
  std::vector<SlotVersion> versions;
  RETURN_IF_ERROR(
      VisitSlots(where, view, [&](const SlotEntry& entry, std::optional<Position> until) {
        const bool counts = entry.from <= at && (!until || at < *until);
        if (counts && entry.version) versions.push_back(*entry.version);
      }));
  return versions;
}

bool KeptSlots::Contain(const IndexEntry& entry, const IndexEntry* next) const {
  const std::optional<SlotEntry> slot = DecodeSlotEntry(entry);
  if (!slot) return true;
  const std::optional<SlotEntry> after = next == nullptr ? std::nullopt : DecodeSlotEntry(*next);
  if (after && after->owner == slot->owner && after->from <= oldest) {
    return pins.ShowAnyOf(slot->from, after->from);
  }
  // A deletion hides what pinned snapshots have of the owner.
  return slot->version || !is_whole || slot->from > oldest || !pins.empty();
}

}  // namespace holdfast::fs
