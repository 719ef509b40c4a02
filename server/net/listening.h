// The sockets at which a server's address is served.
#ifndef HOLDFAST_SERVER_NET_LISTENING_H_
#define HOLDFAST_SERVER_NET_LISTENING_H_

#include "server/net/descriptor.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace holdfast {

struct Listening {
  std::vector<Descriptor> sockets;  // they listen and do not block
  std::string address;              // HOST:PORT as it was asked for, with the real port
};

// Listens at HOST:PORT. A name is served at each of its addresses, the wildcard of either family
// at both, and port 0 at one free port. UNAVAILABLE, with words for the operator, when one of them
// is taken or none is to be had; addresses of a family that this machine does not have are left
// out.
absl::StatusOr<Listening> ListenAt(const std::string& address);

// Listens at the socket file `path`, which only this user may connect to from its first moment on.
// A socket file that is there already is replaced: `path` must be locked (SocketFile).
absl::StatusOr<Descriptor> ListenAtFile(const std::string& path);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_NET_LISTENING_H_
