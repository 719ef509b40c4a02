#include "store-fs/index_view.h"

#include "platform/status_macros.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace holdfast::fs {

absl::StatusOr<std::optional<IndexEntry>> RunLookup::Find(const std::string& key) {
  for (size_t at = runs_.size(); at > 0; --at) {
    ASSIGN_OR_RETURN(std::optional<IndexEntry> found,
                     runs_[at - 1]->FindAtOrBelow(where_, key, &memos_[at - 1]));
    if (found && found->key == key) return found;
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<IndexEntry>> FindEntry(const RunFiles& where, const IndexView& view,
                                                    const std::string& key) {
  const auto newer = std::ranges::lower_bound(view.newer, key, {}, &IndexEntry::key);
  if (newer != view.newer.end() && newer->key == key) {
    return newer->value ? std::optional(*newer) : std::nullopt;
  }
  ASSIGN_OR_RETURN(std::optional<IndexEntry> found, RunLookup(where, view.runs).Find(key));
  return found && found->value ? std::move(found) : std::nullopt;
}

IndexCursor::IndexCursor(const RunFiles& where, const IndexView& view, IndexScan scan)
    : scan_(std::move(scan)) {
  const bool ascends = scan_.direction == Direction::kAscending;
  const KeyRange& range = scan_.range;
  const auto first = std::ranges::lower_bound(view.newer, range.from, {}, &IndexEntry::key);
  const auto end = range.to.empty()
                       ? view.newer.end()
                       : std::ranges::lower_bound(view.newer, range.to, {}, &IndexEntry::key);
  const auto count = std::max<ptrdiff_t>(std::distance(first, end), 0);
  sources_.push_back(
      {.read = [first, count, ascends,
                taken = ptrdiff_t{0}]() mutable -> absl::StatusOr<std::optional<IndexEntry>> {
         if (taken == count) return std::nullopt;
         const ptrdiff_t at = ascends ? taken : count - 1 - taken;
         ++taken;
         return *std::next(first, at);
       },
       .next = std::nullopt});
  AddRuns(where, view.runs);
}

IndexCursor::IndexCursor(const RunFiles& where, const std::vector<const IndexLayer*>& layers,
                         const Runs& runs, IndexScan scan)
    : scan_(std::move(scan)) {
  for (const IndexLayer* layer : layers) {
    const auto cursor = std::make_shared<IndexLayerCursor>(*layer, scan_.range, scan_.direction);
    sources_.push_back(
        {.read = [cursor]() -> absl::StatusOr<std::optional<IndexEntry>> { return cursor->Next(); },
         .next = std::nullopt});
  }
  AddRuns(where, runs);
}

void IndexCursor::AddRuns(const RunFiles& where, const Runs& runs) {
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const auto cursor = std::make_shared<RunCursor>(where, **run, scan_.range, scan_.direction);
    sources_.push_back({.read = [cursor] { return cursor->Next(); }, .next = std::nullopt});
  }
}

absl::Status IndexCursor::Advance(Source& source) {
  source.next.reset();
  ASSIGN_OR_RETURN(source.next, source.read());
  return absl::OkStatus();
}

bool IndexCursor::IsBefore(const IndexEntry& one, const IndexEntry& other) const {
  return scan_.direction == Direction::kAscending ? one.key < other.key : one.key > other.key;
}

absl::StatusOr<std::optional<IndexEntry>> IndexCursor::Next() {
  if (ended_) return std::nullopt;
  auto entry = Step();
  while (entry.ok() && *entry && !(*entry)->value && scan_.deleted == Deleted::kHide) {
    entry = Step();
  }
  ended_ = !entry.ok() || !*entry;
  return entry;
}

absl::StatusOr<std::optional<IndexEntry>> IndexCursor::Step() {
  if (!std::exchange(begun_, true)) {
    for (Source& source : sources_) {
      RETURN_IF_ERROR(Advance(source));
    }
  }
  // The first of equal keys is that of the newest source.
  Source* first = nullptr;
  for (Source& source : sources_) {
    if (!source.next) continue;
    if (first == nullptr || IsBefore(*source.next, *first->next)) first = &source;
  }
  if (first == nullptr) return std::nullopt;
  std::optional<IndexEntry> entry = std::move(first->next);
  for (Source& source : sources_) {
    const bool is_taken = &source == first || (source.next && source.next->key == entry->key);
    if (!is_taken) continue;
    RETURN_IF_ERROR(Advance(source));
  }
  return entry;
}

}  // namespace holdfast::fs
