// A real holdfastd over a directory of its own, to be stopped, killed and started again by a test.
#ifndef HOLDFAST_TESTS_SUPPORT_SERVER_PROCESS_H_
#define HOLDFAST_TESTS_SUPPORT_SERVER_PROCESS_H_

#include "tests/support/child_process.h"
#include "tests/support/reserved_port.h"
#include "tests/support/resource_gauge.h"

#include "absl/time/time.h"
#include "grpc/health/v1/health.grpc.pb.h"

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

namespace holdfast::testing {

// A directory that goes away with its owner, unless the test has failed: then it is evidence.
class TestFolder final {
 public:
  TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // The path of `name` in it.
  [[nodiscard]] std::string File(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// What a server is given beside its defaults.
struct ServerSettings {
  std::string address;  // where it serves; empty: a port of its own on 127.0.0.1
  std::string server;   // keys of the map `server`, each behind a comma: ", workers: 1"
  std::string more;     // further lines of the configuration
  std::string root;     // of the store; empty: in the folder
  std::string dsn;      // of a store in PostgreSQL instead
  std::string store;    // further keys of its store, each behind a comma: ", connections: 2"
  bool echo = true;     // whether AdminService.Echo is offered
  int descriptors = 0;  // that the process may have, soft and hard; 0: as the test may
};

// For one thread.
class ServerProcess final {
 public:
  // Prepares a server with its data, its configuration and its log in `folder`, which must live as
  // long.
  explicit ServerProcess(const TestFolder& folder, ServerSettings settings = {})
      : folder_(folder), settings_(std::move(settings)) {}
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  // Of a server that still runs the clients are done: it must hold nothing for them.
  ~ServerProcess();

  // Takes the data over as an operator would who put it there (`holdfastd store adopt`).
  bool Adopt();
  // Starts it and waits until it says that it serves: each time on the same port, which nothing
  // else gets meanwhile. Returns false when it ended instead; its log has the cause.
  bool Start();
  // Where it serves.
  [[nodiscard]] const std::string& address() const {
    return settings_.address.empty() ? port_.address() : settings_.address;
  }
  // Kills it as a crash of the machine's memory would: no warning, no last words.
  void Kill();
  // Asks it to stop (SIGTERM) and returns how it ended. Its clients are done: it must hold nothing
  // for them before.
  Ending Stop();
  // The same while clients still call.
  Ending StopUnderLoad();
  // Sends SIGTERM alone.
  void AskToStop();
  // False when it has ended by itself.
  bool Running() { return process_->Running(); }
  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  // Whether it says that it serves (health). Asked over one connection, for a client that makes
  // them as fast as a test asks is refused.
  bool Serves();
  // The processor time that it has used since it was started.
  [[nodiscard]] absl::Duration ProcessorTime() const;
  // The most memory that it has had since it was started.
  [[nodiscard]] size_t PeakBytes() const;
  // Waits until its log has `part`: lines are written behind the calls that they are about.
  [[nodiscard]] bool AwaitLog(const std::string& part) const;
  [[nodiscard]] std::string Log() const { return ReadText(folder_.File("server.log")); }

 private:
  void WriteConfig() const;

  const TestFolder& folder_;
  const ServerSettings settings_;
  const ReservedPort port_;
  int starts_ = 0;
  std::unique_ptr<ChildProcess> process_;
  std::unique_ptr<grpc::health::v1::Health::Stub> health_;  // made when it is asked for
  std::unique_ptr<ResourceGauge> gauge_;                    // of a server that serves
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_SERVER_PROCESS_H_
