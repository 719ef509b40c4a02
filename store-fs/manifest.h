// manifest.json: the slim record that a resume rests on, readable by people, and the switch of a
// rotation.
#ifndef HOLDFAST_STORE_FS_MANIFEST_H_
#define HOLDFAST_STORE_FS_MANIFEST_H_

#include "platform/digest.h"
#include "session/head.h"
#include "session/ids.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::fs {

inline constexpr char kManifestFile[] = "manifest.json";

// What manifest.json says beside the eight keys of the manifest itself.
struct Manifest {
  SessionKey key;
  SessionUid uid;
  StoreId store;
  uint64_t file =
      0;  // the rotation whose files are current; 0: none yet, the journal holds everything
  uint64_t salt = 0;           // of the journal that goes on from here
  uint64_t previous_salt = 0;  // of the journal that these files cover
  Digest head_digest{};        // of head.<file>
};

// TOO_LARGE when the manifest of `head` could become larger than a reader takes.
absl::Status CheckManifest(const Head& head);

// The file's text: sorted keys, two spaces, a checksum over the rest. `head` gives the eight keys.
std::string EncodeManifest(const Manifest& manifest, const Head& head);

// Reads a manifest in the directory of `key`. In this order: RESUME_MISMATCH when another store
// stamped it, before its checksum is checked; MANIFEST_DRIFT when it is unreadable, has another
// shape or checksum, or names another session or tenant.
absl::StatusOr<Manifest> DecodeManifest(std::string_view text, const SessionKey& key,
                                        const StoreId& active);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_MANIFEST_H_
