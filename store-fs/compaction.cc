#include "store-fs/compaction.h"

#include "platform/status_macros.h"
#include "session/codec/records.h"
#include "session/limits.h"
#include "store-fs/bounds.h"
#include "store-fs/crc32c.h"
#include "store-fs/layout.h"
#include "store-fs/manifest_switch.h"
#include "store-fs/run_writer.h"
#include "store-fs/slot_lookup.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

namespace holdfast::fs {
namespace {

// What a compaction holds in memory and writes at most: of several logs, and of a single one.
constexpr uint64_t kJoinMost = 4 * kMiB;
constexpr uint64_t kSingleMost = 16 * kMiB;
// Small logs are joined in groups of so many of like size: so the number of files grows with bytes,
// and an item is copied a few times and then never again.
constexpr size_t kJoinFanout = 8;

struct Candidate {
  uint64_t file = 0;
  uint64_t live = 0;
  bool mostly_dead = false;
  bool readable = true;
};

std::vector<Candidate> CandidatesOf(const SessionState& state,
                                    const std::set<uint64_t>& unreadable) {
  std::map<uint64_t, uint64_t> live = state.LiveBytes();
  std::vector<Candidate> candidates;
  for (const SealedLog& log : state.sealed) {
    const uint64_t bytes = live[log.file];
    candidates.push_back({.file = log.file,
                          .live = bytes,
                          .mostly_dead = 2 * bytes < log.bytes,
                          .readable = !unreadable.contains(log.file)});
  }
  return candidates;
}

// The oldest one, and the adjacent ones that fit.
std::set<uint64_t> MostlyDead(const std::vector<Candidate>& candidates) {
  std::set<uint64_t> chosen;
  uint64_t bytes = 0;
  for (const Candidate& log : candidates) {
    const uint64_t most = chosen.empty() ? kSingleMost : kJoinMost;
    const bool fits = log.mostly_dead && log.readable && bytes + log.live <= most;
    if (!fits && !chosen.empty()) break;
    if (!fits) continue;
    chosen.insert(log.file);
    bytes += log.live;
  }
  return chosen;
}

// The newest full group of like size, and with the log that it makes together the next larger
// group, if that is full too. A larger log waits for its own group: joined with every small one, it
// would be written again with each.
std::set<uint64_t> SmallOnes(const std::vector<Candidate>& candidates) {
  std::set<uint64_t> group;
  std::set<uint64_t> chosen;
  size_t members = 0;
  uint64_t size = 0;
  uint64_t bytes = 0;
  for (auto log = candidates.rbegin(); log != candidates.rend(); ++log) {
    const bool like = members == 0 || log->live <= size * kJoinFanout / 2;
    if (!like || !log->readable || bytes + log->live > kJoinMost) break;
    if (members == 0) size = log->live;
    bytes += log->live;
    group.insert(log->file);
    if (++members < kJoinFanout) continue;
    chosen = group;
    members = 1;
    size = bytes;
  }
  return chosen;
}

}  // namespace

std::set<uint64_t> ChooseLogs(const SessionState& state, const std::set<uint64_t>& unreadable) {
  const std::vector<Candidate> candidates = CandidatesOf(state, unreadable);
  std::set<uint64_t> chosen = MostlyDead(candidates);
  return chosen.empty() ? SmallOnes(candidates) : chosen;
}

// Copies the live items and slots of the sources.
class CompactedLog::Writer {
 public:
  Writer(Files& files, const SessionKey& key, CompactedLog& out)
      : files_(files), key_(key), out_(out) {}

  // The logs without which the rest can be copied: that which was being read, or those that have
  // slots which runs name.
  [[nodiscard]] const std::set<uint64_t>& unreadable() const { return unreadable_; }

