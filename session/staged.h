// Reads the bytes of staged items into memory, for a caller that needs them whole.
#ifndef HOLDFAST_SESSION_STAGED_H_
#define HOLDFAST_SESSION_STAGED_H_

#include "session/model.h"
#include "session/store.h"

#include "absl/status/status.h"

#include <utility>

namespace holdfast {

// Brings the bytes of a message or a slot into it, if they lie in an upload. Errors as
// SessionStore::ReadStaged; the caller has bounded DataSize(item).
template <typename Item>
absl::Status ResolveUpload(SessionStore& store, const SessionKey& key, Item& item) {
  if (!item.staged) return absl::OkStatus();
  absl::StatusOr<std::string> bytes = store.ReadStaged(key, *item.staged, 0, item.staged->size);
  if (!bytes.ok()) return bytes.status();
  item.data = *std::move(bytes);
  item.staged.reset();
  return absl::OkStatus();
}

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_STAGED_H_
