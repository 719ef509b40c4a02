// What the database answers to a change that writes items.
#ifndef HOLDFAST_STORE_POSTGRES_ITEM_ANSWERS_H_
#define HOLDFAST_STORE_POSTGRES_ITEM_ANSWERS_H_

#include "session/change.h"
#include "session/item_writes.h"
#include "session/refusal.h"
#include "store-postgres/pg/rows.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace holdfast::pg {

// The columns of holdfast.outcome about items, as a statement answers them behind the others.
inline constexpr char kItemColumns[] =
    ", item_refusal, item_put, item_actual, item_last, item_results";

// Why `writes` were refused, as the columns from `column` on say; nullopt where they were not.
std::optional<Refusal> ReadItemRefusal(const Rows& rows, size_t row, size_t column,
                                       const ItemWrites& writes, const ItemBounds& bounds);

// Completes the receipt of writes by their results (holdfast.write_items). False, with `receipt`
// unspecified, for bytes that are none.
bool ReadItemResults(std::string_view results, Receipt& receipt);
// The same of the results behind `column`, the first one about items.
bool ReadItemResults(const Rows& rows, size_t row, size_t column, Receipt& receipt);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_ITEM_ANSWERS_H_
