// The items of a session: a space of its sorted index, and what is counted of it.
//
// A commit and a replay change the newer entries alone and read no run. What runs have of an item
// that is put or deleted is settled by the next rotation.
#ifndef HOLDFAST_STORE_FS_SESSION_ITEMS_H_
#define HOLDFAST_STORE_FS_SESSION_ITEMS_H_

#include "platform/encoding.h"
#include "session/item.h"
#include "session/item_writes.h"
#include "store-fs/index_layer.h"
#include "store-fs/index_space.h"
#include "store-fs/index_view.h"
#include "store-fs/item_entry.h"
#include "store-fs/log_bytes.h"
#include "store-fs/segment.h"
#include "store-fs/sorted_run.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace holdfast::fs {

// Used by one thread at a time; what its methods answer by any.
class SessionItems {
 public:
  void Put(const ItemEntry& entry);
  void Delete(const ItemName& name);
  // What there is after the puts and deletes so far.
  void SetTotals(const ItemTotals& totals) { totals_ = totals; }

  [[nodiscard]] const ItemTotals& totals() const { return totals_; }
  [[nodiscard]] const Runs& runs() const { return space_.runs(); }
  [[nodiscard]] const IndexLayer& newer() const { return space_.newer(); }
  // Adds the bytes of items to those of each sealed log.
  void AddLiveBytes(std::map<uint64_t, uint64_t>& live) const;
  // Bytes in one of them of the items that runs have.
  [[nodiscard]] uint64_t BytesInRuns(uint64_t file) const;

  // The journal is log.<file> now.
  void Seal(uint64_t file);
  // Looks up what the runs have of the items that were put or deleted, and counts it as gone. What
  // cannot be read counts as there for ever. An error of SortedRun other than DATA_LOSS and
  // NOT_FOUND.
  absl::Status Settle(const RunFiles& where);
  // Writes the newer entries as items.<file>, unless there are none or too many runs. Errors as of
  // RunWriter. Called when Settle was.
  absl::Status WriteRun(const RunFiles& where, uint64_t file);
  // Gives the bytes of newer entries the places that `place` answers, nullopt for what stays.
  void Move(absl::FunctionRef<std::optional<Extent>(const Extent& from)> place);
  // What lay in these sealed logs is in log.<file> now, as the newer entries and the newest run
  // say.
  void MoveLogs(const std::set<uint64_t>& sources, uint64_t file);
  void AddRun(const RunInfo& info) { space_.AddRun(info); }
  void ReplaceRuns(const std::set<uint64_t>& files, const std::optional<RunInfo>& by) {
    space_.ReplaceRuns(files, by);
  }

  // One byte of a session that has had no item.
  void Put(Encoder& out) const;
  static SessionItems Read(Decoder& in);

 private:
  // Before the newer entry of this key is made.
  void NoteChanged(const std::string& key);
  // They hide nothing where there are no runs.
  void DropDeletions();
  void Add(const Extent& place);
  void TakeOff(const Extent& place);

  IndexSpace space_{FileKind::kItemsRun, 0};
  ItemTotals totals_;
  LogBytes bytes_;                   // of what counts in runs
  std::set<std::string> unsettled_;  // keys that changed since the last rotation, if there are runs
};

// Whether a merge keeps `entry`: a deletion is needed where an older run may have its key.
bool IsItemKept(const IndexEntry& entry, bool has_oldest_run);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_SESSION_ITEMS_H_
