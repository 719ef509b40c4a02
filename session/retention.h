// How much of a session's past a store keeps.
#ifndef HOLDFAST_SESSION_RETENTION_H_
#define HOLDFAST_SESSION_RETENTION_H_

#include "session/limits.h"

#include "absl/time/time.h"

#include <cstddef>

namespace holdfast {

// A change of it holds for each session from its next change on. Servers of one database may
// differ: each applies its own to the changes that it makes, and to the events that it reads.
struct Retention {
  // The newest snapshots, between 1 and kSnapshotsKeptMost, with the journal since the oldest.
  size_t snapshots = kSnapshotsKeptDefault;
  // Events that are younger. The newest kEventsKeptLeast are kept whatever their age.
  absl::Duration events = kEventsKeptDefault;
  bool operator==(const Retention&) const = default;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_RETENTION_H_
