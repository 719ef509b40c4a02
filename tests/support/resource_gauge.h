// What a server holds of its machine and for its clients: measured when it begins to serve, and
// expected to be back there once its clients are done.
#ifndef HOLDFAST_TESTS_SUPPORT_RESOURCE_GAUGE_H_
#define HOLDFAST_TESTS_SUPPORT_RESOURCE_GAUGE_H_

#include "holdfast/v1/admin_service.grpc.pb.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <sys/types.h>

namespace holdfast::testing {

// What a process holds of its machine. The transport's own threads and descriptors, which it keeps
// for the life of the process, do not count.
struct ProcessUse {
  size_t threads = 0;  // named as the program
  size_t sockets = 0;
  size_t files = 0;  // but for those of sessions that a store keeps open

  static ProcessUse Of(pid_t pid);
  bool operator==(const ProcessUse&) const = default;
};
std::ostream& operator<<(std::ostream& out, const ProcessUse& use);

// For one thread.
class ResourceGauge final {
 public:
  // Measures the server at `address`, which has just begun to serve. Its store may come to hold
  // `store_sockets` more than now. The test fails when the server cannot be measured in a minute.
  ResourceGauge(pid_t pid, const std::string& address, size_t store_sockets);

  // Waits until the server holds what it held at the beginning. Fails the test, naming what is
  // still held, when that takes longer than a test waits. Connections of clients that still live
  // are not expected to have ended; sockets that belong to no connection are.
  void ExpectBack();

 private:
  struct Use {
    ProcessUse process;  // sockets of clients excepted
    v1::ResourceUse clients;
    int32_t calls = 0;
  };
  friend std::ostream& operator<<(std::ostream& out, const Use& use);

  // Nothing while the server does not answer.
  std::optional<v1::StatusResponse> Status();
  // Nothing either while its connections change.
  std::optional<Use> Measure();
  [[nodiscard]] bool IsBack(const Use& now) const;

  const pid_t pid_;
  const size_t store_sockets_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
  std::optional<Use> before_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_RESOURCE_GAUGE_H_
