#include "session/item.h"

#include "session/codec/item_facts.h"

namespace holdfast {

KeyRange KeysWithPrefix(const std::string& prefix) {
  constexpr char kGreatest = '\xff';
  KeyRange range{.start = prefix, .end = prefix};
  while (!range.end.empty() && range.end.back() == kGreatest) range.end.pop_back();
  // The bytes of a key are compared without sign.
  if (!range.end.empty()) {
    range.end.back() = static_cast<char>(static_cast<uint8_t>(range.end.back()) + 1);
  }
  return range;
}

uint64_t ItemBytes(const Item& item) {
  return item.name.collection.size() + item.name.key.size() + EncodeItemFacts(item).size() +
         item.data.size();
}

}  // namespace holdfast
