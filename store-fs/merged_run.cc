#include "store-fs/merged_run.h"

#include "platform/status_macros.h"
#include "store-fs/layout.h"
#include "store-fs/run_merge.h"
#include "store-fs/slot_lookup.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace holdfast::fs {
namespace {

// Adds those that cannot be read to the end.
absl::Status FindUnreadable(const RunFiles& where, const Runs& runs,
                            std::set<uint64_t>& unreadable) {
  for (const auto& run : runs) {
    RunCursor cursor(where, *run, KeyRange());
    absl::StatusOr<std::optional<IndexEntry>> entry = cursor.Next();
    while (entry.ok() && *entry) entry = cursor.Next();
    if (IsUnreadable(entry.status())) {
      unreadable.insert(run->info().file);
    } else {
      RETURN_IF_ERROR(entry.status());
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::set<uint64_t> ChooseSlotRuns(const SessionState& state, const std::set<uint64_t>& unreadable) {
  const Runs& runs = state.slots.runs();
  std::vector<RunSize> sizes;
  for (const auto& run : runs) {
    sizes.push_back(
        {.bytes = run->info().bytes(), .readable = !unreadable.contains(run->info().file)});
  }
  const RunRange range = ChooseRuns(sizes);
  std::set<uint64_t> chosen;
  for (size_t at = range.first; at < range.first + range.count; ++at) {
    chosen.insert(runs[at]->info().file);
  }
  return chosen;
}

absl::StatusOr<std::unique_ptr<Replacement>> MergedRun::Write(Files& files,
                                                              const Manifest& manifest,
                                                              const SessionState& state,
                                                              const std::set<uint64_t>& sources,
                                                              std::set<uint64_t>& unreadable) {
  Runs runs;
  std::ranges::copy_if(state.slots.runs(), std::back_inserter(runs),
                       [&](const auto& run) { return sources.contains(run->info().file); });
  const Position oldest = OldestKept(state.head);
  const bool is_whole = runs.size() == state.slots.runs().size();
  const RunFiles where{.files = files, .key = manifest.key};
  const std::string path = RunInTmp(manifest);
  absl::StatusOr<std::optional<RunInfo>> merged =
      MergeRuns(where, runs, {.path = path, .suffix = kSlotKeySuffix},
                [&](const IndexEntry& entry, const IndexEntry* next) {
                  return IsKept(entry, next, oldest, is_whole);
                });
  if (IsUnreadable(merged.status())) {
    RETURN_IF_ERROR(FindUnreadable(where, runs, unreadable));
    return absl::DataLossError(merged.status().message());
  }
  RETURN_IF_ERROR(merged.status());
  auto written = std::make_unique<MergedRun>(sources);
  written->run_ = *merged;
  if (written->run_) {
    // Where no run is earlier, none has a greater key.
    written->run_->is_later =
        runs.front() == state.slots.runs().front() ||
        std::ranges::all_of(runs, [](const auto& run) { return run->info().is_later; });
  }
  return written;
}

absl::Status MergedRun::PutInPlace(const SwitchPlace& place, const SessionState& /*state*/) {
  if (!run_) return absl::OkStatus();
  const std::string path = PathOf(place.manifest.key, FileKind::kRun, place.manifest.file);
  RETURN_IF_ERROR(RemoveTree(place.files, path));
  return place.files.Rename(RunInTmp(place.manifest), path);
}

void MergedRun::Adopt(uint64_t file, SessionState& state) const {
  std::optional<RunInfo> run = run_;
  if (run) run->file = file;
  state.slots.ReplaceRuns(sources_, run);
}

std::vector<std::string> MergedRun::Replaced(const SessionKey& key) const {
  std::vector<std::string> paths;
  for (const uint64_t file : sources_) paths.push_back(PathOf(key, FileKind::kRun, file));
  return paths;
}

}  // namespace holdfast::fs
