#include "store-fs/rotation.h"

#include "session/codec/records.h"
#include "session/digest.h"
#include "session/exceptions.h"
#include "session/limits.h"
#include "session/status_macros.h"
#include "store-fs/layout.h"
#include "store-fs/root.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::fs {
namespace {

// Small segments of like size are merged, so that a long history has few files, each item is
// written again only a few times, and no rotation writes more than about this.
constexpr size_t kMergeFanout = 8;
constexpr uint64_t kMergeMost = uint64_t{4} * 1024 * 1024;
// A segment that is merged: its items, and an offset for each.
constexpr size_t kSegmentMost = 4 * kMergeMost;

class Rotation {
 public:
  Rotation(const RotationPlace& place, const Opened& old, absl::Time now)
      : files_(place.files),
        key_(place.key),
        old_(old),
        now_(now),
        random_(place.random),
        head_most_(place.head_most) {}

  absl::StatusOr<Opened> Run() {
    Opened next{.manifest = old_.manifest, .contents = old_.contents, .journal = old_.journal};
    next.manifest.file = old_.manifest.file + 1;
    file_ = next.manifest.file;
    absl::Status written;
    const auto what = CatchException([&] { written = WriteFiles(next); });
    if (what) return absl::OutOfRangeError("an exception: " + *what);
    RETURN_IF_ERROR(written);
    RETURN_IF_ERROR(Switch(next));
    return next;
  }

 private:
  absl::Status WriteFiles(Opened& next) {
    ASSIGN_OR_RETURN(journal_, old_.journal.file->Read(0, old_.journal.end));
    RETURN_IF_ERROR(MakeDirectories());
    RETURN_IF_ERROR(WriteSlots(next.contents));
    RETURN_IF_ERROR(WriteRequests(next.contents));
    RETURN_IF_ERROR(WriteLogs(next.contents));
    RETURN_IF_ERROR(WriteHead(next));
    RETURN_IF_ERROR(files_.SyncDirectory(DirectoryOf(key_) + "/" + kStateDirectory));
    return files_.SyncDirectory(DirectoryOf(key_) + "/" + kAuditDirectory);
  }

  absl::Status MakeDirectories() {
    const std::string directory = DirectoryOf(key_);
    if (old_.manifest.file > 0) return absl::OkStatus();
    for (const char* name : {kStateDirectory, kAuditDirectory}) {
      absl::Status made = files_.MakeDirectory(directory + "/" + name);
      if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
    }
    return files_.SyncDirectory(directory);  // also of those that were there
  }

  // A file that nothing names yet: one left by an interrupted rotation is replaced.
  absl::Status Write(FileKind kind, std::string_view bytes) {
    return Write(PrefixOf(key_, kind), bytes);
  }
  absl::Status Write(const std::string& prefix, std::string_view bytes) {
    const std::string path = prefix + std::to_string(file_);
    RETURN_IF_ERROR(RemoveTree(files_, path));
    return WriteNew(files_, path, bytes);
  }

  LogFiles Where(FileKind kind) const {
    return {.files = &files_, .journal = old_.journal.file.get(), .prefix = PrefixOf(key_, kind)};
  }

  absl::StatusOr<std::string> InJournal(const Extent& extent) const {
    ASSIGN_OR_RETURN(const std::string_view bytes, FindExtent(journal_, extent));
    return std::string(bytes);
  }

  absl::StatusOr<std::string> SlotBytes(const SlotVersion& version) {
    if (version.entry == JournalNumber()) return InJournal(version.where);
    ASSIGN_OR_RETURN(const auto items, ReadLog(Where(FileKind::kEntries), old_.contents.entries,
                                               version.entry.value(), 1, kPageBytes));
    const auto entry = items.empty() ? std::nullopt : DecodeEntry(items.front());
    if (!entry || !entry->slot) return absl::DataLossError("a slot update is not what was written");
    return EncodeSlot(*entry->slot);
  }