  absl::Status Copy(const SessionState& state) {
    for (const NumberedLog* log : state.Logs()) {
      RETURN_IF_ERROR(CopyLog(*log));
    }
    for (const auto& [owner, version] : state.pending) {
      RETURN_IF_ERROR(CopyBytes(version.where));
    }
    RETURN_IF_ERROR(CopySlots(state));
    return CopyItems(state.items);
  }

  absl::Status Write(const Manifest& manifest) const {
    RETURN_IF_ERROR(WriteOver(files_, LogInTmp(manifest), log_));
    return WriteOver(files_, IndexInTmp(manifest), index_.bytes());
  }

  [[nodiscard]] uint64_t bytes() const { return log_.size(); }

 private:
  absl::Status CopyLog(const NumberedLog& log) {
    std::optional<SegmentInfo> first;
    std::vector<Extent> places;
    std::vector<RequestKey> keys;
    for (const SegmentInfo& info : log.segments) {
      if (!out_.sources_.contains(info.file)) continue;
      RETURN_IF_ERROR(CopySegment(info, places, keys));
      out_.joined_by_source_[{info.file, info.index}] = out_.joined_.size();
      if (!first) first = info;
    }
    if (!first) return absl::OkStatus();
    out_.joined_.push_back({.first = first->first,
                            .count = places.size(),
                            .index = first->keyed ? index_.Add(places, keys) : index_.Add(places),
                            .keyed = first->keyed});
    return absl::OkStatus();
  }

  absl::Status CopySegment(const SegmentInfo& info, std::vector<Extent>& places,
                           std::vector<RequestKey>& keys) {
    unreadable_ = {info.file};
    ASSIGN_OR_RETURN(const std::vector<Extent> from, ReadPlaces(files_, key_, info));
    ASSIGN_OR_RETURN(File * log, Open(info.file));
    ASSIGN_OR_RETURN(const std::vector<std::string> items, ReadExtents(*log, from));
    for (const std::string& item : items) places.push_back(Append(item));
    if (!info.keyed) return absl::OkStatus();
    for (const std::string& item : items) {
      const std::optional<RequestRow> row = DecodeRequest(item);
      if (!row) return absl::DataLossError("a stored reply is not what was written");
      keys.push_back(KeyOf(row->stamp.id));
    }
    return absl::OkStatus();
  }

  // The versions that a kept snapshot shows.
  absl::Status CopySlots(const SessionState& state) {
    ASSIGN_OR_RETURN(const std::vector<SlotEntry> entries, FindSlots(state));
    for (const SlotEntry& entry : entries) {
      RETURN_IF_ERROR(CopyBytes(entry.version->where));
      const std::string key = SlotKey(entry.owner, entry.from);
      const bool is_newer = state.slots.newer().entries().contains(key);
      out_.moved_.push_back({.entry = entry, .was_in_run = !is_newer});
    }
    return absl::OkStatus();
  }

  // Those that have their records in the sources.
  absl::StatusOr<std::vector<SlotEntry>> FindSlots(const SessionState& state) {
    IndexView view = state.slots.ViewOf({});
    unreadable_.clear();
    for (const uint64_t source : out_.sources_) {
      if (state.slots.account().BytesIn(source) > 0) unreadable_.insert(source);
    }
    if (unreadable_.empty()) view.runs.clear();
    const Position oldest = OldestKept(state.head);
    std::vector<SlotEntry> found;
    const absl::Status read =
        VisitSlots({.files = files_, .key = key_}, view,
                   [&](const SlotEntry& entry, std::optional<Position> until) {
                     const bool is_kept =
                         entry.version &&
                         (!until || *until > oldest || state.pins.ShowAnyOf(entry.from, *until));
                     if (is_kept && out_.sources_.contains(entry.version->where.file)) {
                       found.push_back(entry);
                     }
                   });
    if (absl::IsNotFound(read)) return absl::DataLossError(read.message());
    RETURN_IF_ERROR(read);
    return found;
  }

