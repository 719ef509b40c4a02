#include "server/rpc/convert/items.h"

#include "platform/status_macros.h"
#include "server/rpc/convert/fields.h"
#include "session/limits.h"
#include "session/refusal.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace holdfast {
namespace {

absl::StatusOr<LabelValue> ReadLabel(const std::string& path, const pb::Label& label) {
  switch (label.value_case()) {
    case pb::Label::kStringValue:
      return LabelValue(label.string_value());
    case pb::Label::kIntValue:
      return LabelValue(label.int_value());
    case pb::Label::kDoubleValue:
      return LabelValue(label.double_value());
    case pb::Label::kBoolValue:
      return LabelValue(label.bool_value());
    case pb::Label::VALUE_NOT_SET:
      break;
  }
  return InvalidField(path, "must have a value of a type that this server knows");
}

absl::StatusOr<Item> ReadItem(const std::string& path, pb::Item& from) {
  Item item;
  item.name.collection = std::move(*from.mutable_collection());
  item.name.key = std::move(*from.mutable_key());
  ASSIGN_OR_RETURN(item.labels, ReadLabels(path + ".labels", from.labels()));
  item.content_type = std::move(*from.mutable_content_type());
  item.parent_key = std::move(*from.mutable_parent_key());
  for (pb::ItemRef& ref : *from.mutable_refs()) {
    item.refs.push_back(
        {.collection = std::move(*ref.mutable_collection()), .key = std::move(*ref.mutable_key())});
  }
  item.data = std::move(*from.mutable_data());
  return item;
}

absl::StatusOr<PutCondition> ReadPutCondition(const std::string& path, pb::PutCondition value) {
  switch (value) {
    case pb::PUT_CONDITION_UNSPECIFIED:
      return PutCondition::kAny;
    case pb::PUT_CONDITION_IF_ABSENT:
      return PutCondition::kIfAbsent;
    case pb::PUT_CONDITION_IF_VERSION:
      return PutCondition::kIfVersion;
    default:
      return InvalidField(path, "is a condition that this server does not know");
  }
}

absl::StatusOr<ItemPut> ReadPut(const std::string& path, pb::ItemPut& from) {
  if (!from.has_item()) return InvalidField(path + ".item", "must be set");
  ItemPut put;
  ASSIGN_OR_RETURN(put.item, ReadItem(path + ".item", *from.mutable_item()));
  ASSIGN_OR_RETURN(put.condition, ReadPutCondition(path + ".condition", from.condition()));
  put.expected = ItemVersion(static_cast<uint64_t>(from.expected_version()));
  return put;
}

absl::StatusOr<ItemDelete> ReadDelete(const std::string& path, pb::ItemDelete& from) {
  ItemDelete wanted{.collection = std::move(*from.mutable_collection()), .keys = {}};
  switch (from.keys_case()) {
    case pb::ItemDelete::kKey:
      wanted.keys = std::move(*from.mutable_key());
      return wanted;
    case pb::ItemDelete::kKeyPrefix:
      wanted.keys = KeysWithPrefix(from.key_prefix());
      return wanted;
    case pb::ItemDelete::kRange:
      wanted.keys = KeyRange{.start = from.range().start_key(), .end = from.range().end_key()};
      return wanted;
    case pb::ItemDelete::KEYS_NOT_SET:
      break;
  }
  return InvalidField(path, "must have a key, a prefix or a range");
}

// The least key that is greater than this one.
std::string Behind(const std::string& key) { return key + '\0'; }

absl::StatusOr<KeyRange> ReadRange(const pb::ItemRange& from) {
  for (const auto& [field, key] : {std::pair("range.key_prefix", &from.key_prefix()),
                                   std::pair("range.after_key", &from.after_key()),
                                   std::pair("range.before_key", &from.before_key())}) {
    if (key->size() > kItemKeyBytes) return TooLarge(field, kItemKeyBytes, key->size());
  }
  KeyRange range = KeysWithPrefix(from.key_prefix());
  if (!from.after_key().empty()) range.start = std::max(range.start, Behind(from.after_key()));
  const std::string& before = from.before_key();
  if (!before.empty() && (range.end.empty() || before < range.end)) range.end = before;
  return range;
}

void WriteLabel(const LabelValue& label, pb::Label& out) {
  if (const auto* text = std::get_if<std::string>(&label)) return out.set_string_value(*text);
  if (const auto* number = std::get_if<int64_t>(&label)) return out.set_int_value(*number);
  if (const auto* real = std::get_if<double>(&label)) return out.set_double_value(*real);
  out.set_bool_value(std::get<bool>(label));
}

}  // namespace

