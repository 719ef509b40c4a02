// The sessions that are open, at most so many: each costs a descriptor and some memory.
#ifndef HOLDFAST_STORE_FS_SESSION_TABLE_H_
#define HOLDFAST_STORE_FS_SESSION_TABLE_H_

#include "session/ids.h"
#include "store-fs/environment.h"
#include "store-fs/open_session.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <list>
#include <memory>
#include <utility>
#include <vector>

namespace holdfast::fs {

// Any thread may call.
class SessionTable {
 public:
  SessionTable(Environment& environment, size_t most) : environment_(environment), most_(most) {}

  // The session of `key`, which may not exist on the disk. There is never a second object for a key
  // whose object is in use.
  std::shared_ptr<OpenSession> Get(const SessionKey& key);
  // The same of one that is there; nullptr when it is not, or is just being closed.
  std::shared_ptr<OpenSession> Find(const SessionKey& key);
  // All that are open now.
  std::vector<std::shared_ptr<OpenSession>> All();
  // Frees the preallocated space of sessions that have not changed for `idle`.
  void CutBackIdle(absl::Duration idle);
  // Closes the sessions that are not in use.
  void Clear();

 private:
  using Entry = std::pair<SessionKey, std::shared_ptr<OpenSession>>;

  // Removes the sessions beyond the bound; each is in `closing_` until it is closed.
  std::list<Entry> Evict() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Environment& environment_;
  const size_t most_;
  absl::Mutex mutex_;
  std::list<Entry> by_use_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  absl::flat_hash_map<SessionKey, std::list<Entry>::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<SessionKey> closing_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_SESSION_TABLE_H_
