// A TCP port that stays with one test while its server is down.
#ifndef HOLDFAST_TESTS_SUPPORT_RESERVED_PORT_H_
#define HOLDFAST_TESTS_SUPPORT_RESERVED_PORT_H_

#include <string>

namespace holdfast::testing {

// Holds a socket that is bound to a free port of 127.0.0.1 and never listens. Both sockets having
// SO_REUSEADDR, Linux lets a server bind to the port and listen. It gives the port to no other bind
// to port 0, and to no connection that goes out, as long as this lives.
class ReservedPort final {
 public:
  // The test fails when no port is free.
  ReservedPort();
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;
  ~ReservedPort();

  // 127.0.0.1:PORT.
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  int socket_;
  std::string address_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_RESERVED_PORT_H_
