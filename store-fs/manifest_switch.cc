#include "store-fs/manifest_switch.h"

#include "platform/status_macros.h"
#include "store-fs/layout.h"
#include "store-fs/recovery.h"
#include "store-fs/root.h"

namespace holdfast::fs {

absl::Status WriteOver(Files& files, const std::string& path, std::string_view bytes) {
  RETURN_IF_ERROR(RemoveTree(files, path));
  return WriteNew(files, path, bytes);
}

absl::StatusOr<Digest> WriteHead(Files& files, const SessionKey& key, uint64_t file,
                                 const SessionState& state, size_t most) {
  const std::string bytes = EncodeSessionState(state);
  if (bytes.size() > most) {
    return absl::OutOfRangeError("the head file would be larger than it may be");
  }
  RETURN_IF_ERROR(WriteOver(files, PathOf(key, FileKind::kHead, file), bytes));
  return Sha256(bytes);
}

absl::Status SwitchManifest(Files& files, const Manifest& manifest, const Head& head) {
  const std::string path = std::string(kTmp) + "/" + manifest.uid.value() + ".manifest";
  const absl::Status written = WriteOver(files, path, EncodeManifest(manifest, head));
  // A part of it would take the space that it lacks.
  if (IsLack(written)) RemoveTree(files, path).IgnoreError();
  RETURN_IF_ERROR(written);
  const std::string directory = DirectoryOf(manifest.key);
  absl::Status renamed = files.Rename(path, directory + "/" + kManifestFile);
  if (IsShortage(renamed)) return renamed;
  // From here on a lack is no longer harmless.
  RETURN_IF_ERROR(AfterWriting(renamed));
  return AfterWriting(files.SyncDirectory(directory));
}

}  // namespace holdfast::fs
