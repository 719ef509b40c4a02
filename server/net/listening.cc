#include "server/net/listening.h"

#include "platform/status_macros.h"

#include "absl/status/status.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>

namespace holdfast {
namespace {

constexpr mode_t kOwnersAlone = 0600;

struct SocketAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
};

absl::Status UnservableAddress(const std::string& address, const std::string& why) {
  return absl::UnavailableError("server.address: " + address + " cannot be served: " + why);
}

std::string TextOfError(int error) { return std::generic_category().message(error); }

in_port_t* PortOf(sockaddr_storage& address) {
  if (address.ss_family == AF_INET) return &reinterpret_cast<sockaddr_in&>(address).sin_port;
  return &reinterpret_cast<sockaddr_in6&>(address).sin6_port;
}

// Any address of this machine, of both families.
SocketAddress Everywhere() {
  SocketAddress place{.size = sizeof(sockaddr_in6)};
  auto& in = reinterpret_cast<sockaddr_in6&>(place.address);
  in.sin6_family = AF_INET6;
  in.sin6_addr = in6addr_any;
  return place;
}

SocketAddress EverywhereOfIpv4() {
  SocketAddress place{.size = sizeof(sockaddr_in)};
  auto& in = reinterpret_cast<sockaddr_in&>(place.address);
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(INADDR_ANY);
  return place;
}

struct HostAndPort {
  std::string host;
  std::string port;
};

absl::StatusOr<std::vector<SocketAddress>> Resolve(const std::string& address,
                                                   const HostAndPort& endpoint) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found);
      error != 0) {
    return UnservableAddress(address, std::string("its host is not found: ") + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  std::vector<SocketAddress> places;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    SocketAddress place{.size = each->ai_addrlen};
    std::memcpy(&place.address, each->ai_addr, each->ai_addrlen);
    places.push_back(place);
  }
  return places;
}

// The errno of what failed, or 0. Where `place` has port 0, it gets the one that was free.
int Listen(SocketAddress& place, Descriptor& out) {
  const int family = place.address.ss_family;
  Descriptor made(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) return errno;
  constexpr int kOn = 1;
  setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn);
  if (family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(place.address);
    const int alone = IN6_IS_ADDR_UNSPECIFIED(&in.sin6_addr) ? 0 : 1;
    setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, &alone, sizeof alone);
  }
  auto* address = reinterpret_cast<sockaddr*>(&place.address);
  if (bind(made.get(), address, place.size) != 0) return errno;
  if (listen(made.get(), SOMAXCONN) != 0) return errno;
  socklen_t size = sizeof place.address;
  if (getsockname(made.get(), address, &size) != 0) return errno;
  out = std::move(made);
  return 0;
}

bool IsOfNoFamilyHere(int error) { return error == EAFNOSUPPORT || error == EADDRNOTAVAIL; }

bool IsWildcard(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

std::string UnderstandableError(int error) {
  if (error == EADDRINUSE) return "another server is using it";
  return TextOfError(error);
}

}  // namespace

absl::StatusOr<Listening> ListenAt(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  ASSIGN_OR_RETURN(std::vector<SocketAddress> places,
                   Resolve(address, {.host = host, .port = port}));
  if (IsWildcard(host) && !places.empty()) {
    const in_port_t wanted = *PortOf(places.front().address);
    places = {Everywhere(), EverywhereOfIpv4()};
    for (SocketAddress& place : places) *PortOf(place.address) = wanted;
  }
  Listening listening;
  in_port_t bound = 0;
  int last_error = EADDRNOTAVAIL;
  for (SocketAddress& place : places) {
    if (bound != 0) *PortOf(place.address) = bound;
    Descriptor made;
    last_error = Listen(place, made);
    if (last_error == 0) {
      bound = *PortOf(place.address);
      listening.sockets.push_back(std::move(made));
      if (IsWildcard(host)) break;  // the first one serves both families
    } else if (!IsOfNoFamilyHere(last_error)) {
      return UnservableAddress(address, UnderstandableError(last_error));
    }
  }
  if (listening.sockets.empty()) return UnservableAddress(address, UnderstandableError(last_error));
  listening.address = address.substr(0, colon + 1) + std::to_string(ntohs(bound));
  return listening;
}

absl::StatusOr<Descriptor> ListenAtFile(const std::string& path) {
  const auto fail = [&](int error) {
    return UnservableAddress("unix:" + path, TextOfError(error));
  };
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) {
      return UnservableAddress("unix:" + path, "there is a file that is no socket: remove it");
    }
    if (unlink(path.c_str()) != 0) return fail(errno);
  }
  Descriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) return fail(errno);
  // The file that bind makes has the socket's own mode. The umask could do the same, but belongs to
  // all threads: a directory that a store makes meanwhile could then not be entered.
  if (fchmod(made.get(), kOwnersAlone) != 0) return fail(errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  if (bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(errno);
  }
  if (lstat(path.c_str(), &there) != 0) return fail(errno);
  if ((there.st_mode & ~S_IFMT & ~kOwnersAlone) != 0) {
    unlink(path.c_str());
    return UnservableAddress("unix:" + path, "this system lets others connect to it");
  }
  if (listen(made.get(), SOMAXCONN) != 0) return fail(errno);
  return made;
}

}  // namespace holdfast
