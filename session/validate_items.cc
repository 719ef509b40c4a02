#include "platform/status_macros.h"
#include "session/refusal.h"
#include "session/validate.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <variant>

namespace holdfast {
namespace {

bool IsCollectionLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

absl::Status CheckLength(std::string_view field, size_t size, size_t most) {
  if (size > most) return TooLarge(field, most, size);
  return absl::OkStatus();
}

absl::Status CheckCollection(const std::string& field, const std::string& name) {
  RETURN_IF_ERROR(CheckLength(field, name.size(), kItemCollectionBytes));
  if (name.empty() || !std::ranges::all_of(name, IsCollectionLetter)) {
    return InvalidField(field, "must be 1 to 64 of a-z, 0-9, '.', '_' and '-'");
  }
  if (name.starts_with(kOwnCollectionPrefix)) {
    return InvalidField(field, "must not begin with holdfast., as the server's own do");
  }
  return absl::OkStatus();
}

absl::Status CheckItem(const std::string& path, const Item& item) {
  RETURN_IF_ERROR(CheckCollection(path + ".collection", item.name.collection));
  RETURN_IF_ERROR(CheckLength(path + ".key", item.name.key.size(), kItemKeyBytes));
  RETURN_IF_ERROR(CheckLength(path + ".content_type", item.content_type.size(), kContentTypeBytes));
  RETURN_IF_ERROR(CheckLength(path + ".parent_key", item.parent_key.size(), kItemKeyBytes));
  RETURN_IF_ERROR(ValidateLabels(path + ".labels", item.labels));
  RETURN_IF_ERROR(CheckLength(path + ".refs", item.refs.size(), kItemRefs));
  for (size_t i = 0; i < item.refs.size(); ++i) {
    const std::string ref = path + ".refs[" + std::to_string(i) + "]";
    RETURN_IF_ERROR(ValidateItemName(ref, item.refs[i]));
  }
  return absl::OkStatus();
}

absl::Status CheckPut(const std::string& path, const ItemPut& put) {
  RETURN_IF_ERROR(CheckItem(path + ".item", put.item));
  if (put.item.name.key.empty() && put.condition != PutCondition::kAny) {
    return InvalidField(path + ".condition", "must be left out of a put without a key");
  }
  if (put.condition != PutCondition::kIfVersion && put.expected != ItemVersion()) {
    return InvalidField(path + ".expected_version", "belongs to IF_VERSION, and only to that");
  }
  return absl::OkStatus();
}

absl::Status CheckRange(const std::string& path, const KeyRange& range) {
  RETURN_IF_ERROR(CheckLength(path, range.start.size(), kItemKeyBytes));
  RETURN_IF_ERROR(CheckLength(path, range.end.size(), kItemKeyBytes));
  if (range.empty()) return InvalidField(path, "must begin before its end");
  return absl::OkStatus();
}

absl::Status CheckDelete(const std::string& path, const ItemDelete& wanted) {
  if (const auto* range = std::get_if<KeyRange>(&wanted.keys)) {
    RETURN_IF_ERROR(CheckCollection(path + ".collection", wanted.collection));
    return CheckRange(path + ".range", *range);
  }
  return ValidateItemName(
      path, {.collection = wanted.collection, .key = std::get<std::string>(wanted.keys)});
}

absl::Status CheckPuts(const std::vector<ItemPut>& puts) {
  RETURN_IF_ERROR(CheckLength("puts", puts.size(), kItemPutsPerChange));
  std::set<ItemName> seen;
  size_t bytes = 0;
  for (size_t i = 0; i < puts.size(); ++i) {
    const std::string path = "puts[" + std::to_string(i) + "]";
    RETURN_IF_ERROR(CheckPut(path, puts[i]));
    const ItemName& name = puts[i].item.name;
    if (!name.key.empty() && !seen.insert(name).second) {
      return InvalidField(path + ".item.key", "is given twice");
    }
    bytes += puts[i].item.data.size();
  }
  return CheckLength("request", bytes, kChangeBytes);
}

}  // namespace

absl::Status ValidateItemName(const std::string& path, const ItemName& name) {
  RETURN_IF_ERROR(CheckCollection(path + ".collection", name.collection));
  RETURN_IF_ERROR(CheckLength(path + ".key", name.key.size(), kItemKeyBytes));
  return name.key.empty() ? InvalidField(path + ".key", "must name an item") : absl::OkStatus();
}

absl::Status ValidateLabels(const std::string& path, const ItemLabels& labels) {
  RETURN_IF_ERROR(CheckLength(path, labels.size(), kItemLabels));
  for (const auto& [name, value] : labels) {
    const std::string label = absl::StrCat(path, ".", name);
    RETURN_IF_ERROR(CheckLength(path, name.size(), kItemLabelNameBytes));
    if (name.empty()) return InvalidField(path, "a label needs a name");
    if (const auto* text = std::get_if<std::string>(&value)) {
      RETURN_IF_ERROR(CheckLength(label, text->size(), kItemLabelValueBytes));
    }
    const auto* number = std::get_if<double>(&value);
    if (number != nullptr && std::isnan(*number)) {
      return InvalidField(label, "must be a number that equals itself");
    }
  }
  return absl::OkStatus();
}

absl::Status Validate(const PutItemsCommand& command) {
  const ItemWrites& writes = command.writes;
  if (writes.empty()) return InvalidField("puts", "must not be empty where nothing is deleted");
  RETURN_IF_ERROR(CheckPuts(writes.puts));
  RETURN_IF_ERROR(CheckLength("deletes", writes.deletes.size(), kItemDeletesPerChange));
  for (size_t i = 0; i < writes.deletes.size(); ++i) {
    RETURN_IF_ERROR(CheckDelete("deletes[" + std::to_string(i) + "]", writes.deletes[i]));
  }
  if (writes.expected_last) {
    const ExpectedLast& expected = *writes.expected_last;
    RETURN_IF_ERROR(CheckCollection("expected_last.collection", expected.collection));
    RETURN_IF_ERROR(CheckRange("expected_last.key_prefix", expected.range));
    RETURN_IF_ERROR(CheckLength("expected_last.key", expected.key.size(), kItemKeyBytes));
  }
  if (!command.create_if_missing) return absl::OkStatus();
  return ValidateMissing(*command.create_if_missing);
}

absl::Status Validate(const RelatedQuery& related) {
  const ItemQuery& query = related.page;
  RETURN_IF_ERROR(CheckCollection("collection", query.collection));
  if (!related.attached.empty()) {
    RETURN_IF_ERROR(CheckCollection("include_attached", related.attached));
  }
  if (related.ancestors_of) {
    RETURN_IF_ERROR(CheckLength("ancestors_of", related.ancestors_of->size(), kItemKeyBytes));
    if (!query.keys.empty()) return InvalidField("keys", "must be left out beside ancestors_of");
    if (!query.labels.empty()) {
      return InvalidField("labels", "must be left out beside ancestors_of");
    }
  }
  RETURN_IF_ERROR(CheckLength("keys", query.keys.size(), kItemKeysPerRead));
  for (size_t i = 0; i < query.keys.size(); ++i) {
    const std::string path = "keys[" + std::to_string(i) + "]";
    RETURN_IF_ERROR(CheckLength(path, query.keys[i].size(), kItemKeyBytes));
    if (query.keys[i].empty()) return InvalidField(path, "must name an item");
  }
  if (query.keys.empty() && query.range.empty()) {
    return InvalidField("range", "must begin before its end");
  }
  if (!query.keys.empty() && !query.labels.empty()) {
    return InvalidField("labels", "belong to a range, and not to keys");
  }
  return ValidateLabels("labels", query.labels);
}

}  // namespace holdfast
