// The slot versions of a session: a space of its sorted index, and what is counted of it.
//
// A commit and a replay change the newer entries alone and read no run. A version that a run has
// ends when a newer one of its owner comes; which one that is, is settled by the next rotation.
#ifndef HOLDFAST_STORE_FS_SLOT_VERSIONS_H_
#define HOLDFAST_STORE_FS_SLOT_VERSIONS_H_

#include "platform/encoding.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/model.h"
#include "store-fs/index_layer.h"
#include "store-fs/index_space.h"
#include "store-fs/index_view.h"
#include "store-fs/pins.h"
#include "store-fs/segment.h"
#include "store-fs/slot_account.h"
#include "store-fs/slot_version.h"
#include "store-fs/sorted_run.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::fs {

// Used by one thread at a time; a view of it by any.
class SlotVersions {
 public:
  // `version` counts from `at` on, which is not before any position that was given before.
  void Put(SlotVersion version, Position at);
  // The owner has no slot from `at` on.
  void Delete(const std::string& owner, Position at);
  // Drops what no position from `oldest` on shows, and no pinned snapshot.
  void Prune(Position oldest, const Pins& pins);
  // The same where a snapshot is pinned no more.
  void Unpin(Position oldest, const Pins& pins);

  // How many slots there are at most, the store's own left out: owners that have changed since the
  // last rotation count as if the runs had no slot of them.
  [[nodiscard]] size_t at_most() const { return count_; }
  // What the newer entries say of an owner; nullopt when they say nothing.
  [[nodiscard]] std::optional<SlotEntry> NewestOf(const std::string& owner) const;
  // How many slots there are, and whether `owner` has one. What cannot be read counts as there. An
  // owner is looked up in the runs once between two rotations; the session's leader alone calls
  // these. An error of SortedRun other than DATA_LOSS and NOT_FOUND.
  absl::StatusOr<size_t> Count(const RunFiles& where) const;
  absl::StatusOr<bool> Has(const RunFiles& where, const std::string& owner) const;
  // Whether a version that is kept has its bytes in the upload.
  [[nodiscard]] bool Names(const UploadId& upload) const;
  // Adds the bytes of slot records to those of each sealed log.
  void AddLiveBytes(std::map<uint64_t, uint64_t>& live) const;

  [[nodiscard]] const Runs& runs() const { return space_.runs(); }
  [[nodiscard]] const IndexLayer& newer() const { return space_.newer(); }
  [[nodiscard]] const SlotAccount& account() const { return account_; }
  // For reads of these owners, or of all when none is named.
  [[nodiscard]] IndexView ViewOf(const std::vector<std::string>& owners) const;

  // The journal is log.<file> now.
  void Seal(uint64_t file);
  // Looks up what the runs have of the owners that have changed, and notes when it ends. What
  // cannot be read counts as there for ever. An error of SortedRun other than DATA_LOSS and
  // NOT_FOUND.
  absl::Status Settle(const RunFiles& where, const Head& head, const Pins& pins);
  // Writes the newer entries as run.<file>, unless there are none or too many runs. Errors as of
  // RunWriter. Called when Settle was.
  absl::Status WriteRun(const RunFiles& where, uint64_t file, const Head& head, const Pins& pins);
  // Gives the records of newer versions the places that `place` answers, nullopt for one that
  // stays.
  void Move(absl::FunctionRef<std::optional<Extent>(const Extent& from)> place);
  // The records in these sealed logs are in log.<file> now, as the newer entries and the newest run
  // say.
  void MoveLogs(const std::set<uint64_t>& sources, uint64_t file) { account_.Move(sources, file); }
  void AddRun(const RunInfo& info) { space_.AddRun(info); }
  void ReplaceRuns(const std::set<uint64_t>& files, const std::optional<RunInfo>& by) {
    space_.ReplaceRuns(files, by);
  }

  void Put(Encoder& out) const;
  static SlotVersions Read(Decoder& in);

 private:
  // An entry that is not needed when no position before `at` is kept.
  struct Ended {
    Position at;
    std::string key;
  };

  // Whether the runs have a slot of an owner.
  absl::StatusOr<bool> HasInRuns(const RunFiles& where, const std::string& owner) const;

  void Insert(const SlotEntry& entry);
  void Erase(const std::string& key);
  // Counts what uploads the newer entry names more, or less, by one.
  void CountUpload(const SlotEntry& entry, bool is_there);
  void NoteChanged(const std::string& owner, bool had, bool has);
  // Calls `visit` with each newer entry and the position at which it ends, if it has.
  void VisitNewer(
      absl::FunctionRef<void(const SlotEntry& entry, std::optional<Position> until)> visit) const;

  IndexSpace space_{FileKind::kRun, kSlotKeySuffix};
  std::deque<Ended> ended_;               // of newer entries, in the order of positions
  std::vector<Ended> pinned_;             // those that are kept for pinned snapshots alone
  std::map<UploadId, uint64_t> uploads_;  // how many newer versions name each
  SlotAccount account_;                   // of the versions in runs
  size_t count_ = 0;
  std::set<std::string> unsettled_;  // owners that changed since then, if there are runs
  // The answers of HasInRuns. Copies of this share them until the runs or the newer entries of one
  // are of another rotation.
  std::shared_ptr<std::map<std::string, bool>> in_runs_ =
      std::make_shared<std::map<std::string, bool>>();
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_SLOT_VERSIONS_H_
