#include "store-fs/deleted_session.h"

#include "platform/status_macros.h"
#include "store-fs/fail_stop.h"
#include "store-fs/layout.h"
#include "store-fs/manifest.h"
#include "store-fs/recovery.h"
#include "store-fs/root.h"

#include <string>

namespace holdfast::fs {

absl::Status RemoveDirectory(Environment& environment, const Tombstone& tombstone) {
  Files& files = environment.files;
  const std::string deleted = std::string(kTmp) + "/" + tombstone.uid.value() + ".deleted";
  RETURN_IF_ERROR(files.Rename(DirectoryOf(tombstone.key), deleted));
  RETURN_IF_ERROR(files.SyncDirectory(std::string(kSessions) + "/" + tombstone.key.tenant.value()));
  RETURN_IF_ERROR(RemoveTree(files, deleted));
  return environment.tombstones.NoteRemoved(tombstone.key);
}

absl::Status FinishRemoval(Environment& environment, const Tombstone& tombstone) {
  const auto text = ReadWhole(environment.files, DirectoryOf(tombstone.key) + "/" + kManifestFile,
                              kManifestFileBytes);
  if (IsLack(text.status())) return text.status();
  const auto manifest = text.ok() ? DecodeManifest(*text, tombstone.key, environment.identity.store)
                                  : absl::StatusOr<Manifest>(text.status());
  const bool is_there = manifest.ok() && manifest->uid == tombstone.uid;
  if (is_there) return RemoveDirectory(environment, tombstone);
  return environment.tombstones.NoteRemoved(tombstone.key);
}

}  // namespace holdfast::fs
