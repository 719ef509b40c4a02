#include "store-fs/journal_restore.h"

#include "platform/status_macros.h"
#include "session/refusal.h"
#include "store-fs/frame.h"
#include "store-fs/layout.h"
#include "store-fs/manifest.h"
#include "store-fs/recovery.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::fs {
namespace {

// What opening the session will call damage, and no failure of the disk.
bool IsOfTheSession(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsFailedPrecondition(status) ||
         RefusalOf(status).reason() != Reason::kInternal;
}

absl::Status Restore(Files& files, const SessionKey& key, const StoreId& store,
                     const std::vector<const StoredFrame*>& frames) {
  ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(files, key, store));
  ASSIGN_OR_RETURN(const std::unique_ptr<File> journal,
                   files.Open(DirectoryOf(key) + "/" + kJournalFile, OpenMode::kWrite));
  ASSIGN_OR_RETURN(const std::string head, journal->Read(0, kStartFrameBytes));
  const FrameRead start = ReadFrame(head, 0, manifest.salt);
  if (start.state != FrameState::kValid) return absl::OkStatus();
  for (const StoredFrame* stored : frames) {
    if (stored->salt != manifest.salt) continue;
    ASSIGN_OR_RETURN(const std::string there, journal->Read(stored->offset, stored->frame.size()));
    if (there == stored->frame) continue;
    // A gap before it is found, as damage, when the session is opened.
    RETURN_IF_ERROR(journal->Write(stored->offset, stored->frame));
  }
  return journal->Sync();
}

}  // namespace

absl::Status RestoreJournals(Files& files, const StoreId& store,
                             const std::vector<StoredFrame>& frames) {
  std::map<SessionKey, std::vector<const StoredFrame*>> by_session;
  for (const StoredFrame& stored : frames) by_session[stored.key].push_back(&stored);
  for (const auto& [key, of_session] : by_session) {
    absl::Status restored = Restore(files, key, store, of_session);
    if (!restored.ok() && !IsOfTheSession(restored)) return restored;
  }
  return absl::OkStatus();
}

}  // namespace holdfast::fs
