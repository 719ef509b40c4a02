#include "cli/item_row.h"

#include "cli/item_key.h"
#include "cli/item_label.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/times.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

// What a row shows of an item; as JSON it is whole.
constexpr size_t kItemDataColumns = 80;
constexpr size_t kLabelsColumns = 80;

std::string LabelsText(const v1::Item& item) {
  std::vector<std::string> texts;
  for (const auto& [name, label] : item.labels()) texts.push_back(LabelText(name, label));
  std::ranges::sort(texts);
  return Cut(Printable(absl::StrJoin(texts, " ")), kLabelsColumns);
}

std::string ItemDataText(const ItemEntry& entry) {
  if (entry.damaged) return "[damaged]";
  const std::string& data = entry.item.data();
  return IsPlainText(data) ? Cut(Printable(data), kItemDataColumns) : "";
}

}  // namespace

Row ItemHeading() { return {"KEY", "VERSION", "SIZE", "LABELS", "UPDATED", "DATA"}; }

Row GroupItemHeading() {
  Row heading = ItemHeading();
  heading.insert(heading.begin(), "SESSION");
  return heading;
}

Row ItemRow(const ItemEntry& entry) {
  const v1::Item& item = entry.item;
  Row row = {KeyText(item.key()),
             item.version() == 0 ? "-" : absl::StrCat(item.version()),
             absl::StrCat(entry.size),
             LabelsText(item),
             item.has_update_time() ? ShortTime(item.update_time()) : "-",
             ItemDataText(entry)};
  if (!entry.session_id.empty()) row.insert(row.begin(), entry.session_id);
  return row;
}

nlohmann::ordered_json ItemJson(const ItemEntry& entry) {
  nlohmann::ordered_json object;
  if (!entry.session_id.empty()) {
    object["session_id"] = entry.session_id;
    object["session_uid"] = entry.session_uid;
  }
  object.update(ToJson(entry.item));
  object["size"] = absl::StrCat(entry.size);
  object["damaged"] = entry.damaged;
  return object;
}

}  // namespace holdfast::cli
