// The directory of a session that is being created: built in tmp/, so that it is there whole or not
// at all.
#ifndef HOLDFAST_STORE_FS_NEW_SESSION_H_
#define HOLDFAST_STORE_FS_NEW_SESSION_H_

#include "session/head.h"
#include "store-fs/files.h"
#include "store-fs/manifest.h"

#include "absl/status/status.h"

#include <string>
#include <string_view>

namespace holdfast::fs {

// Where a session of this manifest is built.
std::string BuildingPathOf(const Manifest& manifest);

// Builds it, and the directory of its tenant if that is missing, durably.
absl::Status BuildSession(Files& files, const Manifest& manifest, const Head& head,
                          std::string_view journal);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_NEW_SESSION_H_
