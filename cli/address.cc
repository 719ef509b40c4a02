#include "cli/address.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <system_error>
#include <vector>

namespace holdfast::cli {
namespace {

constexpr char kSocketScheme[] = "unix:";
constexpr int kPortMost = 65535;

bool IsPort(std::string_view text) {
  int number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size() && number >= 1 &&
         number <= kPortMost;
}

// An IPv6 address needs its brackets, or its last part would pass for the port.
bool IsHost(std::string_view text) {
  const bool bracketed = text.size() > 2 && text.front() == '[' && text.back() == ']';
  if (bracketed) text = text.substr(1, text.size() - 2);
  constexpr std::string_view kNever = "[]/ \t\n";
  return !text.empty() && text.find_first_of(kNever) == std::string_view::npos &&
         (bracketed || text.find(':') == std::string_view::npos);
}

std::string HostProblem(const std::string& address) {
  const std::string_view text = address;
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !IsHost(text.substr(0, colon))) {
    return absl::StrCat("`", address, "` is no address: say HOST:PORT, [IPV6]:PORT or unix:PATH");
  }
  if (IsPort(text.substr(colon + 1))) return "";
  return absl::StrCat("`", address, "` has no port between 1 and ", kPortMost);
}

}  // namespace

std::string AddressProblem(const std::string& address) {
  if (absl::StartsWith(address, kSocketScheme)) {
    return address.size() > std::strlen(kSocketScheme) ? ""
                                                       : "`unix:` names no socket: say unix:PATH";
  }
  for (const char* scheme : {"ipv4:", "ipv6:"}) {
    if (!absl::StartsWith(address, scheme)) continue;
    const std::vector<std::string> servers =
        absl::StrSplit(address.substr(std::strlen(scheme)), ',');
    for (const std::string& server : servers) {
      if (std::string problem = HostProblem(server); !problem.empty()) return problem;
    }
    return "";
  }
  return HostProblem(address);
}

}  // namespace holdfast::cli
