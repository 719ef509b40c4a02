// What the sessions of one store share.
#ifndef HOLDFAST_STORE_FS_ENVIRONMENT_H_
#define HOLDFAST_STORE_FS_ENVIRONMENT_H_

#include "platform/clock.h"
#include "session/change_notifier.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/item_writes.h"
#include "session/retention.h"
#include "session/store_meter.h"
#include "store-fs/compaction_queue.h"
#include "store-fs/cut_tails.h"
#include "store-fs/fail_stop.h"
#include "store-fs/files.h"
#include "store-fs/lease_table.h"
#include "store-fs/listing.h"
#include "store-fs/recovery.h"
#include "store-fs/space.h"
#include "store-fs/store_time.h"
#include "store-fs/tombstones.h"
#include "store-fs/uploads.h"
#include "store-fs/watermarks.h"
#include "store-fs/write_ahead_log.h"

#include "absl/time/time.h"

#include <cstddef>
#include <functional>
#include <string>

namespace holdfast::fs {

// Outlives every session. Any thread may use it.
struct Environment {
  Files& files;
  StoreIdentity identity;
  const Clock& clock;
  Random& random;
  FailStop& fail_stop;
  LeaseTable& leases;
  Tombstones& tombstones;
  Uploads& uploads;
  Watermarks& watermarks;
  const StoreTime& time;
  CutTails& cut_tails;
  bool by_interval = false;      // an acknowledgement does not wait for the disk
  WriteAheadLog* log = nullptr;  // none by the interval
  size_t rotate_changes = 0;
  Retention retention;
  ItemBounds item_bounds;  // of each session
  Listing& listing;
  ChangeNotifier& change_notifier;
  Space& space;
  CompactionQueue& compactions;
  std::function<void(const std::string& what)> note;  // see FsOptions
  StoreMeter& meter;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_ENVIRONMENT_H_
