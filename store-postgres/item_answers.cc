#include "store-postgres/item_answers.h"

#include "platform/big_endian.h"

#include <cstdint>
#include <string>

namespace holdfast::pg {
namespace {

// What a refusal is of, as holdfast.write_items has it.
enum ItemRefusal : int32_t {
  kRefusedLast = 1,
  kRefusedDeletes,
  kRefusedPut,
  kRefusedCount,
  kRefusedBytes
};

// The columns, from the first one on.
enum ItemAnswer : size_t { kItemRefusal, kItemPut, kItemActual, kItemLast, kItemResults };

}  // namespace

std::optional<Refusal> ReadItemRefusal(const Rows& rows, size_t row, size_t column,
                                       const ItemWrites& writes, const ItemBounds& bounds) {
  if (rows.IsNull(row, column + kItemRefusal)) return std::nullopt;
  const int32_t of = rows.Int4(row, column + kItemRefusal);
  if (of == kRefusedLast) return StaleLast(std::string(rows.Bytes(row, column + kItemLast)));
  const auto actual = static_cast<uint64_t>(rows.Int(row, column + kItemActual));
  if (of == kRefusedDeletes) return TooManyDeletes(bounds.deletes, actual);
  if (of == kRefusedCount) return TooManyItems(bounds.items, actual);
  if (of == kRefusedBytes) return TooManyItemBytes(bounds.bytes, actual);
  const auto index = static_cast<size_t>(rows.Int4(row, column + kItemPut) - 1);
  return StaleItem(index, writes.puts.at(index), ItemVersion(actual));
}

bool ReadItemResults(std::string_view results, Receipt& receipt) {
  constexpr size_t kNumber = sizeof(uint64_t);
  if (results.empty() || results.size() % kNumber != 0) return false;
  receipt.items_deleted = BigEndian<uint64_t>(results);
  receipt.puts.clear();
  receipt.puts.reserve(results.size() / kNumber - 1);
  for (results.remove_prefix(kNumber); !results.empty(); results.remove_prefix(kNumber)) {
    const auto result = BigEndian<uint64_t>(results);
    receipt.puts.push_back({.version = ItemVersion(result / 2), .existed = result % 2 == 1});
  }
  return true;
}

bool ReadItemResults(const Rows& rows, size_t row, size_t column, Receipt& receipt) {
  return ReadItemResults(rows.Bytes(row, column + kItemResults), receipt);
}

}  // namespace holdfast::pg
