// Options of the commands about items.
#ifndef HOLDFAST_CLI_ITEM_OPTIONS_H_
#define HOLDFAST_CLI_ITEM_OPTIONS_H_

#include "cli/cli11_names.h"
#include "holdfast/v1/items.pb.h"

#include "google/protobuf/map.h"

#include <string>
#include <vector>

namespace holdfast::cli {

// How a help text explains keys.
inline constexpr char kKeyHelp[] =
    "A key is text, or `hex:` and hexadecimal digits for any bytes; one that begins with `hex:` "
    "is\n"
    "given in hexadecimal.";
inline constexpr char kLabelHelp[] =
    "A label NAME=TEXT is a text; NAME:=VALUE is JSON: true, false, an integer, or a double.";

// Each adds an option whose target must live until the command line is parsed.

// --collection, which is required.
void AddCollection(CLI::App& command, std::string& target);

// An option that takes a key; `target` gets its bytes.
CLI::Option* AddKey(CLI::App& command, const std::string& name, std::string& target,
                    const std::string& help);

// --label, repeatable. A name that is given twice is refused.
void AddLabels(CLI::App& command, google::protobuf::Map<std::string, v1::Label>& target,
               const std::string& help);

// The keys that the words KEY name. Throws the library's ValidationError for one that names none.
std::vector<std::string> KeysOf(const std::vector<std::string>& words);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_ITEM_OPTIONS_H_
