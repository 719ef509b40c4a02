// Replies as JSON for programs.
#ifndef HOLDFAST_CLI_JSON_H_
#define HOLDFAST_CLI_JSON_H_

#include "google/protobuf/message.h"
#include "nlohmann/json.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>

namespace holdfast::cli {

// A reply with a value that JSON has no form for, such as a time in the year 10000.
class UnprintableReply final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// `message` in the JSON mapping of proto3, with the field names of the protos. 64-bit numbers and
// bytes (base64) are strings; fields without presence are there with their default values too.
// Throws UnprintableReply.
nlohmann::ordered_json ToJson(const google::protobuf::Message& message);

enum class JsonLayout : uint8_t { kPretty, kLine };

// The text of `object`, without a newline at its end. What is no UTF-8 becomes U+FFFD.
std::string JsonText(const nlohmann::ordered_json& object, JsonLayout layout);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_JSON_H_
