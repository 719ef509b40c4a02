// The rows of a listing, kept in memory in key order. A hint: a session touched by id is read from
// its directory, and the rows are compared with the names on the disk again and again.
#ifndef HOLDFAST_STORE_FS_LISTING_H_
#define HOLDFAST_STORE_FS_LISTING_H_

#include "session/head.h"
#include "session/store.h"
#include "session/store_meter.h"
#include "store-fs/index.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <atomic>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::fs {

// The row that shows `head`.
SessionRow RowOf(const SessionId& id, const Head& head);
// The row of a session that cannot be opened, for the reason that `refusal` gives.
SessionRow UnreadableRow(const SessionId& id, const absl::Status& refusal);

// Any thread may call.
class Listing {
 public:
  void Put(const TenantId& tenant, const SessionRow& row);
  // The same, unless the session has a row: that row comes from a commit and is newer.
  void PutIfUnknown(const TenantId& tenant, const SessionRow& row);
  void Remove(const SessionKey& key);
  // The ids of a tenant's rows.
  [[nodiscard]] std::vector<std::string> Ids(const TenantId& tenant) const;
  [[nodiscard]] ListPage Page(const ListQuery& query) const;
  // All rows, with their tenants.
  [[nodiscard]] std::vector<IndexRow> All() const;
  // Sessions that are ACTIVE by their rows, in the order of their keys; behind `after` if it is
  // given.
  [[nodiscard]] std::vector<SessionKey> Active(const std::optional<SessionKey>& after) const;
  // Sessions that are being cancelled by their rows, likewise.
  [[nodiscard]] std::vector<SessionKey> Cancelling(const std::optional<SessionKey>& after) const;
  // Readable sessions by their rows.
  [[nodiscard]] SessionCounts Counts() const;
  void SetComplete() { complete_ = true; }
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  using Key = std::pair<absl::Time, std::string>;  // creation time, id
  struct Tenant {
    std::map<Key, SessionRow> rows;
    std::map<std::string, Key> by_id;
    // By project root, so that a page of one project costs what it shows.
    std::map<std::string, std::set<Key>> by_project;
    // The same by group, of the sessions that are in one.
    std::map<std::string, std::set<Key>> by_group;
    std::set<std::string> active;
    std::set<std::string> cancelling;
    SessionCounts counts{};
  };

  std::vector<SessionKey> KeysIn(std::set<std::string> Tenant::*ids,
                                 const std::optional<SessionKey>& after) const;
  // The rows of the groups that begin with that of the query, by group first.
  static void FillGroups(const Tenant& tenant, const ListQuery& query,
                         const std::optional<Key>& after, ListPage& page);
  static void Take(Tenant& tenant, const std::string& id);
  // Counts a row in or out.
  static void Count(Tenant& tenant, const SessionRow& row, bool in);
  static void Place(Tenant& tenant, const SessionRow& row);

  mutable absl::Mutex mutex_;
  std::map<std::string, Tenant> tenants_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> complete_ = false;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_LISTING_H_
