// A list of items, written page by page: as a table, or as JSON.
#ifndef HOLDFAST_CLI_ITEM_LIST_WRITER_H_
#define HOLDFAST_CLI_ITEM_LIST_WRITER_H_

#include "cli/invocation.h"
#include "cli/item_pages.h"
#include "cli/item_row.h"
#include "cli/json_list.h"
#include "cli/table.h"

#include "grpcpp/support/status.h"

#include <string>
#include <vector>

namespace holdfast::cli {

// Holds one page in memory. For one thread.
class ItemListWriter final {
 public:
  // `heading` is that of the table.
  explicit ItemListWriter(const Invocation& invocation, Row heading = ItemHeading());

  // Writes the items of `page`, damaged ones as such. False when no more output is taken.
  bool Write(const ItemEntryPage& page);
  // Ends the list, with notes of the sessions that were skipped and of where it goes on. At least
  // one page was written.
  void End() const;
  // Writes why the list ends early; see JsonList::Fail. Returns how to exit.
  ExitCode Fail(const grpc::Status& status) const;

  // Of all pages so far: the keys that were asked for and have no item, and whether an item is
  // damaged.
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }
  [[nodiscard]] bool damaged() const { return damaged_; }

 private:
  void WriteJsonPage(const ItemEntryPage& page);

  const Invocation& invocation_;
  JsonList json_;
  Rows rows_;
  std::vector<std::string> missing_;
  std::vector<std::string> unreadable_;  // sessions that were skipped
  std::string next_;                     // the page token behind the last page
  bool damaged_ = false;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_ITEM_LIST_WRITER_H_