  // Versions that stand in the journal or in an entry move into a segment of their own. One that
  // cannot be read keeps its damage: it must not cost the session its other contents.
  absl::Status WriteSlots(Contents& contents) {
    SegmentBuilder builder;
    for (SlotVersion& version : contents.slots) {
      if (version.where.file > 0) continue;
      const absl::StatusOr<std::string> bytes = SlotBytes(version);
      if (absl::IsDataLoss(bytes.status())) {
        version.where = {.file = file_, .offset = 0, .size = 1, .crc = 0};
        version.entry = JournalNumber();
        continue;
      }
      RETURN_IF_ERROR(bytes.status());
      version.where = builder.Add(*bytes);
      version.where.file = file_;
      version.entry = JournalNumber();
    }
    return builder.empty() ? absl::OkStatus() : Write(FileKind::kSlots, builder.Finish());
  }

  // A token whose epoch has passed is not written again. Every row is written, for the table counts
  // on their numbers.
  absl::Status WriteRequests(Contents& contents) {
    SegmentBuilder builder;
    for (RequestRow row : contents.requests->unwritten()) {
      if (row.receipt.epoch != contents.head.lease.epoch) row.receipt.token.clear();
      builder.Add(EncodeRequest(row), KeyOf(row.stamp.id));
    }
    DropOld(contents.request_log, now_ - kRequestsKept, 0);
    const Target target{.prefix = PrefixOf(key_, FileKind::kRequests),
                        .keyed = true,
                        .mergeable_from = contents.requests_keyed_from};
    return Append(target, builder, contents.request_log);
  }

  absl::Status WriteLogs(Contents& contents) {
    for (FormerHistory& old : contents.former) {
      RETURN_IF_ERROR(MoveTail(MessagesPrefixOf(key_, old.generation), old.messages));
    }
    RETURN_IF_ERROR(MoveTail(MessagesPrefixOf(key_, contents.head.generation), contents.messages));
    RETURN_IF_ERROR(MoveTail(PrefixOf(key_, FileKind::kAudit), contents.audits));
    DropOld(contents.events, now_ - kEventsKept, kEventsKeptLeast);
    RETURN_IF_ERROR(MoveTail(PrefixOf(key_, FileKind::kEvents), contents.events));
    const uint64_t floor = JournalFloor(contents.head).value();
    std::erase_if(contents.entries.segments,
                  [&](const SegmentInfo& info) { return info.first + info.count - 1 <= floor; });
    return MoveTail(PrefixOf(key_, FileKind::kEntries), contents.entries);
  }

  // Drops whole segments that are older than `oldest`, as long as `least` items remain.
  static void DropOld(NumberedLog& log, absl::Time oldest, uint64_t least) {
    while (!log.segments.empty()) {
      const SegmentInfo& info = log.segments.front();
      const bool old = absl::FromUnixMicros(info.newest_us) < oldest;
      if (!old || log.next - (info.first + info.count) < least) return;
      log.segments.erase(log.segments.begin());
    }
  }

  absl::Status MoveTail(const std::string& prefix, NumberedLog& log) {
    SegmentBuilder builder;
    for (const Extent& extent : log.tail) {
      ASSIGN_OR_RETURN(const std::string_view item, FindExtent(journal_, extent));
      builder.Add(item);
    }
    log.next = log.tail_first();
    log.tail.clear();
    return Append({.prefix = prefix}, builder, log);
  }

  // Where a log's segments go.
  struct Target {
    std::string prefix;
    bool keyed = false;           // requests, by their ids
    uint64_t mergeable_from = 0;  // items before this number stay in the segments they are in
  };

  // Adds the items as a new segment, merged with like ones before it.
  absl::Status Append(const Target& target, const SegmentBuilder& fresh, NumberedLog& log) {
    const std::string& prefix = target.prefix;
    if (fresh.empty()) return absl::OkStatus();
    const uint64_t first = log.next;
    log.next += fresh.count();
    const size_t merged = Mergeable(log, fresh.bytes(), target);
    SegmentBuilder whole;
    const size_t keep = log.segments.size() - merged;
    for (size_t at = keep; at < log.segments.size(); ++at) {
      if (!CopySegment(target, log.segments[at], whole)) {
        return AddSegment(prefix, fresh, first, log);  // a damaged one stays as it is
      }
    }
    if (merged == 0) return AddSegment(prefix, fresh, first, log);
    const uint64_t whole_first = log.segments[keep].first;
    whole.AddAll(fresh);
    log.segments.resize(keep);
    return AddSegment(prefix, whole, whole_first, log);
  }

