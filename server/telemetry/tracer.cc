#include "server/telemetry/tracer.h"

#include "absl/strings/escaping.h"

#include <charconv>

namespace holdfast {
namespace {

constexpr std::string_view kSocketFile = "unix:";

}  // namespace

std::string Tracer::NewTraceId() { return absl::BytesToHexString(random_.Bytes(kTraceIdBytes)); }

std::string Tracer::NewSpanId() { return absl::BytesToHexString(random_.Bytes(kSpanIdBytes)); }

ServedAt ToServedAt(std::string_view address) {
  if (address.starts_with(kSocketFile)) {
    return {.address = std::string(address.substr(kSocketFile.size())), .port = std::nullopt};
  }
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return {.address = std::string(address)};
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string_view digits = address.substr(colon + 1);
  uint16_t port = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return {.address = std::string(host), .port = port};
}

}  // namespace holdfast
