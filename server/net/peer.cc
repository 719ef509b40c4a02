#include "server/net/peer.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <netinet/in.h>
#include <optional>

namespace holdfast {
namespace {

constexpr char kUnixPeer[] = "unix";
constexpr size_t kPrefixBytes = 8;
constexpr size_t kMappedBytes = 12;

std::string TextOf(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const char* made = inet_ntop(family, address, text.data(), text.size());
  return made == nullptr ? "" : made;
}

std::string PeerOf(const in_addr& address) { return "ipv4:" + TextOf(AF_INET, &address); }

// The IPv4 address that `address` maps into IPv6.
std::optional<in_addr> MappedIn(const in6_addr& address) {
  if (!IN6_IS_ADDR_V4MAPPED(&address)) return std::nullopt;
  in_addr mapped{};
  std::memcpy(&mapped, &address.s6_addr[kMappedBytes], sizeof mapped);
  return mapped;
}

std::string PeerOf(in6_addr address) {
  if (const auto mapped = MappedIn(address)) return PeerOf(*mapped);
  std::fill(std::begin(address.s6_addr) + kPrefixBytes, std::end(address.s6_addr), 0);
  return "ipv6:" + TextOf(AF_INET6, &address);
}

// HOST of HOST:PORT, without brackets and zone.
std::string HostBeforePort(std::string_view address) {
  std::string host(address.substr(0, address.rfind(':')));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host.substr(0, host.find('%'));
}

}  // namespace

std::string PeerOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    return PeerOf(in.sin_addr);
  }
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    return PeerOf(in.sin6_addr);
  }
  return kUnixPeer;
}

std::string ConnectionFrom(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    return absl::StrCat(PeerOf(in.sin_addr), ":", ntohs(in.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    const auto mapped = MappedIn(in.sin6_addr);
    if (mapped) return absl::StrCat(PeerOf(*mapped), ":", ntohs(in.sin6_port));
    return absl::StrCat("ipv6:%5B", TextOf(AF_INET6, &in.sin6_addr), "%5D:", ntohs(in.sin6_port));
  }
  return "";
}

std::string PeerOfCall(std::string_view peer) {
  constexpr std::string_view kIpv4 = "ipv4:";
  constexpr std::string_view kIpv6 = "ipv6:";
  if (peer.starts_with(kUnixPeer)) return kUnixPeer;
  if (peer.starts_with(kIpv4)) {
    in_addr address{};
    const std::string host = HostBeforePort(peer.substr(kIpv4.size()));
    return inet_pton(AF_INET, host.c_str(), &address) == 1 ? PeerOf(address) : "";
  }
  if (peer.starts_with(kIpv6)) {
    in6_addr address{};
    const std::string plain = absl::StrReplaceAll(std::string(peer.substr(kIpv6.size())),
                                                  {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
    return inet_pton(AF_INET6, HostBeforePort(plain).c_str(), &address) == 1 ? PeerOf(address) : "";
  }
  return "";
}

}  // namespace holdfast
