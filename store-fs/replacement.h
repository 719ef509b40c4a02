// Files of a session that are written beside its service and take the place of others of it: the
// result of a compaction of sealed logs, or of a merge of runs.
#ifndef HOLDFAST_STORE_FS_REPLACEMENT_H_
#define HOLDFAST_STORE_FS_REPLACEMENT_H_

#include "session/ids.h"
#include "store-fs/files.h"
#include "store-fs/manifest.h"
#include "store-fs/session_state.h"

#include "absl/status/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::fs {

// Where the switch to a replacement takes place.
struct SwitchPlace {
  Files& files;
  const Manifest& manifest;  // with the number of the files to come
};

class Replacement {
 public:
  Replacement() = default;
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  virtual ~Replacement() = default;

  // Gives the files in tmp/ the names of the manifest's number. `state` is that of the head file
  // which is current.
  virtual absl::Status PutInPlace(const SwitchPlace& place, const SessionState& state) = 0;
  // Lets `state`, of that head file or a later one, name them in place of the others.
  virtual void Adopt(uint64_t file, SessionState& state) const = 0;
  // The paths of the others.
  [[nodiscard]] virtual std::vector<std::string> Replaced(const SessionKey& key) const = 0;
};

// What replacements of a session are written to, before they get their names.
std::string LogInTmp(const Manifest& manifest);
std::string IndexInTmp(const Manifest& manifest);
std::string RunInTmp(const Manifest& manifest);
// Removes all of them.
absl::Status DiscardReplacement(Files& files, const Manifest& manifest);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_REPLACEMENT_H_
