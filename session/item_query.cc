#include "session/item_query.h"

#include <algorithm>

namespace holdfast {

bool HasLabels(const Item& item, const ItemLabels& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& label) {
    const auto found = item.labels.find(label.first);
    return found != item.labels.end() && found->second == label.second;
  });
}

}  // namespace holdfast
