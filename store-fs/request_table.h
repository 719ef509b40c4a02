// The request ids of one session with their replies, for as long as they are kept.
#ifndef HOLDFAST_STORE_FS_REQUEST_TABLE_H_
#define HOLDFAST_STORE_FS_REQUEST_TABLE_H_

#include "session/change.h"
#include "session/ids.h"

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace holdfast::fs {

// Costs what is added and what grows too old, never what is kept. Guarded by its session's lock.
class RequestTable {
 public:
  // The newest row; replaces one of the same id.
  void Add(RequestRow row);
  // nullptr when there is none, or it is older than `oldest`.
  [[nodiscard]] const RequestRow* Find(const RequestId& id, absl::Time oldest) const;
  // Those that stand in the journal alone, oldest first.
  [[nodiscard]] std::vector<const RequestRow*> Unwritten() const;
  // What was added so far stands in a segment too.
  void NoteWritten() { unwritten_ = 0; }
  void DropOlder(absl::Time oldest);

 private:
  absl::flat_hash_map<RequestId, RequestRow> rows_;
  std::deque<std::pair<absl::Time, RequestId>> by_age_;  // oldest first
  size_t unwritten_ = 0;                                 // so many of the newest
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_REQUEST_TABLE_H_
