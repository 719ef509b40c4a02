#include "store-postgres/item_params.h"

#include "session/codec/item_facts.h"
#include "store-postgres/change_rows.h"
#include "store-postgres/key_spans.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace holdfast::pg {
namespace {

void PutExpectedLast(const std::optional<ExpectedLast>& expected, Params& params) {
  params.Named("p_last_collection", "text");
  expected ? params.Text(expected->collection) : params.Null();
  params.Named("p_last_start", "bytea");
  expected ? params.Bytes(expected->range.start) : params.Null();
  params.Named("p_last_end", "bytea");
  expected ? params.Bytes(EndOf(expected->range)) : params.Null();
  params.Named("p_last_key", "bytea");
  expected ? params.Bytes(expected->key) : params.Null();
}

void PutDeletes(const DeletedSpans& deleted, Params& params) {
  std::vector<std::string> collections;
  std::vector<std::string_view> starts;
  std::vector<std::string_view> ends;
  for (const KeySpan& span : deleted.spans()) {
    collections.push_back(span.collection);
    starts.emplace_back(span.start);
    ends.emplace_back(span.end);
  }
  params.Named("p_delete_collections").Texts(collections);
  params.Named("p_delete_starts").BytesArray(starts).Named("p_delete_ends").BytesArray(ends);
}

// What a put is decided by.
void PutConditions(const std::vector<ItemPut>& puts, const DeletedSpans& deleted, Params& params) {
  std::vector<std::string> collections;
  std::vector<std::string_view> keys;
  std::vector<int32_t> conditions;
  std::vector<int64_t> expected;
  std::vector<int64_t> versions;
  std::vector<bool> fresh;
  for (const ItemPut& put : puts) {
    collections.push_back(put.item.name.collection);
    keys.emplace_back(put.item.name.key);
    conditions.push_back(static_cast<int32_t>(put.condition));
    expected.push_back(Signed(put.expected));
    versions.push_back(Signed(put.item.version));
    fresh.push_back(deleted.Contain(put.item.name));
  }
  params.Named("p_put_collections").Texts(collections).Named("p_put_keys").BytesArray(keys);
  params.Named("p_put_conditions").Int4s(conditions).Named("p_put_expected").Ints(expected);
  params.Named("p_put_versions").Ints(versions).Named("p_put_new").Bools(fresh);
}

void PutContents(const std::vector<ItemPut>& puts, Params& params) {
  std::vector<int64_t> bytes;
  std::vector<std::string> facts;
  std::vector<std::string> labels;
  std::vector<std::string_view> data;
  bytes.reserve(puts.size());
  facts.reserve(puts.size());
  labels.reserve(puts.size());
  data.reserve(puts.size());
  for (const ItemPut& put : puts) {
    bytes.push_back(Signed(ItemBytes(put.item)));
    facts.push_back(EncodeItemFacts(put.item));
    labels.push_back(put.item.labels.empty() ? "" : LabelArray(put.item.labels));
    data.emplace_back(put.item.data);
  }
  std::vector<std::optional<std::string_view>> arrays;
  arrays.reserve(labels.size());
  for (const std::string& array : labels) {
    arrays.push_back(array.empty() ? std::nullopt : std::optional<std::string_view>(array));
  }
  params.Named("p_put_bytes").Ints(bytes).Named("p_put_facts").BytesArray(Views(facts));
  params.Named("p_put_labels").NullableTexts(arrays).Named("p_put_data").BytesArray(data);
}

}  // namespace

void PutItems(const Applied& applied, const ItemBounds& most, Params& params) {
  const ItemWrites& writes = applied.items;
  const DeletedSpans deleted(writes.deletes);
  PutExpectedLast(writes.expected_last, params);
  PutDeletes(deleted, params);
  PutConditions(writes.puts, deleted, params);
  PutContents(writes.puts, params);
  params.Named("p_put_at").Time(applied.at);
  const ItemBounds bounds = BoundsOf(writes, most);
  params.Named("p_most_items").Int(Signed(bounds.items));
  params.Named("p_most_bytes").Int(Signed(bounds.bytes));
  params.Named("p_most_deletes").Int(Signed(bounds.deletes));
}

std::string LabelArray(const ItemLabels& labels) {
  std::string array;
  for (const auto& [name, value] : labels) {
    // The backslash of the element is escaped in the array's text.
    absl::StrAppend(&array, array.empty() ? "{" : ",", R"("\\x)",
                    absl::BytesToHexString(EncodeLabel(name, value)), "\"");
  }
  return array + "}";
}

}  // namespace holdfast::pg
