// What the sessions of one store share.
#ifndef HOLDFAST_STORE_FS_ENVIRONMENT_H_
#define HOLDFAST_STORE_FS_ENVIRONMENT_H_

#include "session/clock.h"
#include "session/head.h"
#include "session/ids.h"
#include "store-fs/fail_stop.h"
#include "store-fs/files.h"
#include "store-fs/lease_table.h"
#include "store-fs/recovery.h"
#include "store-fs/tombstones.h"

#include "absl/time/time.h"

#include <cstddef>
#include <functional>

namespace holdfast::fs {

// Test-only switches, each of which breaks one guarantee (always off in a release build).
struct Sabotage {
  bool no_file_sync = false;
  bool no_directory_sync = false;
  bool no_epoch_check = false;
  bool no_request_check = false;
  bool acknowledge_before_sync = false;
};

// Outlives every session. Any thread may use it.
struct Environment {
  Files& files;
  StoreIdentity identity;
  const Clock& clock;
  Random& random;
  FailStop& fail_stop;
  LeaseTable& leases;
  Tombstones& tombstones;
  Sabotage sabotage;
  size_t rotate_changes;
  // Told of every head that has become durable; nullptr: the session is gone.
  std::function<void(const SessionKey&, const Head*)> changed;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_ENVIRONMENT_H_