  // The items that are there, as far as their bytes lie in the sources.
  absl::Status CopyItems(const SessionItems& items) {
    for (const auto& run : items.runs()) out_.item_runs_.insert(run->info().file);
    ASSIGN_OR_RETURN(std::vector<ItemEntry> entries, FindItems(items));
    for (ItemEntry& entry : entries) {
      RETURN_IF_ERROR(CopyBytes(entry.data));
      RETURN_IF_ERROR(CopyBytes(entry.facts_at));
      const bool is_newer = items.newer().Find(ItemKey(entry.name)) != nullptr;
      out_.moved_items_.push_back({.entry = std::move(entry), .was_in_run = !is_newer});
    }
    return absl::OkStatus();
  }

  [[nodiscard]] bool IsOfSources(const Extent& place) const {
    return place.size > 0 && out_.sources_.contains(place.file);
  }

  // A run names no log that is newer than itself, so that older runs need not be read.
  absl::StatusOr<std::vector<ItemEntry>> FindItems(const SessionItems& items) {
    unreadable_.clear();
    for (const uint64_t source : out_.sources_) {
      if (items.BytesInRuns(source) > 0) unreadable_.insert(source);
    }
    Runs runs;
    std::ranges::copy_if(items.runs(), std::back_inserter(runs), [&](const auto& run) {
      return !unreadable_.empty() && run->info().file >= *unreadable_.begin();
    });
    std::vector<ItemEntry> found;
    const RunFiles where{.files = files_, .key = key_};
    IndexCursor cursor(where, {&items.newer()}, runs, IndexScan());
    for (;;) {
      const absl::StatusOr<std::optional<IndexEntry>> entry = cursor.Next();
      if (absl::IsNotFound(entry.status())) return absl::DataLossError(entry.status().message());
      RETURN_IF_ERROR(entry.status());
      if (!*entry) return found;
      std::optional<ItemEntry> item = DecodeItemEntry(**entry);
      if (!item) return absl::DataLossError("an entry of a run is no item");
      const bool is_moved = IsOfSources(item->data) || IsOfSources(item->facts_at);
      if (is_moved) found.push_back(*std::move(item));
    }
  }

  absl::Status CopyBytes(const Extent& from) {
    if (!IsOfSources(from)) return absl::OkStatus();
    unreadable_ = {from.file};
    ASSIGN_OR_RETURN(File * log, Open(from.file));
    ASSIGN_OR_RETURN(const std::string bytes, ReadExtent(*log, from));
    out_.copies_[{from.file, from.offset}] = Append(bytes);
    return absl::OkStatus();
  }

  absl::StatusOr<File*> Open(uint64_t file) {
    std::unique_ptr<File>& log = open_[file];
    if (log == nullptr) {
      ASSIGN_OR_RETURN(log, files_.Open(PathOf(key_, FileKind::kLog, file), OpenMode::kRead));
    }
    return log.get();
  }

  Extent Append(std::string_view item) {
    const Extent extent{.file = 0, .offset = log_.size(), .size = item.size(), .crc = Crc32c(item)};
    log_.append(item);
    return extent;
  }

