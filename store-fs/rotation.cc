#include "store-fs/rotation.h"

#include "platform/digest.h"
#include "platform/exceptions.h"
#include "platform/status_macros.h"
#include "session/limits.h"
#include "store-fs/frame.h"
#include "store-fs/layout.h"
#include "store-fs/manifest_switch.h"
#include "store-fs/root.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::fs {
namespace {

class Rotation {
 public:
  Rotation(const RotationPlace& place, const StoredSession& old, absl::Time now)
      : place_(place), files_(place.files), old_(old), now_(now), file_(old.manifest.file + 1) {}

  absl::StatusOr<StoredSession> Run() {
    StoredSession next{.manifest = old_.manifest, .state = old_.state, .journal = old_.journal};
    next.manifest.file = file_;
    next.manifest.previous_salt = old_.manifest.salt;
    next.manifest.salt = NewSalt(place_.random);
    next.state.changes = 0;
    absl::Status written;
    const auto what = CatchException([&] { written = WriteFiles(next); });
    if (what) return absl::OutOfRangeError("an exception: " + *what);
    RETURN_IF_ERROR(written);
    RETURN_IF_ERROR(SwitchManifest(files_, next.manifest, next.state.head));
    return next;
  }

 private:
  absl::Status WriteFiles(StoredSession& next) {
    // By the interval it may not be durable yet, and head.<g> counts on all of it.
    RETURN_IF_ERROR(AfterWriting(old_.journal.file->Sync()));
    RETURN_IF_ERROR(MakeDirectory());
    RETURN_IF_ERROR(LinkJournal());
    Retire(next.state);
    IndexBuilder index;
    Seal(next.state, index);
    RETURN_IF_ERROR(IndexSlots(next.state));
    RETURN_IF_ERROR(IndexItems(next.state));
    next.state.ForgetEmptyLogs();
    RETURN_IF_ERROR(WriteOver(files_, PathOf(place_.key, FileKind::kIndex, file_), index.bytes()));
    ASSIGN_OR_RETURN(next.manifest.head_digest,
                     WriteHead(files_, place_.key, file_, next.state, place_.bounds.head));
    return files_.SyncDirectory(DirectoryOf(place_.key) + "/" + kStateDirectory);
  }

  absl::Status MakeDirectory() {
    if (old_.manifest.file > 0) return absl::OkStatus();
    const std::string directory = DirectoryOf(place_.key);
    absl::Status made = files_.MakeDirectory(directory + "/" + kStateDirectory);
    if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
    return files_.SyncDirectory(directory);  // also of one that was there
  }

  // Gives the journal its second name, which stays when a new journal takes the first. A link that
  // an interrupted rotation left is replaced: it may be of another file. Where a file has one name
  // alone, the journal is copied.
  absl::Status LinkJournal() {
    const std::string path = PathOf(place_.key, FileKind::kLog, file_);
    RETURN_IF_ERROR(RemoveTree(files_, path));
    absl::Status linked = files_.Link(DirectoryOf(place_.key) + "/" + kJournalFile, path);
    if (!absl::IsUnimplemented(linked)) return linked;
    ASSIGN_OR_RETURN(const std::string bytes, old_.journal.file->Read(0, old_.journal.end));
    return WriteNew(files_, path, bytes);
  }

  // The items of the journal are in log.<g> now, at the same places.
  void Seal(SessionState& state, IndexBuilder& index) const {
    const std::vector<RequestKey> keys = KeysOf(*state.requests);
    for (NumberedLog* log : state.Logs()) {
      if (log->tail.empty()) continue;
      const bool keyed = log == &state.request_log;
      uint64_t bytes = 0;
      for (const Extent& extent : log->tail) bytes += extent.size;
      log->segments.push_back({.file = file_,
                               .first = log->tail_first(),
                               .count = log->tail.size(),
                               .bytes = bytes,
                               .index = keyed ? index.Add(log->tail, keys) : index.Add(log->tail),
                               .keyed = keyed,
                               .newest_us = absl::ToUnixMicros(now_)});
      log->tail.clear();
    }
    state.slots.Seal(file_);
    state.items.Seal(file_);
    for (auto& [owner, version] : state.pending) {
      if (version.where.file == 0) version.where.file = file_;
    }
    state.sealed.push_back({.file = file_, .bytes = old_.journal.end});
  }

  absl::Status IndexSlots(SessionState& state) const {
    const RunFiles where{.files = files_, .key = place_.key};
    RETURN_IF_ERROR(state.slots.Settle(where, state.head, state.pins));
    if (state.slots.newer().bytes() <= place_.bounds.inline_entries) return absl::OkStatus();
    return state.slots.WriteRun(where, file_, state.head, state.pins);
  }

  absl::Status IndexItems(SessionState& state) const {
    const RunFiles where{.files = files_, .key = place_.key};
    RETURN_IF_ERROR(state.items.Settle(where));
    if (state.items.newer().bytes() <= place_.bounds.inline_entries) return absl::OkStatus();
    return state.items.WriteRun(where, file_);
  }

  // One for each row in the journal.
  static std::vector<RequestKey> KeysOf(const RequestTable& requests) {
    std::vector<RequestKey> keys;
    for (const RequestRow& row : requests.unwritten()) keys.push_back(KeyOf(row.stamp.id));
    return keys;
  }

  // Drops what has been kept for its time.
  void Retire(SessionState& state) const {
    DropOld(state.request_log, now_ - kRequestsKept, 0);
    DropOld(state.events, now_ - place_.events_kept, kEventsKeptLeast);
    const uint64_t floor = JournalFloor(state.head).value();
    std::erase_if(state.entries.segments,
                  [&](const SegmentInfo& info) { return info.first + info.count - 1 <= floor; });
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

  const RotationPlace& place_;
  Files& files_;
  const StoredSession& old_;
  const absl::Time now_;
  const uint64_t file_;
};

}  // namespace

bool WasPutOff(const absl::Status& status) {
  return IsLack(status) || absl::IsDataLoss(status) || absl::IsOutOfRange(status);
}

absl::StatusOr<StoredSession> SwitchFiles(const RotationPlace& place, const StoredSession& old,
                                          absl::Time now) {
  absl::StatusOr<StoredSession> next = Rotation(place, old, now).Run();
  // What it has written so far would take the space that it lacks.
  if (WasPutOff(next.status())) {
    RETURN_IF_ERROR(RemoveUnnamed(place.files, place.key, old.state, old.manifest.file));
  }
  return next;
}

}  // namespace holdfast::fs
