// How a session's sealed logs are written anew beside its service.
#include "platform/status_macros.h"
#include "store-fs/bounds.h"
#include "store-fs/compaction.h"
#include "store-fs/layout.h"
#include "store-fs/manifest_switch.h"
#include "store-fs/merged_run.h"
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
  const std::set<uint64_t> logs = ChooseLogs(*state, unreadable_);
  const ChosenRuns runs = ChooseRunsToMerge(*state, unreadable_runs_);
  if (logs.empty() && runs.files.empty()) return false;
  // A damaged item keeps its damage: its log or run is left as it is, and the others are tried
  // again.
  const auto replacement = logs.empty()
                               ? MergedRun::Write(files, *from, *state, runs, unreadable_runs_)
                               : CompactedLog::Write(files, *from, *state, logs, unreadable_);
  const bool damaged = absl::IsDataLoss(replacement.status());
  if (damaged && environment_.note) {
    environment_.note(
        (logs.empty() ? "a run of the index of " : "a sealed log of ") + DirectoryOf(key_) +
        " cannot be read and is not compacted: " + std::string(replacement.status().message()));
  }
  const absl::Status status =
      replacement.ok() ? SwitchTo(**replacement, *from) : replacement.status();
  if (status.ok()) {
    environment_.meter.FileWorkDone(FileWork::kCompaction);
    return true;
  }
  // A rotation or the session's end has taken a log away: nothing was lost, and nothing is gained.
  const bool given_up = WasPutOff(status) || absl::IsNotFound(status);
  if (!given_up) Fail(status).IgnoreError();
  if (given_up) DiscardReplacement(files, *from).IgnoreError();
  return damaged;
}

std::optional<Manifest> OpenSession::ManifestToCompact() {
  const absl::MutexLock lock(&mutex_);
  if (!stored_ || stored_->journal.covered || stored_->state.sealed.empty()) return std::nullopt;
  return stored_->manifest;
}

// Nothing of what the session holds changes, so it does not matter what was committed meanwhile.
absl::Status OpenSession::SwitchTo(Replacement& replacement, const Manifest& from) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(AwaitNoLeader());
  // Another session may have taken the name.
  if (!stored_ || stored_->manifest.uid != from.uid || stored_->journal.covered) {
    return absl::NotFoundError("the session was closed");
  }
  return DoLeading([&] {
    return FailingOnException([&] {
      absl::Status published = PublishReplacement(replacement);
      if (!WasPutOff(published)) return published;
      // What was written for a switch that did not come would take the space that it lacked.
      std::vector<std::string> unswitched;
      for (const FileKind kind : {FileKind::kHead, FileKind::kLog, FileKind::kIndex, FileKind::kRun,
                                  FileKind::kItemsRun}) {
        unswitched.push_back(PathOf(key_, kind, stored_->manifest.file + 1));
      }
      const absl::Status removed = RemoveFiles(unswitched);
      return removed.ok() ? published : removed;
    });
  });
}

absl::Status OpenSession::PublishReplacement(Replacement& replacement) {
  Files& files = environment_.files;
  const size_t most = environment_.identity.bounds.head;
  std::vector<std::string> replaced = replacement.Replaced(key_);
  replaced.push_back(PathOf(key_, FileKind::kHead, stored_->manifest.file));
  Manifest manifest = stored_->manifest;
  ASSIGN_OR_RETURN(SessionState state, ReadHeadFile(files, key_, manifest, most));
  ++manifest.file;
  RETURN_IF_ERROR(replacement.PutInPlace({.files = files, .manifest = manifest}, state));
  replacement.Adopt(manifest.file, state);
  ASSIGN_OR_RETURN(manifest.head_digest, WriteHead(files, key_, manifest.file, state, most));
  RETURN_IF_ERROR(files.SyncDirectory(DirectoryOf(key_) + "/" + kStateDirectory));
  RETURN_IF_ERROR(SwitchManifest(files, manifest, stored_->state.head));
  {
    const absl::MutexLock lock(&mutex_);
    replacement.Adopt(manifest.file, stored_->state);
    stored_->manifest = std::move(manifest);
  }
  // These files alone: an upload that only the journal names stays.
  return RemoveFiles(replaced);
}

absl::Status OpenSession::RemoveFiles(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const absl::Status removed = RemoveTree(environment_.files, path);
    if (!IsLack(removed)) {
      RETURN_IF_ERROR(removed);
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast::fs
