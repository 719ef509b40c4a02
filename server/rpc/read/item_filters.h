// What distinguishes the pages of one read of items from those of another.
#ifndef HOLDFAST_SERVER_RPC_READ_ITEM_FILTERS_H_
#define HOLDFAST_SERVER_RPC_READ_ITEM_FILTERS_H_

#include "session/related_items.h"

#include <string>

namespace holdfast {

// Every field of a read but whose items they are, as bytes that are the same for the same fields.
std::string FiltersOf(const RelatedQuery& related);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_READ_ITEM_FILTERS_H_