  absl::Status AddSegment(const std::string& prefix, const SegmentBuilder& builder, uint64_t first,
                          NumberedLog& log) {
    log.segments.push_back({.file = file_,
                            .first = first,
                            .count = builder.count(),
                            .bytes = builder.bytes(),
                            .newest_us = absl::ToUnixMicros(now_)});
    return Write(prefix, builder.Finish());
  }

  // How many of the newest segments join the new one: a full group of like size, and with the
  // segment that they make together the next larger group, if that is full too. A larger segment
  // waits for its own group: joining every small one, it would be written again with each.
  static size_t Mergeable(const NumberedLog& log, uint64_t fresh, const Target& target) {
    size_t joined = 0;
    size_t run = 0;
    size_t group = 1;  // the new segment itself
    uint64_t size = fresh;
    uint64_t bytes = fresh;
    for (auto it = log.segments.rbegin(); it != log.segments.rend(); ++it) {
      if (it->bytes > size * kMergeFanout / 2 || bytes + it->bytes > kMergeMost) break;
      if (it->first < target.mergeable_from) break;
      bytes += it->bytes;
      ++run;
      if (++group < kMergeFanout) continue;
      joined = run;
      group = 1;
      size = bytes;
    }
    return joined;
  }

  bool CopySegment(const Target& target, const SegmentInfo& info, SegmentBuilder& out) {
    const auto bytes = ReadWhole(files_, target.prefix + std::to_string(info.file), kSegmentMost);
    const auto items = bytes.ok() ? ItemsOf(*bytes, info) : bytes.status();
    if (!items.ok()) return false;
    SegmentBuilder copied;
    for (const std::string_view item : *items) {
      if (!target.keyed) {
        copied.Add(item);
        continue;
      }
      const std::optional<RequestRow> row = DecodeRequest(item);
      if (!row) return false;
      copied.Add(item, KeyOf(row->stamp.id));
    }
    out.AddAll(copied);
    return true;
  }

  absl::Status WriteHead(Opened& next) {
    const std::string bytes = EncodeContents(next.contents);
    if (bytes.size() > head_most_) {
      return absl::OutOfRangeError("what is kept of it has no room in a head file");
    }
    next.manifest.head_digest = Sha256(bytes);
    next.manifest.previous_salt = old_.manifest.salt;
    const std::string salt = random_.Bytes(sizeof next.manifest.salt);
    std::memcpy(&next.manifest.salt, salt.data(), sizeof next.manifest.salt);
    next.contents.changes = 0;
    return Write(FileKind::kHead, bytes);
  }

  absl::Status Switch(const Opened& next) {
    const std::string path = std::string(kTmp) + "/" + next.manifest.uid.value() + ".manifest";
    RETURN_IF_ERROR(RemoveTree(files_, path));
    RETURN_IF_ERROR(WriteNew(files_, path, EncodeManifest(next.manifest, next.contents.head)));
    const std::string target = DirectoryOf(key_) + "/" + kManifestFile;
    absl::Status renamed = files_.Rename(path, target);
    if (IsShortage(renamed)) return renamed;
    // From here on a lack is no longer harmless.
    RETURN_IF_ERROR(AfterWriting(renamed));
    return AfterWriting(files_.SyncDirectory(DirectoryOf(key_)));
  }

  Files& files_;
  const SessionKey& key_;
  const Opened& old_;
  const absl::Time now_;
  Random& random_;
  const size_t head_most_;
  uint64_t file_ = 0;
  std::string journal_;  // the old one's bytes, read once
};

}  // namespace

bool WasPutOff(const absl::Status& status) {
  return IsLack(status) || absl::IsDataLoss(status) || absl::IsOutOfRange(status);
}

absl::StatusOr<Opened> SwitchFiles(const RotationPlace& place, const Opened& old, absl::Time now) {
  absl::StatusOr<Opened> next = Rotation(place, old, now).Run();
  // What it has written so far would take the space that it lacks.
  if (WasPutOff(next.status())) {
    RETURN_IF_ERROR(RemoveUnnamed(place.files, place.key, old.contents, old.manifest.file));
  }
  return next;
}

}  // namespace holdfast::fs
