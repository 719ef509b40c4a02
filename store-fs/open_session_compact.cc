// How a session's sealed logs are written anew beside its service.
#include "platform/status_macros.h"
#include "store-fs/bounds.h"
#include "store-fs/layout.h"
#include "store-fs/manifest_switch.h"
#include "store-fs/open_session.h"
#include "store-fs/rotation.h"

#include <utility>

namespace holdfast::fs {

bool OpenSession::Compact() {
  if (!environment_.fail_stop.Check().ok() || !environment_.space.Check().ok()) return false;
  // Of what was committed with other sessions: those that wait for it must not wait for that.
  if (HasDueRotation()) LeadIfFree([this] { Rotate(); });
  const std::optional<Manifest> from = ManifestToCompact();
  if (!from) return false;
  Files& files = environment_.files;
  // All that a start may find named, whatever of the journal outlives a power cut. What is in
  // memory is less: later changes have ended slots and histories.
  const auto state = ReadHeadFile(files, key_, *from, environment_.identity.bounds.head);
  if (!state.ok()) return false;
  const std::set<uint64_t> sources = ChooseLogs(*state, unreadable_);
  if (sources.empty()) return false;
  // A damaged item keeps its damage: its log is left as it is, and the others are tried again.
  const auto compacted = CompactedLog::Write(files, *from, *state, sources, unreadable_);
  const bool damaged = absl::IsDataLoss(compacted.status());
  if (damaged && environment_.note) {
    environment_.note(
        "a sealed log of " + DirectoryOf(key_) +
        " cannot be read and is not compacted: " + std::string(compacted.status().message()));
  }
  const absl::Status status =
      compacted.ok() ? SwitchToCompacted(*compacted, *from) : compacted.status();
  if (status.ok()) {
    environment_.meter.FileWorkDone(FileWork::kCompaction);
    return true;
  }
  // A rotation or the session's end has taken a log away: nothing was lost, and nothing is gained.
  const bool given_up = WasPutOff(status) || absl::IsNotFound(status);
  if (!given_up) Fail(status).IgnoreError();
  if (given_up) CompactedLog::Discard(files, *from).IgnoreError();
  return damaged;
}

std::optional<Manifest> OpenSession::ManifestToCompact() {
  const absl::MutexLock lock(&mutex_);
  if (!stored_ || stored_->journal.covered || stored_->state.sealed.empty()) return std::nullopt;
  return stored_->manifest;
}

// Nothing of what the session holds changes, so it does not matter what was committed meanwhile.
absl::Status OpenSession::SwitchToCompacted(const CompactedLog& compacted, const Manifest& from) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(AwaitNoLeader());
  // Another session may have taken the name.
  if (!stored_ || stored_->manifest.uid != from.uid || stored_->journal.covered) {
    return absl::NotFoundError("the session was closed");
  }
  return DoLeading([&] {
    return FailingOnException([&] {
      absl::Status published = PublishCompacted(compacted);
      if (!WasPutOff(published)) return published;
      // What was written for a switch that did not come would take the space that it lacked.
      const uint64_t unswitched = stored_->manifest.file + 1;
      const absl::Status removed = RemoveFiles({unswitched}, unswitched);
      return removed.ok() ? published : removed;
    });
  });
}

absl::Status OpenSession::PublishCompacted(const CompactedLog& compacted) {
  Files& files = environment_.files;
  const size_t most = environment_.identity.bounds.head;
  const uint64_t replaced = stored_->manifest.file;
  Manifest manifest = stored_->manifest;
  ASSIGN_OR_RETURN(SessionState state, ReadHeadFile(files, key_, manifest, most));
  ++manifest.file;
  compacted.Adopt(manifest.file, state);
  RETURN_IF_ERROR(CompactedLog::PutInPlace(files, manifest, manifest.file));
  ASSIGN_OR_RETURN(manifest.head_digest, WriteHead(files, key_, manifest.file, state, most));
  RETURN_IF_ERROR(files.SyncDirectory(DirectoryOf(key_) + "/" + kStateDirectory));
  RETURN_IF_ERROR(SwitchManifest(files, manifest, stored_->state.head));
  {
    const absl::MutexLock lock(&mutex_);
    compacted.Adopt(manifest.file, stored_->state);
    stored_->manifest = std::move(manifest);
  }
  // These files alone: an upload that only the journal names stays.
  return RemoveFiles(compacted.sources(), replaced);
}

absl::Status OpenSession::RemoveFiles(const std::set<uint64_t>& logs, uint64_t head) {
  std::vector<std::string> paths = {PathOf(key_, FileKind::kHead, head)};
  for (const uint64_t log : logs) {
    paths.push_back(PathOf(key_, FileKind::kLog, log));
    paths.push_back(PathOf(key_, FileKind::kIndex, log));
  }
  for (const std::string& path : paths) {
    const absl::Status removed = RemoveTree(environment_.files, path);
    if (!IsLack(removed)) {
      RETURN_IF_ERROR(removed);
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast::fs
