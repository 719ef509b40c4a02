#include "store-fs/new_session.h"

#include "platform/status_macros.h"
#include "store-fs/layout.h"
#include "store-fs/root.h"

namespace holdfast::fs {
namespace {

// A directory of this name may be left from an attempt whose removal had no resources.
absl::Status MakeEmpty(Files& files, const std::string& path) {
  absl::Status made = files.MakeDirectory(path);
  if (!absl::IsAlreadyExists(made)) return made;
  RETURN_IF_ERROR(RemoveTree(files, path));
  return files.MakeDirectory(path);
}

}  // namespace

std::string BuildingPathOf(const Manifest& manifest) {
  return std::string(kTmp) + "/" + manifest.uid.value();
}

absl::Status BuildSession(Files& files, const Manifest& manifest, const Head& head,
                          std::string_view journal) {
  const std::string built = BuildingPathOf(manifest);
  RETURN_IF_ERROR(MakeEmpty(files, built));
  RETURN_IF_ERROR(WriteNew(files, built + "/" + kManifestFile, EncodeManifest(manifest, head)));
  RETURN_IF_ERROR(WriteNew(files, built + "/" + kJournalFile, journal));
  RETURN_IF_ERROR(files.SyncDirectory(built));
  const absl::Status made =
      files.MakeDirectory(std::string(kSessions) + "/" + manifest.key.tenant.value());
  if (absl::IsAlreadyExists(made)) return absl::OkStatus();
  RETURN_IF_ERROR(made);
  // The next one finds the directory there and takes its name for durable.
  return AfterWriting(files.SyncDirectory(kSessions));
}

}  // namespace holdfast::fs
