// Keys of items as spans that PostgreSQL compares: from one key on and before another one,
// bytewise.
#ifndef HOLDFAST_STORE_POSTGRES_KEY_SPANS_H_
#define HOLDFAST_STORE_POSTGRES_KEY_SPANS_H_

#include "session/item.h"
#include "session/item_writes.h"

#include <string>
#include <vector>

namespace holdfast::pg {

// The keys of one collection from `start` on and before `end`; none where `end` is not behind
// `start`.
struct KeySpan {
  std::string collection;
  std::string start;
  std::string end;
};

// The first key behind `key`.
std::string NextKey(const std::string& key);
// Before which the keys of a range are: its end, or what is behind every key.
std::string EndOf(const KeyRange& range);

// What deletes take, as spans in the order of their names that do not overlap: an item is in at
// most one of them, however many deletes name it.
class DeletedSpans {
 public:
  explicit DeletedSpans(const std::vector<ItemDelete>& deletes);

  [[nodiscard]] const std::vector<KeySpan>& spans() const { return spans_; }
  [[nodiscard]] bool Contain(const ItemName& name) const;

 private:
  std::vector<KeySpan> spans_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_KEY_SPANS_H_
