#include "store-fs/index_view.h"

#include "platform/status_macros.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast::fs {

absl::StatusOr<std::optional<IndexEntry>> FindEntry(const RunFiles& where, const IndexView& view,
                                                    const std::string& key) {
  const auto newer = std::ranges::lower_bound(view.newer, key, {}, &IndexEntry::key);
  if (newer != view.newer.end() && newer->key == key) {
    return newer->value ? std::optional(*newer) : std::nullopt;
  }
  for (auto run = view.runs.rbegin(); run != view.runs.rend(); ++run) {
    ASSIGN_OR_RETURN(std::optional<IndexEntry> found, (*run)->FindAtOrBelow(where, key));
    if (!found || found->key != key) continue;
    return found->value ? std::move(found) : std::nullopt;
  }
  return std::nullopt;
}

IndexCursor::IndexCursor(const RunFiles& where, const IndexView& view, const KeyRange& range,
                         Deleted deleted)
    : view_(view), range_(range), deleted_(deleted) {
  const auto first = std::ranges::lower_bound(view.newer, range.from, {}, &IndexEntry::key);
  newer_at_ = static_cast<size_t>(std::distance(view.newer.begin(), first));
  sources_.emplace_back();
  for (auto run = view.runs.rbegin(); run != view.runs.rend(); ++run) {
    sources_.push_back(
        {.run = std::make_unique<RunCursor>(where, **run, range), .next = std::nullopt});
  }
}

absl::Status IndexCursor::Advance(Source& source) {
  source.next.reset();
  if (source.run != nullptr) {
    ASSIGN_OR_RETURN(source.next, source.run->Next());
    return absl::OkStatus();
  }
  if (newer_at_ == view_.newer.size()) return absl::OkStatus();
  const IndexEntry& entry = view_.newer[newer_at_++];
  if (!range_.EndsBefore(entry.key)) source.next = entry;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<IndexEntry>> IndexCursor::Next() {
  if (ended_) return std::nullopt;
  auto entry = Step();
  while (entry.ok() && *entry && !(*entry)->value && deleted_ == Deleted::kHide) entry = Step();
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
  Source* least = nullptr;
  for (Source& source : sources_) {
    if (!source.next) continue;
    if (least == nullptr || source.next->key < least->next->key) least = &source;
  }
  if (least == nullptr) return std::nullopt;
  std::optional<IndexEntry> entry = std::move(least->next);
  for (Source& source : sources_) {
    const bool is_taken = &source == least || (source.next && source.next->key == entry->key);
    if (!is_taken) continue;
    RETURN_IF_ERROR(Advance(source));
  }
  return entry;
}

}  // namespace holdfast::fs
