// Replies as JSON for programs: the protos' own field names, numbers as numbers.
#ifndef HOLDFAST_CLI_JSON_H_
#define HOLDFAST_CLI_JSON_H_

#include "google/protobuf/message.h"
#include "nlohmann/json.hpp"

namespace holdfast::cli {

// Every field of `message` by its name in the protos. Enums by name, times as RFC 3339, durations
// like "59.5s", bytes in base64. Messages that are not set are left out; everything else is always
// there.
nlohmann::ordered_json ToJson(const google::protobuf::Message& message);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_JSON_H_
