// Items: keyed records of a session that are no part of its snapshots. A restored or replaced
// history leaves them as they are.
#ifndef HOLDFAST_SESSION_ITEM_H_
#define HOLDFAST_SESSION_ITEM_H_

#include "platform/shared_bytes.h"
#include "session/ids.h"

#include "absl/time/time.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace holdfast {

// A typed value that reads filter by. Values of different types are never equal.
using LabelValue = std::variant<std::string, int64_t, double, bool>;
using ItemLabels = std::map<std::string, LabelValue>;

// Collections whose names begin with it are the server's own.
inline constexpr std::string_view kOwnCollectionPrefix = "holdfast.";

// Names one item of a session. The order is that of collections, then of keys, bytewise.
struct ItemName {
  std::string collection;
  std::string key;  // any bytes
  auto operator<=>(const ItemName&) const = default;
};

struct Item {
  ItemName name;
  ItemLabels labels;
  std::string content_type;
  std::string parent_key;      // of the same collection; need not be there; empty: none
  std::vector<ItemName> refs;  // need not be there
  SharedBytes data;
  ItemVersion version;    // the store's: of the put that wrote it
  absl::Time created_at;  // the store's: of the first put since the name had no item
  absl::Time updated_at;  // the store's: of the put that wrote it
  bool operator==(const Item&) const = default;
};

// Keys from `start` on and before `end`, bytewise.
struct KeyRange {
  std::string start;
  std::string end;  // empty: no end
  bool operator==(const KeyRange&) const = default;

  [[nodiscard]] bool Contains(const std::string& key) const {
    return key >= start && (end.empty() || key < end);
  }
  [[nodiscard]] bool empty() const { return !end.empty() && end <= start; }
};

// Every key that begins with `prefix`.
KeyRange KeysWithPrefix(const std::string& prefix);

// What an item takes of a session's room: its name, what EncodeItemFacts writes, and its data.
uint64_t ItemBytes(const Item& item);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_ITEM_H_
