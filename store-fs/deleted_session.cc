#include "store-fs/deleted_session.h"

#include "platform/status_macros.h"
#include "store-fs/fail_stop.h"
#include "store-fs/layout.h"
#include "store-fs/manifest.h"
#include "store-fs/recovery.h"
#include "store-fs/root.h"

#include <string>

namespace holdfast::fs {

absl::StatusOr<SessionUid> UidInPlace(const Environment& environment, const SessionKey& key) {
  ASSIGN_OR_RETURN(
      const std::string text,
      ReadWhole(environment.files, DirectoryOf(key) + "/" + kManifestFile, kManifestFileBytes));
  ASSIGN_OR_RETURN(const Manifest manifest, DecodeManifest(text, key, environment.identity.store));
  return manifest.uid;
}

absl::Status RemoveDirectory(Environment& environment, const Tombstone& tombstone) {
  Files& files = environment.files;
  const std::string deleted = std::string(kTmp) + "/" + tombstone.uid.value() + ".deleted";
  RETURN_IF_ERROR(files.Rename(DirectoryOf(tombstone.key), deleted));
  RETURN_IF_ERROR(files.SyncDirectory(std::string(kSessions) + "/" + tombstone.key.tenant.value()));
  RETURN_IF_ERROR(RemoveTree(files, deleted));
  return environment.tombstones.NoteRemoved(tombstone.key);
}

absl::Status FinishRemoval(Environment& environment, const Tombstone& tombstone) {
  const absl::StatusOr<SessionUid> uid = UidInPlace(environment, tombstone.key);
  if (IsLack(uid.status())) return uid.status();
  const bool is_there = uid.ok() && *uid == tombstone.uid;
  return is_there ? RemoveDirectory(environment, tombstone)
                  : environment.tombstones.NoteRemoved(tombstone.key);
}

}  // namespace holdfast::fs
