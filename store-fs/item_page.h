// A page of a session's items, of one moment, read without the session's lock.
#ifndef HOLDFAST_STORE_FS_ITEM_PAGE_H_
#define HOLDFAST_STORE_FS_ITEM_PAGE_H_

#include "session/ids.h"
#include "session/item_query.h"
#include "session/store_reads.h"
#include "store-fs/files.h"
#include "store-fs/index_entry.h"
#include "store-fs/index_view.h"
#include "store-fs/item_entry.h"
#include "store-fs/segment.h"
#include "store-fs/session_state.h"
#include "store-fs/sorted_run.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::fs {

// What pages of a query are read from.
struct ItemsLook {
  IndexView index;
  KeyRange range;       // of the index, that a page of a range may be of
  bool is_cut = false;  // the query's range goes on behind it: newer entries there were left out
  std::shared_ptr<File> journal;
  SessionUid uid;
  ItemVersion items_version;
};

// Of the newer entries in a range at most `newer_most` are copied.
ItemsLook LookAtItems(const SessionState& state, const std::shared_ptr<File>& journal,
                      const ItemQuery& query, size_t newer_most);

// Reads one page. Used by one thread.
class ItemPageReader {
 public:
  // All must outlive it.
  ItemPageReader(const RunFiles& where, const ItemsLook& look, const ItemQuery& query,
                 PageLimit limit);
  ItemPageReader(const ItemPageReader&) = delete;
  ItemPageReader& operator=(const ItemPageReader&) = delete;
  ~ItemPageReader() = default;

  // The page, in which what cannot be read is marked as damaged; nullopt when it would end where
  // the look was cut. Errors of runs as of SortedRun, but for named keys; the error of a shortage
  // (IsShortage).
  absl::StatusOr<std::optional<ItemPage>> Read();

 private:
  // An item that is there, or that may be: what runs have of it cannot be read.
  struct Candidate {
    ItemName name;
    std::optional<ItemEntry> entry;
  };
  using NextCandidate = std::function<absl::StatusOr<std::optional<Candidate>>()>;

  absl::StatusOr<std::optional<ItemPage>> ReadFrom(const NextCandidate& next);
  // Adds the item of a candidate, if it is asked for, to a page of so many bytes. False where it
  // has no room.
  absl::StatusOr<bool> Take(const Candidate& candidate, uint64_t& bytes, ItemPage& page);
  NextCandidate InRange();
  NextCandidate OfKeys();
  // Without its data.
  absl::StatusOr<ItemView> ViewOf(const Candidate& candidate);
  // What an item is in a page, by ItemBytes: as far as the page has it.
  [[nodiscard]] uint64_t BytesInPage(const Candidate& candidate, const ItemView& view) const;
  absl::Status ReadData(const ItemEntry& entry, ItemView& view);
  // DATA_LOSS, or another error that is no shortage, for what cannot be read.
  absl::StatusOr<std::string> ReadAt(const Extent& place);

  const RunFiles& where_;
  const ItemsLook& look_;
  const ItemQuery& query_;
  const PageLimit limit_;
  std::map<uint64_t, std::unique_ptr<File>> logs_;  // that are open, at most kLogsAtOnce
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_ITEM_PAGE_H_
