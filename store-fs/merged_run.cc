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

const Runs& RunsOf(const SessionState& state, RunSpace space) {
  return space == RunSpace::kItems ? state.items.runs() : state.slots.runs();
}

FileKind KindOf(RunSpace space) {
  return space == RunSpace::kItems ? FileKind::kItemsRun : FileKind::kRun;
}

std::set<uint64_t> ChooseIn(const Runs& runs, const std::set<uint64_t>& unreadable) {
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

}  // namespace

ChosenRuns ChooseRunsToMerge(const SessionState& state, const UnreadableRuns& unreadable) {
  for (const RunSpace space : {RunSpace::kSlots, RunSpace::kItems}) {
    const auto known = unreadable.find(space);
    ChosenRuns chosen{
        .space = space,
        .files = ChooseIn(RunsOf(state, space),
                          known == unreadable.end() ? std::set<uint64_t>() : known->second)};
    if (!chosen.files.empty()) return chosen;
  }
  return {};
}

absl::StatusOr<std::unique_ptr<Replacement>> MergedRun::Write(Files& files,
                                                              const Manifest& manifest,
                                                              const SessionState& state,
                                                              const ChosenRuns& sources,
                                                              UnreadableRuns& unreadable) {
  const Runs& all = RunsOf(state, sources.space);
  Runs runs;
  std::ranges::copy_if(all, std::back_inserter(runs),
                       [&](const auto& run) { return sources.files.contains(run->info().file); });
  const bool of_items = sources.space == RunSpace::kItems;
  const KeptSlots kept{
      .oldest = OldestKept(state.head), .pins = state.pins, .is_whole = runs.size() == all.size()};
  const bool has_oldest_run = runs.front() == all.front();
  const RunFiles where{.files = files, .key = manifest.key};
  const std::string path = RunInTmp(manifest);
  absl::StatusOr<std::optional<RunInfo>> merged =
      MergeRuns(where, runs, {.path = path, .suffix = of_items ? 0 : kSlotKeySuffix},
                [&](const IndexEntry& entry, const IndexEntry* next) {
                  return of_items ? IsItemKept(entry, has_oldest_run) : kept.Contain(entry, next);
                });
  if (IsUnreadable(merged.status())) {
    RETURN_IF_ERROR(FindUnreadable(where, runs, unreadable[sources.space]));
    return absl::DataLossError(merged.status().message());
  }
  RETURN_IF_ERROR(merged.status());
  auto written = std::make_unique<MergedRun>(sources);
  written->run_ = *merged;
  if (written->run_) {
    // Where no run is earlier, none has a greater key.
    written->run_->is_later = has_oldest_run || std::ranges::all_of(runs, [](const auto& run) {
                                return run->info().is_later;
                              });
  }
  return written;
}

absl::Status MergedRun::PutInPlace(const SwitchPlace& place, const SessionState& /*state*/) {
  if (!run_) return absl::OkStatus();
  const std::string path = PathOf(place.manifest.key, KindOf(sources_.space), place.manifest.file);
  RETURN_IF_ERROR(RemoveTree(place.files, path));
  return place.files.Rename(RunInTmp(place.manifest), path);
}

void MergedRun::Adopt(uint64_t file, SessionState& state) const {
  std::optional<RunInfo> run = run_;
  if (run) run->file = file;
  if (sources_.space == RunSpace::kItems) {
    state.items.ReplaceRuns(sources_.files, run);
  } else {
    state.slots.ReplaceRuns(sources_.files, run);
  }
}

std::vector<std::string> MergedRun::Replaced(const SessionKey& key) const {
  std::vector<std::string> paths;
  paths.reserve(sources_.files.size());
  for (const uint64_t file : sources_.files) {
    paths.push_back(PathOf(key, KindOf(sources_.space), file));
  }
  return paths;
}

}  // namespace holdfast::fs
