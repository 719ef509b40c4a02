#include "server/yaml_reader.h"

#include "server/quantities.h"
#include "server/utf8.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <system_error>

namespace holdfast {
namespace {

constexpr char kQuoted[] = "!";  // the tag that yaml-cpp gives a quoted scalar

std::string Join(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

// Of `a.b[2].c`: `a.b[2]`, `a.b`, `a`, and nothing.
std::string Parent(const std::string& path) {
  const size_t end = path.find_last_of(".[");
  return end == std::string::npos ? "" : path.substr(0, end);
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

// Unquoted, a number or a truth value is not a text.
bool IsText(const YAML::Node& node) {
  if (!node.IsScalar()) return false;
  return node.Tag() == kQuoted || (!WholeNumber(node) && !TrueOrFalse(node));
}

}  // namespace

void YamlReader::Refuse(const YAML::Node& node, const std::string& path, std::string_view why) {
  refused_.insert(path);
  const std::string line = std::to_string(node.Mark().line + 1);
  problems_.push_back("line " + line + ": " + (path.empty() ? "the file" : path) + ": " +
                      std::string(why));
}

void YamlReader::NoteLine(const std::string& path, const YAML::Node& node) {
  lines_.insert_or_assign(path, node.Mark().line + 1);
}

void YamlReader::RefuseValue(const std::string& path, std::string_view why) {
  std::string line;
  for (std::string at = path; !at.empty(); at = Parent(at)) {
    if (refused_.contains(at)) return;
    const auto known = lines_.find(at);
    if (line.empty() && known != lines_.end()) {
      line = "line " + std::to_string(known->second) + ": ";
    }
  }
  problems_.push_back(line + path + ": " + std::string(why));
}

void YamlReader::Map(const YAML::Node& node, const std::string& path,
                     std::initializer_list<Field> fields, Unknown unknown) {
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
      if (unknown == Unknown::kRefuse) Refuse(item.first, at, "unknown key");
    } else if (!seen.insert(key).second) {
      Refuse(item.first, at, "is given twice");
    } else {
      NoteLine(at, item.second.IsScalar() ? item.second : item.first);
      field->read(item.second, at);
    }
  }
}

void YamlReader::Sequence(const YAML::Node& node, const std::string& path, const Read& element) {
  if (!node.IsSequence()) return Refuse(node, path, "must be a list");
  size_t index = 0;
  for (const auto& item : node) {
    const std::string at = path + "[" + std::to_string(index++) + "]";
    NoteLine(at, item);
    element(item, at);
  }
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

YamlReader::Read YamlReader::Number(double& out) {
  return [this, &out](const YAML::Node& node, const std::string& path) {
    const bool plain = node.IsScalar() && node.Tag() != kQuoted;
    const auto value = plain ? ParseNumber(node.Scalar()) : std::nullopt;
    if (!value) return Refuse(node, path, "must be a number, for example 0.1");
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
