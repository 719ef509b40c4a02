// Labels of items as text: on the command line and in tables.
#ifndef HOLDFAST_CLI_ITEM_LABEL_H_
#define HOLDFAST_CLI_ITEM_LABEL_H_

#include "holdfast/v1/items.pb.h"

#include "absl/status/statusor.h"

#include <string>
#include <utility>

namespace holdfast::cli {

using NamedLabel = std::pair<std::string, v1::Label>;

// The label that `text` names: NAME=TEXT is a text, whatever it looks like. NAME:=JSON has the type
// of its value: true and false, a string, an integer of 64 bits, or a double for any other number.
// The error, whose message is for the user, is that it has neither form or another value.
absl::StatusOr<NamedLabel> ParseLabel(const std::string& text);

// The label as ParseLabel takes it.
std::string LabelText(const std::string& name, const v1::Label& label);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_ITEM_LABEL_H_