  Files& files_;
  const SessionKey& key_;
  CompactedLog& out_;
  std::set<uint64_t> unreadable_;
  std::map<uint64_t, std::unique_ptr<File>> open_;
  std::string log_;
  IndexBuilder index_;
};

absl::StatusOr<std::unique_ptr<Replacement>> CompactedLog::Write(Files& files,
                                                                 const Manifest& manifest,
                                                                 const SessionState& state,
                                                                 const std::set<uint64_t>& sources,
                                                                 std::set<uint64_t>& unreadable) {
  auto compacted = std::make_unique<CompactedLog>();
  compacted->sources_ = sources;
  Writer writer(files, manifest.key, *compacted);
  const absl::Status copied = writer.Copy(state);
  if (!copied.ok() && !IsLack(copied) && !absl::IsNotFound(copied)) {
    unreadable.insert(writer.unreadable().begin(), writer.unreadable().end());
    return absl::DataLossError(copied.message());
  }
  RETURN_IF_ERROR(copied);
  RETURN_IF_ERROR(writer.Write(manifest));
  compacted->bytes_ = writer.bytes();
  return compacted;
}

absl::Status CompactedLog::PutInPlace(const SwitchPlace& place, const SessionState& state) {
  const auto& [files, manifest] = place;
  for (const auto& [from, kind] : {std::pair(LogInTmp(manifest), FileKind::kLog),
                                   std::pair(IndexInTmp(manifest), FileKind::kIndex)}) {
    const std::string to = PathOf(manifest.key, kind, manifest.file);
    RETURN_IF_ERROR(RemoveTree(files, to));
    RETURN_IF_ERROR(files.Rename(from, to));
  }
  const RunFiles where{.files = files, .key = manifest.key};
  ASSIGN_OR_RETURN(const std::vector<IndexEntry> moved, MovedEntries(where, manifest.file, state));
  ASSIGN_OR_RETURN(
      run_,
      WriteMoved(place,
                 {.kind = FileKind::kRun, .suffix = kSlotKeySuffix, .runs = state.slots.runs()},
                 moved));
  // Earlier ones may have later versions of the same slots.
  if (run_) run_->is_later = false;
  ASSIGN_OR_RETURN(const std::vector<IndexEntry> items,
                   MovedItems(where, manifest.file, state.items));
  ASSIGN_OR_RETURN(
      items_run_,
      WriteMoved(place, {.kind = FileKind::kItemsRun, .suffix = 0, .runs = state.items.runs()},
                 items));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<RunInfo>> CompactedLog::WriteMoved(
    const SwitchPlace& place, const MovedRun& run, const std::vector<IndexEntry>& moved) {
  if (moved.empty()) return std::nullopt;
  if (run.runs.size() >= kRunsPerSpace) {
    return absl::OutOfRangeError("the index of a session would have too many runs");
  }
  const Manifest& manifest = place.manifest;
  ASSIGN_OR_RETURN(
      RunWriter writer,
      RunWriter::Create(place.files, PathOf(manifest.key, run.kind, manifest.file), run.suffix));
  for (const IndexEntry& entry : moved) {
    RETURN_IF_ERROR(writer.Add(entry));
  }
  ASSIGN_OR_RETURN(RunInfo info, writer.Finish());
  info.file = manifest.file;
  return info;
}

// A rotation since may have written newer entries as a run, or dropped them.
absl::StatusOr<std::vector<IndexEntry>> CompactedLog::MovedEntries(
    const RunFiles& where, uint64_t file, const SessionState& state) const {
  std::vector<IndexEntry> entries;
  const IndexView runs{.newer = {}, .runs = state.slots.runs()};
  for (const MovedSlot& moved : moved_) {
    SlotEntry entry = moved.entry;
    const std::string key = SlotKey(entry.owner, entry.from);
    if (state.slots.newer().entries().contains(key)) continue;
    if (!moved.was_in_run) {
      const auto found = FindEntry(where, runs, key);
      if (IsLack(found.status())) return found.status();
      if (!found.ok() || !*found) continue;
    }
    entry.version->where = *PlaceOf(entry.version->where, file);
    entries.push_back(EncodeSlotEntry(entry));
  }
  return entries;
}

// Both the moved items and the runs are in the order of keys. A put gives an item a version of its
// own, so that an entry of the same version is the one that was copied.
absl::StatusOr<std::vector<IndexEntry>> CompactedLog::MovedItems(const RunFiles& where,
                                                                 uint64_t file,
                                                                 const SessionItems& items) const {
  Runs since;
  std::ranges::copy_if(items.runs(), std::back_inserter(since),
                       [&](const auto& run) { return !item_runs_.contains(run->info().file); });
  const IndexView view{.newer = {}, .runs = since};
  IndexCursor cursor(where, view, {.range = {}, .deleted = Deleted::kShow});
  ASSIGN_OR_RETURN(std::optional<IndexEntry> written, cursor.Next());
  std::vector<IndexEntry> entries;
  for (const MovedItem& moved : moved_items_) {
    ItemEntry entry = moved.entry;
    const std::string key = ItemKey(entry.name);
    while (written && written->key < key) {
      ASSIGN_OR_RETURN(written, cursor.Next());
    }
    if (items.newer().Find(key) != nullptr) continue;
    if (written && written->key == key) {
      const std::optional<ItemEntry> newest = DecodeItemEntry(*written);
      if (!newest || newest->version != entry.version) continue;
    } else if (!moved.was_in_run) {
      continue;
    }
    entry.data = PlaceOf(entry.data, file).value_or(entry.data);
    entry.facts_at = PlaceOf(entry.facts_at, file).value_or(entry.facts_at);
    entries.push_back(EncodeItemEntry(entry));
  }
  return entries;
}

std::optional<Extent> CompactedLog::PlaceOf(const Extent& from, uint64_t file) const {
  const auto moved = copies_.find({from.file, from.offset});
  if (from.size == 0 || moved == copies_.end()) return std::nullopt;
  Extent to = moved->second;
  to.file = file;
  return to;
}

void CompactedLog::Adopt(uint64_t file, SessionState& state) const {
  for (NumberedLog* log : state.Logs()) AdoptSegments(file, *log);
  state.slots.Move([&](const Extent& from) { return PlaceOf(from, file); });
  state.slots.MoveLogs(sources_, file);
  if (run_) state.slots.AddRun(*run_);
  state.items.Move([&](const Extent& from) { return PlaceOf(from, file); });
  state.items.MoveLogs(sources_, file);
  if (items_run_) state.items.AddRun(*items_run_);
  for (auto& [owner, version] : state.pending) {
    version.where = PlaceOf(version.where, file).value_or(version.where);
  }
  // In the place of the oldest of those that it was made of.
  const auto is_source = [&](const SealedLog& log) { return sources_.contains(log.file); };
  const auto place = std::ranges::find_if(state.sealed, is_source);
  if (place == state.sealed.end()) return;
  *place = {.file = file, .bytes = bytes_};
  state.sealed.erase(std::remove_if(std::next(place), state.sealed.end(), is_source),
                     state.sealed.end());
}

std::vector<std::string> CompactedLog::Replaced(const SessionKey& key) const {
  std::vector<std::string> paths;
  for (const uint64_t file : sources_) {
    paths.push_back(PathOf(key, FileKind::kLog, file));
    paths.push_back(PathOf(key, FileKind::kIndex, file));
  }
  return paths;
}

// What has been dropped since the copy was made was dropped from the oldest segment on.
void CompactedLog::AdoptSegments(uint64_t file, NumberedLog& log) const {
  const auto joined_of = [&](const SegmentInfo& info) {
    return joined_by_source_.find({info.file, info.index});
  };
  const auto begin = std::ranges::find_if(log.segments, [&](const SegmentInfo& info) {
    return joined_of(info) != joined_by_source_.end();
  });
  if (begin == log.segments.end()) return;
  const auto joined = joined_of(*begin);
  const auto end = std::find_if(begin, log.segments.end(), [&](const SegmentInfo& info) {
    const auto other = joined_of(info);
    return other == joined_by_source_.end() || other->second != joined->second;
  });
  SegmentInfo to = joined_[joined->second];
  const uint64_t dropped = begin->first - to.first;
  to.file = file;
  to.first += dropped;
  to.count -= dropped;
  to.index += dropped * (to.keyed ? kKeyedPlaceBytes : kPlaceBytes);
  for (auto info = begin; info != end; ++info) {
    to.bytes += info->bytes;
    to.newest_us = std::max(to.newest_us, info->newest_us);
  }
  *begin = to;
  log.segments.erase(std::next(begin), end);
}

}  // namespace holdfast::fs
