// A list as JSON, written page by page.
#ifndef HOLDFAST_CLI_JSON_LIST_H_
#define HOLDFAST_CLI_JSON_LIST_H_

#include "cli/invocation.h"

#include "google/protobuf/message.h"

#include <functional>
#include <string>
#include <vector>

namespace holdfast::cli {

// Adds facts of the page to one of its items: `amend(index, item)`.
using AmendItem = std::function<void(int, nlohmann::ordered_json&)>;

// Writes the pages of a list: with --output json one reply that holds the items of all pages, with
// jsonl one item a line. The items of a reply are its field 1. Holds one page in memory, never the
// list. For one thread.
class JsonList final {
 public:
  explicit JsonList(const Invocation& invocation) : invocation_(invocation) {}

  // Writes the items of `page`, each as `amend` leaves it, and keeps the other fields for the end.
  void Add(const google::protobuf::Message& page, const AmendItem& amend);
  // The same of a page that is no such reply: a document names the items `name` and has `rest`, an
  // object, as its other fields.
  void Add(const std::string& name, const std::vector<nlohmann::ordered_json>& items,
           nlohmann::ordered_json rest);

  // Ends the document with the other fields of the last page. At least one page was added.
  void End() const;

  // Writes why the list ends early: as `error` of a document that was begun, else as the document.
  ExitCode Fail(const grpc::Status& status) const;

 private:
  // Opens a document whose items have this name, unless it is open.
  void Begin(const std::string& name);
  void AddItem(const nlohmann::ordered_json& item);
  void EndWith(const nlohmann::ordered_json& rest) const;

  const Invocation& invocation_;
  nlohmann::ordered_json rest_;
  bool begun_ = false;
  bool has_items_ = false;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_JSON_LIST_H_
