// The connection string of an operator, judged before anybody connects with it.
#ifndef HOLDFAST_STORE_POSTGRES_PG_DSN_H_
#define HOLDFAST_STORE_POSTGRES_PG_DSN_H_

#include <cstddef>
#include <string>

namespace holdfast::pg {

// Why `dsn` is refused, empty if it is not: it must be one of libpq's, keywords or URI, and hold no
// password. Never says what it is, for it may hold a secret.
std::string DsnProblem(const std::string& dsn);

// How many hosts it names; 1 when it names none, or cannot be read.
size_t HostsIn(const std::string& dsn);

// The comma-separated `list` with its first `count` items behind the others.
std::string Rotated(const std::string& list, size_t count);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_PG_DSN_H_
