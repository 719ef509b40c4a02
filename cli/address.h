// The address of a server as a person types it.
#ifndef HOLDFAST_CLI_ADDRESS_H_
#define HOLDFAST_CLI_ADDRESS_H_

#include <string>

namespace holdfast::cli {

// What is wrong with `address`; empty for HOST:PORT, [IPV6]:PORT and unix:PATH, and for several
// servers of one store, ipv4:HOST:PORT,HOST:PORT or ipv6:[HOST]:PORT,[HOST]:PORT.
std::string AddressProblem(const std::string& address);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_ADDRESS_H_
