// The record of what a client says of an item beside its name and its data (layout in
// docs/formats.md).
#ifndef HOLDFAST_SESSION_CODEC_ITEM_FACTS_H_
#define HOLDFAST_SESSION_CODEC_ITEM_FACTS_H_

#include "session/item.h"

#include <string>
#include <string_view>

namespace holdfast {

// ItemLabels, content type, parent key and references.
std::string EncodeItemFacts(const Item& item);
// Sets these in `item`. False, with `item` unspecified, for bytes that EncodeItemFacts never wrote.
bool DecodeItemFacts(std::string_view bytes, Item& item);

// A label as bytes: equal bytes exactly for equal names, types and values.
std::string EncodeLabel(const std::string& name, const LabelValue& value);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_CODEC_ITEM_FACTS_H_
