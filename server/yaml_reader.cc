#include "server/yaml_reader.h"

#include "server/quantities.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <system_error>

namespace holdfast {
namespace {

constexpr char kQuoted[] = "!";  // the tag that yaml-cpp gives a quoted scalar

std::string Join(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

std::optional<size_t> WholeNumber(const YAML::Node& node) {
  if (!node.IsScalar() || node.Tag() == kQuoted) return std::nullopt;
  const std::string& text = node.Scalar();
  size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::optional<bool> TrueOrFalse(const YAML::Node& node) {
  if (!node.IsScalar() || node.Tag() == kQuoted) return std::nullopt;
  if (node.Scalar() == "true") return true;
  if (node.Scalar() == "false") return false;
  return std::nullopt;
}

// How many bytes the character at the front takes, and the bits that its first byte has of it.
struct Utf8Lead {
  size_t bytes = 0;  // 0: no character begins like this
  uint32_t bits = 0;
  uint32_t least = 0;  // the first character that needs so many bytes
};

Utf8Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {.bytes = 1, .bits = byte, .least = 0};
  if ((byte & 0xE0) == 0xC0) return {.bytes = 2, .bits = byte & 0x1FU, .least = 0x80};
  if ((byte & 0xF0) == 0xE0) return {.bytes = 3, .bits = byte & 0x0FU, .least = 0x800};
  if ((byte & 0xF8) == 0xF0) return {.bytes = 4, .bits = byte & 0x07U, .least = 0x10000};
  return {};
}

// Characters as Unicode has them: no halves of pairs, and none of those that never are one, which
// YAML cannot write.
bool IsCharacter(uint32_t code) {
  const bool half = code >= 0xD800 && code <= 0xDFFF;
  const bool never = (code & 0xFFFE) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF);
  return code <= 0x10FFFF && !half && !never;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Lead lead = LeadOf(static_cast<uint8_t>(text.front()));
    if (lead.bytes == 0 || lead.bytes > text.size()) return false;
    uint32_t code = lead.bits;
    for (size_t i = 1; i < lead.bytes; ++i) {
      const auto next = static_cast<uint8_t>(text[i]);
      if ((next & 0xC0) != 0x80) return false;
      code = code << 6 | (next & 0x3FU);
    }
    if (code < lead.least || !IsCharacter(code)) return false;
    text.remove_prefix(lead.bytes);
  }
  return true;
}

// Unquoted, a number or a truth value is not a text.
bool IsText(const YAML::Node& node) {
  if (!node.IsScalar()) return false;
  return node.Tag() == kQuoted || (!WholeNumber(node) && !TrueOrFalse(node));
}

}  // namespace

void YamlReader::Refuse(const YAML::Node& node, const std::string& path, std::string_view why) {
  const std::string line = std::to_string(node.Mark().line + 1);
  problems_.push_back("line " + line + ": " + (path.empty() ? "the file" : path) + ": " +
                      std::string(why));
}

void YamlReader::Map(const YAML::Node& node, const std::string& path,
                     std::initializer_list<Field> fields) {
  if (node.IsNull()) return;
  if (!node.IsMap()) return Refuse(node, path, "must be a mapping");
  std::set<std::string> seen;
  for (const auto& item : node) {
    if (!item.first.IsScalar()) {
      Refuse(item.first, path, "a key must be a plain word");
      continue;
    }
    const std::string& key = item.first.Scalar();
    const std::string at = Join(path, key);
    const auto* field = std::ranges::find(fields, key, &Field::key);
    if (field == fields.end()) {
      Refuse(item.first, at, "unknown key");
    } else if (!seen.insert(key).second) {
      Refuse(item.first, at, "is given twice");
    } else {
      field->read(item.second, at);
    }
  }
}

void YamlReader::Sequence(const YAML::Node& node, const std::string& path, const Read& element) {
  if (!node.IsSequence()) return Refuse(node, path, "must be a list");
  size_t index = 0;
  for (const auto& item : node) element(item, path + "[" + std::to_string(index++) + "]");
}

YamlReader::Read YamlReader::Text(std::string& out) {
  return [this, &out](const YAML::Node& node, const std::string& path) {
    if (!IsText(node)) return Refuse(node, path, "must be a text");
    if (!IsUtf8(node.Scalar())) return Refuse(node, path, "must be UTF-8");
    out = node.Scalar();
  };
}

YamlReader::Read YamlReader::Flag(bool& out) {
  return [this, &out](const YAML::Node& node, const std::string& path) {
    const std::optional<bool> value = TrueOrFalse(node);
    if (!value) return Refuse(node, path, "must be true or false");
    out = *value;
  };
}

YamlReader::Read YamlReader::Count(size_t& out) {
  return [this, &out](const YAML::Node& node, const std::string& path) {
    const std::optional<size_t> value = WholeNumber(node);
    if (!value) return Refuse(node, path, "must be a whole number");
    out = *value;
  };
}

YamlReader::Read YamlReader::Duration(absl::Duration& out) {
  return [this, &out](const YAML::Node& node, const std::string& path) {
    const auto value = node.IsScalar() ? ParseDuration(node.Scalar()) : std::nullopt;
    if (!value) return Refuse(node, path, "must be a duration, for example 30s");
    out = *value;
  };
}

YamlReader::Read YamlReader::Size(size_t& out) {
  return [this, &out](const YAML::Node& node, const std::string& path) {
    const auto value = node.IsScalar() ? ParseSize(node.Scalar()) : std::nullopt;
    if (!value) return Refuse(node, path, "must be a size, for example 4MiB");
    out = *value;
  };
}

}  // namespace holdfast
