#include "tests/support/server_process.h"

#include "tests/support/channel.h"
#include "tests/support/wait.h"

#include "absl/time/clock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <unistd.h>

namespace holdfast::testing {

TestFolder::TestFolder() {
  std::string pattern = std::filesystem::temp_directory_path() / "holdfast-test-XXXXXX";
  const char* made = mkdtemp(pattern.data());
  EXPECT_NE(made, nullptr) << pattern;
  path_ = pattern;
}

TestFolder::~TestFolder() {
  if (::testing::Test::HasFailure()) {
    std::cout << "kept for a look: " << path_.string() << "\n";
    return;
  }
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void ServerProcess::WriteConfig() const {
  std::ofstream out(folder_.File("holdfastd.yaml"));
  out << "server: {echo: " << (settings_.echo ? "true" : "false") << ", address: '" << address()
      << "'" << settings_.server << "}\nstores:\n";
  if (settings_.dsn.empty()) {
    const std::string root = settings_.root.empty() ? folder_.File("data") : settings_.root;
    out << "  - {name: local, kind: fs, active: true, root: '" << root << "'" << settings_.store
        << "}\n";
  } else {
    out << "  - {name: team, kind: postgres, active: true, dsn: \"" << settings_.dsn << "\""
        << settings_.store << "}\n";
  }
  out << settings_.more;
}

bool ServerProcess::Adopt() {
  WriteConfig();
  return RunToEnd(
             {Program("holdfastd"), "store", "adopt", "--config", folder_.File("holdfastd.yaml")},
             folder_.File("adopt"), folder_.File("server.log"))
             .exit_code == 0;
}

bool ServerProcess::Start() {
  WriteConfig();
  const std::string ready = folder_.File("ready." + std::to_string(++starts_));
  std::vector<std::string> words = {Program("holdfastd"), "--config",
                                    folder_.File("holdfastd.yaml")};
  if (settings_.descriptors > 0) {
    const std::string limit = std::to_string(settings_.descriptors);
    words.insert(words.begin(), {"/usr/bin/prlimit", "--nofile=" + limit + ":" + limit});
  }
  process_ = std::make_unique<ChildProcess>(words, ready, folder_.File("server.log"));
  const std::string line = "holdfastd ready: address=" + address() + " ";
  std::string text;
  WaitUntil([&] {
    text = ReadText(ready);
    return text.ends_with('\n') || !process_->Running();
  });
  if (!text.starts_with(line) || !text.ends_with('\n')) return false;
  constexpr size_t kDatabaseSockets = 64;  // more than a store of a test may open
  gauge_ = std::make_unique<ResourceGauge>(process_->pid(), address(),
                                           settings_.dsn.empty() ? 0 : kDatabaseSockets);
  return true;
}

ServerProcess::~ServerProcess() {
  if (gauge_ != nullptr && process_->Running()) gauge_->ExpectBack();
}

void ServerProcess::Kill() {
  health_.reset();
  gauge_.reset();
  process_->Signal(SIGKILL);
  process_->Wait();
}

Ending ServerProcess::Stop() {
  if (gauge_ != nullptr) gauge_->ExpectBack();
  return StopUnderLoad();
}

Ending ServerProcess::StopUnderLoad() {
  AskToStop();
  return process_->Wait();
}

void ServerProcess::AskToStop() {
  health_.reset();
  gauge_.reset();  // from now on it answers no call
  process_->Signal(SIGTERM);
}

bool ServerProcess::AwaitLog(const std::string& part) const {
  return WaitUntil([&] { return Log().find(part) != std::string::npos; });
}

bool ServerProcess::Serves() {
  using grpc::health::v1::HealthCheckResponse;
  if (health_ == nullptr) health_ = grpc::health::v1::Health::NewStub(Connected(address()));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(3)));
  HealthCheckResponse response;
  const grpc::Status asked = health_->Check(&context, {}, &response);
  return asked.ok() && response.status() == HealthCheckResponse::SERVING;
}

absl::Duration ServerProcess::ProcessorTime() const {
  const std::string stat = ReadText("/proc/" + std::to_string(pid()) + "/stat");
  // What follows the name, which may hold anything: the state is the third field.
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  constexpr int kFieldsBefore = 11;  // utime is the 14th, stime the 15th
  std::string skipped;
  for (int i = 0; i < kFieldsBefore; ++i) fields >> skipped;
  int64_t user = 0;
  int64_t system = 0;
  fields >> user >> system;
  return absl::Seconds(1) * (user + system) / sysconf(_SC_CLK_TCK);
}

size_t ServerProcess::PeakBytes() const {
  constexpr char kPeak[] = "VmHWM:";
  const std::string status = ReadText("/proc/" + std::to_string(pid()) + "/status");
  const size_t at = status.find(kPeak);
  if (at == std::string::npos) return 0;
  return std::strtoull(status.c_str() + at + sizeof kPeak - 1, nullptr, 10) * 1024;
}

}  // namespace holdfast::testing
