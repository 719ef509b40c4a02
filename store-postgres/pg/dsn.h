// The connection string of an operator, checked before the first connection.
#ifndef HOLDFAST_STORE_POSTGRES_PG_DSN_H_
#define HOLDFAST_STORE_POSTGRES_PG_DSN_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::pg {

// Why `dsn` is refused, empty if it is not: it must be one of libpq's, keywords or URI, and hold no
// password. Never says what it is, for it may hold a secret.
std::string DsnProblem(const std::string& dsn);

// Why the identity of the server that `dsn` leads to is not verified, empty if it is: each of its
// hosts is a socket or this machine, or TLS proves the server's name (sslmode=verify-full).
// What `dsn` leaves out is taken from libpq's variables, as libpq does. Never says what it is.
std::string TransportProblem(const std::string& dsn);

// How many hosts it names; 1 when it names none, or cannot be read.
size_t HostsIn(const std::string& dsn);

// Which of the hosts that it names is `host` at `port`, as a connection says whom it reached;
// nothing when none is, or two are.
std::optional<size_t> HostIn(const std::string& dsn, std::string_view host, std::string_view port);

// The comma-separated `list` with its first `count` items behind the others.
std::string Rotated(const std::string& list, size_t count);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_PG_DSN_H_