absl::StatusOr<ItemLabels> ReadLabels(const std::string& path,
                                      const google::protobuf::Map<std::string, pb::Label>& labels) {
  ItemLabels read;
  for (const auto& [name, label] : labels) {
    ASSIGN_OR_RETURN(read[name], ReadLabel(absl::StrCat(path, ".", name), label));
  }
  return read;
}

absl::StatusOr<ItemWrites> ReadItemWrites(pb::PutItemsRequest& request) {
  ItemWrites writes;
  for (int i = 0; i < request.puts_size(); ++i) {
    ASSIGN_OR_RETURN(writes.puts.emplace_back(),
                     ReadPut("puts[" + std::to_string(i) + "]", *request.mutable_puts(i)));
  }
  for (int i = 0; i < request.deletes_size(); ++i) {
    ASSIGN_OR_RETURN(writes.deletes.emplace_back(),
                     ReadDelete("deletes[" + std::to_string(i) + "]", *request.mutable_deletes(i)));
  }
  if (request.has_expected_last()) {
    pb::ExpectedLastItem& last = *request.mutable_expected_last();
    writes.expected_last = ExpectedLast{.collection = std::move(*last.mutable_collection()),
                                        .range = KeysWithPrefix(last.key_prefix()),
                                        .key = std::move(*last.mutable_key())};
  }
  return writes;
}

absl::StatusOr<RelatedQuery> ReadItemQuery(const pb::ReadItemsRequest& request) {
  RelatedQuery related;
  ItemQuery& query = related.page;
  query.collection = request.collection();
  const std::set<std::string> keys(request.keys().begin(), request.keys().end());
  query.keys.assign(keys.begin(), keys.end());
  if (!request.ancestors_of().empty()) related.ancestors_of = request.ancestors_of();
  if (request.has_range() && (!query.keys.empty() || related.ancestors_of)) {
    return InvalidField("range", "must be left out beside keys and ancestors_of");
  }
  ASSIGN_OR_RETURN(query.range, ReadRange(request.range()));
  query.descending = request.range().descending();
  ASSIGN_OR_RETURN(query.labels, ReadLabels("labels", request.labels()));
  query.data = !request.omit_data();
  related.refs = request.include_refs();
  related.attached = request.include_attached();
  return related;
}

void Write(const ItemLabels& labels, google::protobuf::Map<std::string, pb::Label>& out) {
  for (const auto& [name, label] : labels) WriteLabel(label, out[name]);
}

void Write(const Item& item, pb::Item& out) {
  out.set_collection(item.name.collection);
  out.set_key(item.name.key);
  Write(item.labels, *out.mutable_labels());
  out.set_content_type(item.content_type);
  out.set_parent_key(item.parent_key);
  for (const ItemName& ref : item.refs) {
    pb::ItemRef& to = *out.add_refs();
    to.set_collection(ref.collection);
    to.set_key(ref.key);
  }
  if (item.version == ItemVersion()) return;  // it could not be read
  out.set_version(item.version.value());
  *out.mutable_create_time() = ToWire(item.created_at);
  *out.mutable_update_time() = ToWire(item.updated_at);
}

}  // namespace holdfast
