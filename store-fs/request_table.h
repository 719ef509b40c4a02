// The request ids of one session, for as long as their replies are kept. The newest replies stand
// here, as they do in the journal; of older ones only where they stand in the session's log of
// requests, which costs a tenth of the memory.
#ifndef HOLDFAST_STORE_FS_REQUEST_TABLE_H_
#define HOLDFAST_STORE_FS_REQUEST_TABLE_H_

#include "session/change.h"
#include "session/ids.h"

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace holdfast::fs {

// Costs what is added and what grows too old, never what is kept. Guarded by its session's lock.
class RequestTable {
 public:
  // What is known of a request: its row, or the number of its row in the log.
  struct Known {
    const RequestRow* row = nullptr;  // until the table changes
    uint64_t number = 0;
  };

  // `first` is the number that the first row has in the log, or will have.
  explicit RequestTable(uint64_t first = 1) : first_(first) {}

  // The newest row; replaces one of the same id.
  void Add(RequestRow row);
  // The same of a row that stands in the log; not behind one that does not.
  void AddWritten(const RequestId& id, absl::Time at);
  // Nothing when there is none, or it is older than `oldest`.
  [[nodiscard]] std::optional<Known> Find(const RequestId& id, absl::Time oldest) const;
  // Those that stand in the journal alone, oldest first.
  [[nodiscard]] const std::deque<RequestRow>& unwritten() const { return unwritten_; }
  // What was added so far stands in the log too, in that order.
  void NoteWritten() { unwritten_.clear(); }
  // Forgets those that stand in the log and are older.
  void DropOlder(absl::Time oldest);

 private:
  using Key = std::array<char, 16>;  // the UUID's bytes
  struct Age {
    absl::Time at;
    Key id;
  };

  static Key KeyOf(const RequestId& id);

  uint64_t first_;                             // the number of the oldest
  std::deque<Age> ages_;                       // oldest first, numbered without a gap
  absl::flat_hash_map<Key, uint64_t> newest_;  // the number of the newest row of an id
  std::deque<RequestRow> unwritten_;           // of the newest so many
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_REQUEST_TABLE_H_
