// The embedded store: sessions as directories of files, for one serving process.
#ifndef HOLDFAST_STORE_FS_FS_STORE_H_
#define HOLDFAST_STORE_FS_FS_STORE_H_

#include "platform/clock.h"
#include "session/item_writes.h"
#include "session/retention.h"
#include "session/store.h"
#include "session/store_meter.h"
#include "store-fs/bounds.h"
#include "store-fs/cut_tails.h"
#include "store-fs/files.h"

#include "absl/time/time.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace holdfast::fs {

enum class Durability : uint8_t {
  kSync,      // an acknowledgement waits for the disk
  kInterval,  // it does not: what the last `interval` acknowledged may be lost with the machine
};

struct FsOptions {
  std::string root;  // absolute path; made 0700 if it is missing
  Durability durability = Durability::kSync;
  absl::Duration interval = absl::Milliseconds(100);
  bool allow_network_file_system = false;
  bool adopt = false;  // take over a root that was copied or restored: raises the incarnation
  size_t open_sessions = 512;  // at most; each costs a descriptor
  Retention retention;
  size_t rotate_changes = 512;  // a journal of so many changes is rotated; also one of 4 MiB
  // Called once when the store stops, with the cause in the system's words, for the operator's log
  // alone.
  std::function<void(const std::string& cause)> report;
  // Called for each unfinished write that recovery has cut off.
  CutTails::Report report_cut_tail;
  // Called with conditions for the operator's log after which the store continues: that there is no
  // space, and that there is room again.
  std::function<void(const std::string& what)> note;
  // Gets figures on what is written together; outlives the store.
  StoreMeter* meter = &StoreMeter::None();
  // For tests alone.
  Bounds bounds;
  ItemBounds item_bounds;
  FilesWrapper wrap_files;
  bool compact_in_sweeps = false;  // by the caller of ListDue, instead of a thread beside it
};

// A store over the directory `options.root`. Nothing is touched before Init. `clock` and `random`
// must outlive it.
std::unique_ptr<SessionStore> MakeFsStore(FsOptions options, const Clock& clock, Random& random);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_FS_STORE_H_
