// A real holdfastd over a root of its own.
#ifndef HOLDFAST_BENCH_SERVED_H_
#define HOLDFAST_BENCH_SERVED_H_

#include "bench/child_process.h"
#include "holdfast/v1/admin_service.grpc.pb.h"
#include "holdfast/v1/session_service.grpc.pb.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>
#include <utility>

namespace holdfast::bench {

// Where a server keeps its sessions, as its configuration says it.
struct Keeping {
  // A PostgreSQL database; `group`: as the key of the configuration, 0 for its default.
  static Keeping In(const std::string& dsn, size_t group = 0);

  std::string section;  // kind and place
};

// Used by one thread; the stubs by any.
class Served {
 public:
  // A server that will keep its sessions in `<directory>/root`, with its configuration and log
  // beside them. `binary` is holdfastd. Nothing is started yet.
  Served(std::string binary, std::string directory);
  // The same, with its sessions elsewhere.
  Served(std::string binary, std::string directory, Keeping keeping);

  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  ~Served();

  // From the next start on it serves at a socket file, which costs both sides less than TCP: where
  // an opponent has one too, and where the transport is not what is measured.
  void ServeAtFile();
  // From the next start on its configuration has these lines too.
  void Configure(std::string lines) { lines_ = std::move(lines); }
  // From the next start on the process has these cores alone.
  void KeepTo(Cores cores) { cores_ = std::move(cores); }
  // Starts the process and answers when it says SERVING. UNAVAILABLE when it does not, or when its
  // acknowledgements do not wait for the disk.
  absl::Status Start();
  // SIGKILL, as a crash would, or SIGTERM.
  void End(int signal) { process_->End(signal); }

  [[nodiscard]] v1::SessionService::Stub& sessions() { return *sessions_; }
  [[nodiscard]] v1::AdminService::Stub& admin() { return *admin_; }
  // A connection of its own to the process that runs.
  [[nodiscard]] std::shared_ptr<grpc::Channel> NewConnection() const;
  // A connection whose client buffers as little as possible: otherwise the transport buffers
  // messages for clients that do not read.
  [[nodiscard]] std::shared_ptr<grpc::Channel> NewNarrowConnection() const;
  [[nodiscard]] const ChildProcess& process() const { return *process_; }
  [[nodiscard]] std::string root() const { return directory_ + "/root"; }
  // Of the last start, from the process's beginning to SERVING.
  [[nodiscard]] double start_seconds() const { return start_seconds_; }

 private:
  absl::Status AskHealth();

  const std::string binary_;
  const std::string directory_;
  const Keeping keeping_;
  std::string address_ = "127.0.0.1:0";
  std::string file_;   // where it is a file
  std::string lines_;  // of the configuration, beside what is there always
  Cores cores_;
  std::unique_ptr<ChildProcess> process_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::SessionService::Stub> sessions_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
  double start_seconds_ = 0;
};

// A channel to `address` that shares its connection with no other one.
std::shared_ptr<grpc::Channel> Connect(const std::string& address,
                                       grpc::ChannelArguments arguments = {});

// What went wrong with a call, for people.
absl::Status FailedCall(const std::string& what, const grpc::Status& status);

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_SERVED_H_
