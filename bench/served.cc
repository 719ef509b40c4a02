#include "bench/served.h"

#include "platform/status_macros.h"

#include <grpc/health/v1/health.grpc.pb.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

namespace holdfast::bench {
namespace {

constexpr char kAddressField[] = "address=";

std::string AddressIn(const std::string& ready_line) {
  const size_t at = ready_line.find(kAddressField);
  if (at == std::string::npos) return "";
  const size_t begin = at + std::string(kAddressField).size();
  return ready_line.substr(begin, ready_line.find(' ', begin) - begin);
}

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) quoted.append(letter == '\'' ? 2 : 1, letter);
  return quoted + "'";
}

}  // namespace

std::shared_ptr<grpc::Channel> Connect(const std::string& address,
                                       grpc::ChannelArguments arguments) {
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

absl::Status FailedCall(const std::string& what, const grpc::Status& status) {
  return absl::UnavailableError(what + " failed: " + status.error_message());
}

Keeping Keeping::In(const std::string& dsn, size_t group) {
  std::string section = "kind: postgres, dsn: " + Quoted(dsn);
  if (group > 0) section += ", group: " + std::to_string(group);
  return {.section = section};
}

Served::Served(std::string binary, std::string directory)
    : Served(std::move(binary), directory,
             {.section = "kind: fs, root: " + Quoted(directory + "/root")}) {}

Served::Served(std::string binary, std::string directory, Keeping keeping)
    : binary_(std::move(binary)), directory_(std::move(directory)), keeping_(std::move(keeping)) {}

Served::~Served() {
  if (file_.empty()) return;
  process_.reset();  // or it could still make them
  std::filesystem::remove_all(std::filesystem::path(file_).parent_path());
}

void Served::ServeAtFile() {
  // In a short place, for a socket's path has room for a hundred letters, and in a directory of its
  // own: none is served where others may write.
  std::string directory = std::filesystem::temp_directory_path() / "holdfast-bench-XXXXXX";
  // The server says at its start why there is none.
  if (mkdtemp(directory.data()) == nullptr) directory += "/not-made";
  file_ = directory + "/server.sock";
  address_ = "unix:" + file_;
}

absl::Status Served::Start() {
  std::filesystem::create_directories(directory_);
  const std::string config = directory_ + "/holdfastd.yaml";
  std::ofstream(config) << "server: {address: '" << address_ << "', echo: true}\nstores:\n"
                        << "  - {name: bench, active: true, " << keeping_.section << "}\n"
                        << lines_ << '\n';
  const auto begin = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(process_, ChildProcess::Start({binary_, "--config", config},
                                                 directory_ + "/holdfastd.log", cores_));
  channel_ = Connect(AddressIn(process_->first_line()));
  RETURN_IF_ERROR(AskHealth());
  start_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  sessions_ = v1::SessionService::NewStub(channel_);
  admin_ = v1::AdminService::NewStub(channel_);
  grpc::ClientContext context;
  v1::StatusResponse status;
  const grpc::Status asked = admin_->Status(&context, v1::StatusRequest(), &status);
  if (!asked.ok()) return FailedCall("Status", asked);
  if (status.durability() != "sync") return absl::UnavailableError("fsync is off");
  return absl::OkStatus();
}

std::shared_ptr<grpc::Channel> Served::NewConnection() const {
  return Connect(AddressIn(process_->first_line()));
}

std::shared_ptr<grpc::Channel> Served::NewNarrowConnection() const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1024);
  return Connect(AddressIn(process_->first_line()), arguments);
}

absl::Status Served::AskHealth() {
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckResponse health;
  const grpc::Status asked = grpc::health::v1::Health::NewStub(channel_)->Check(
      &context, grpc::health::v1::HealthCheckRequest(), &health);
  if (!asked.ok()) return FailedCall("Check", asked);
  if (health.status() == grpc::health::v1::HealthCheckResponse::SERVING) return absl::OkStatus();
  return absl::UnavailableError("the server does not serve");
}

}  // namespace holdfast::bench
