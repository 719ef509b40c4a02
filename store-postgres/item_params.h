// The items that a change writes, as parameters of holdfast.change, each by its name.
#ifndef HOLDFAST_STORE_POSTGRES_ITEM_PARAMS_H_
#define HOLDFAST_STORE_POSTGRES_ITEM_PARAMS_H_

#include "session/apply.h"
#include "session/item.h"
#include "session/item_writes.h"
#include "store-postgres/pg/params.h"

#include <string>

namespace holdfast::pg {

// `applied.items`, within `most`.
void PutItems(const Applied& applied, const ItemBounds& most, Params& params);

// The labels, each as EncodeLabel writes it, as the text of an array of bytea.
std::string LabelArray(const ItemLabels& labels);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_ITEM_PARAMS_H_
