#include "server/telemetry/trace_resource.h"

#include "holdfast/version.h"
#include "server/utf8.h"
#include "session/ids.h"
#include "session/limits.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <system_error>

namespace holdfast {
namespace {

constexpr char kServiceName[] = "service.name";
constexpr size_t kUuidBytes = 16;
constexpr size_t kEscapeBytes = 3;  // %41

std::optional<std::string> Unescaped(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      plain += text[at];
      continue;
    }
    const std::string_view digits = text.substr(at, kEscapeBytes);
    unsigned char byte = 0;
    const auto [rest, error] =
        std::from_chars(digits.data() + 1, digits.data() + digits.size(), byte, 16);
    if (digits.size() != kEscapeBytes || error != std::errc() ||
        rest != digits.data() + digits.size()) {
      return std::nullopt;
    }
    plain += static_cast<char>(byte);
    at += kEscapeBytes - 1;
  }
  return plain;
}

std::string_view WithoutSpaces(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

}  // namespace

std::optional<TraceResource> ParseResourceAttributes(std::string_view text) {
  if (text.size() > kResourceAttributesBytes) return std::nullopt;
  TraceResource attributes;
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view member = text.substr(at, comma - at);
    at = comma + 1;
    const size_t equals = member.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string key(WithoutSpaces(member.substr(0, equals)));
    const auto value = Unescaped(WithoutSpaces(member.substr(equals + 1)));
    if (key.empty() || !IsUtf8(key) || !value || !IsUtf8(*value)) return std::nullopt;
    attributes.emplace_back(key, *value);
  }
  if (attributes.size() > kResourceAttributes) return std::nullopt;
  return attributes;
}

TraceResource ResourceOf(const TelemetryConfig& config, Random& random) {
  std::map<std::string, std::string> attributes = {
      {"service.version", kVersion},
      {"service.instance.id", UuidText(random.Bytes(kUuidBytes), 4)}};
  const auto stated = ParseResourceAttributes(config.resource_attributes);
  for (const auto& [key, value] : stated.value_or(TraceResource())) attributes[key] = value;
  attributes[kServiceName] = config.service_name;
  return {attributes.begin(), attributes.end()};
}

}  // namespace holdfast
