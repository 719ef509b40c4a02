// The switch to other files of a session: its head is written under a new number, and the manifest
// that names it replaces the old one.
#ifndef HOLDFAST_STORE_FS_MANIFEST_SWITCH_H_
#define HOLDFAST_STORE_FS_MANIFEST_SWITCH_H_

#include "platform/digest.h"
#include "session/head.h"
#include "session/ids.h"
#include "store-fs/files.h"
#include "store-fs/manifest.h"
#include "store-fs/session_state.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::fs {

// Writes a file that nothing names yet, in place of one that an interrupted switch left.
absl::Status WriteOver(Files& files, const std::string& path, std::string_view bytes);

// Writes head.<file>, of at most `most` bytes, else OUT_OF_RANGE; answers its digest.
absl::StatusOr<Digest> WriteHead(Files& files, const SessionKey& key, uint64_t file,
                                 const SessionState& state, size_t most);

// Replaces manifest.json durably. After a lack (IsLack) the old one is current; after any other
// error it is unknown which one is.
absl::Status SwitchManifest(Files& files, const Manifest& manifest, const Head& head);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_MANIFEST_SWITCH_H_
