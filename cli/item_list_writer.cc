#include "cli/item_list_writer.h"

#include "cli/json.h"
#include "cli/page_options.h"

#include <utility>

namespace holdfast::cli {

ItemListWriter::ItemListWriter(const Invocation& invocation, Row heading)
    : invocation_(invocation), json_(invocation), rows_(invocation.out, std::move(heading)) {}

bool ItemListWriter::Write(const ItemEntryPage& page) {
  missing_.insert(missing_.end(), page.end.missing_keys().begin(), page.end.missing_keys().end());
  const auto& unreadable = page.end.unreadable_sessions();
  unreadable_.insert(unreadable_.end(), unreadable.begin(), unreadable.end());
  for (const ItemEntry& entry : page.items) damaged_ = damaged_ || entry.damaged;
  next_ = page.end.next_page_token();
  if (invocation_.json()) {
    WriteJsonPage(page);
  } else {
    for (const ItemEntry& entry : page.items) rows_.Add(ItemRow(entry));
    rows_.Write();
  }
  invocation_.out << std::flush;
  return invocation_.out.good();
}

void ItemListWriter::WriteJsonPage(const ItemEntryPage& page) {
  std::vector<nlohmann::ordered_json> items;
  items.reserve(page.items.size());
  for (const ItemEntry& entry : page.items) items.push_back(ItemJson(entry));
  v1::ReadItemsResponse end = page.end;
  end.mutable_missing_keys()->Assign(missing_.begin(), missing_.end());
  end.mutable_unreadable_sessions()->Assign(unreadable_.begin(), unreadable_.end());
  nlohmann::ordered_json rest = ToJson(end);
  rest.erase("pieces");
  json_.Add("items", items, std::move(rest));
}

void ItemListWriter::End() const {
  if (invocation_.json()) json_.End();
  for (const std::string& id : unreadable_) {
    WriteNote(invocation_, "session " + id + " was skipped: it cannot be read");
  }
  WriteNextPage(invocation_, next_);
}

ExitCode ItemListWriter::Fail(const grpc::Status& status) const {
  return invocation_.json() ? json_.Fail(status) : Refuse(invocation_, status);
}

}  // namespace holdfast::cli
