// Which connections share one limit.
#ifndef HOLDFAST_SERVER_NET_PEER_H_
#define HOLDFAST_SERVER_NET_PEER_H_

#include <string>
#include <string_view>
#include <sys/socket.h>

namespace holdfast {

// The peer of a connection from `address`: "ipv4:192.0.2.1", the /64 of an IPv6 address as
// "ipv6:2001:db8:1:2::", or "unix". An IPv4 address that is mapped into IPv6 is that IPv4 address.
std::string PeerOf(const sockaddr_storage& address);

// The connection from `address` as gRPC calls it: "ipv4:192.0.2.1:50000" or
// "ipv6:%5B2001:db8::1%5D:50000". Empty for a socket file, whose connections have no names.
std::string ConnectionFrom(const sockaddr_storage& address);

// The same as PeerOf for what gRPC calls the peer of a call ("ipv4:192.0.2.1:50000",
// "ipv6:%5B2001:db8::1%5D:50000", "unix:"). Empty when it has none of these forms.
std::string PeerOfCall(std::string_view peer);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_NET_PEER_H_
