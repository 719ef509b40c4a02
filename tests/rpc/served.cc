#include "tests/rpc/served.h"

#include "tests/support/channel.h"
#include "tests/support/reference_store.h"
#include "tests/support/wait.h"

#include <thread>
#include <unistd.h>
#include <utility>

namespace holdfast::test {
namespace {

// ThreadSanitizer starts a thread of its own with the first that a process has.
testing::ProcessUse UseBefore() {
  std::thread([] {}).join();
  return testing::ProcessUse::Of(getpid());
}

}  // namespace

Served::Served()
    : before_(UseBefore()),
      disk_(std::make_shared<ReferenceDisk>(NewReferenceDisk(random_))),
      log_(
          [this](LogLevel, const std::string& line) {
            const absl::MutexLock lock(&mutex_);
            lines_.push_back(line);
          },
          clock_) {
  config_.server.address = "127.0.0.1:0";
  config_.server.workers = 4;
  config_.server.echo = true;
  config_.server.drain_timeout = absl::Seconds(5);
  config_.stores = {{.name = "local", .active = true, .root = "/unused"}};
  config_.recovery.sweep_interval = absl::Hours(1);
}

void Served::Start() {
  auto started = App::Start({.config = config_,
                             .make_store =
                                 [this](const StoreConfig&, const Clock&, Random&) {
                                   return std::make_unique<ScriptedStore>(
                                       std::make_unique<ReferenceStore>(disk_, clock_), script_);
                                 },
                             .clock = clock_,
                             .random = random_,
                             .log = log_,
                             .metrics = metrics_,
                             .container = container_,
                             .not_serving_wait = not_serving_wait_});
  ASSERT_TRUE(started.ok()) << started.status();
  app_ = *std::move(started);
  runner_ = std::thread([this] { exit_code_ = app_->Run(); });
  channel_ = testing::Connected(app_->address());
  sessions_ = pb::SessionService::NewStub(channel_);
  admin_ = pb::AdminService::NewStub(channel_);
  health_ = grpc::health::v1::Health::NewStub(channel_);
}

App& Served::app() {
  if (app_ == nullptr) Start();
  return *app_;
}

pb::SessionService::Stub& Served::sessions() {
  app();
  return *sessions_;
}

pb::AdminService::Stub& Served::admin() {
  app();
  return *admin_;
}

grpc::health::v1::Health::Stub& Served::health() {
  app();
  return *health_;
}

std::shared_ptr<grpc::Channel> Served::channel() {
  app();
  return channel_;
}

void Served::TearDown() {
  if (!runner_.joinable()) return;
  ResourceUse use;
  const bool back = testing::WaitUntil([&] {
    use = Held();
    return use == ResourceUse();
  });
  EXPECT_TRUE(back) << "still held: " << use.calls << " calls, " << use.memory_bytes
                    << " bytes of memory, " << use.staged_bytes << " staged bytes, " << use.streams
                    << " streams, " << use.watchers << " watchers";
}

Served::~Served() {
  Stop();
  app_.reset();
  sessions_.reset();
  admin_.reset();
  health_.reset();
  channel_.reset();
  testing::ProcessUse use;
  const bool back = testing::WaitUntil([&] {
    use = testing::ProcessUse::Of(getpid());
    return use == before_;
  });
  EXPECT_TRUE(back) << "before: " << before_ << "\nstill held: " << use;
}

ResourceUse Served::Held() {
  ResourceUse use = app().Resources();
  use.connections = 0;  // of this test's clients, which may still live
  return use;
}

int Served::Stop() {
  if (runner_.joinable()) {
    app_->RequestStop();
    runner_.join();
  }
  return exit_code_;
}

std::vector<std::string> Served::LogLines() {
  const absl::MutexLock lock(&mutex_);
  return lines_;
}

std::string Served::AwaitLog(const std::string& part) {
  std::string found;
  const absl::MutexLock lock(&mutex_);
  const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const std::string& line : lines_) {
      if (line.find(part) != std::string::npos) found = line;
    }
    return !found.empty();
  };
  mutex_.Await(absl::Condition(&there));
  return found;
}

pb::CreateSessionResponse Served::Create(const std::string& id) {
  grpc::ClientContext context;
  pb::CreateSessionResponse response;
  const grpc::Status status = sessions().CreateSession(&context, CreateRequest(id), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

pb::BeginTurnResponse Served::Begin(const std::string& id, const std::string& token) {
  grpc::ClientContext context;
  pb::BeginTurnResponse response;
  const grpc::Status status = sessions().BeginTurn(&context, BeginRequest(id, token), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

pb::CommitTurnResponse Served::Commit(const std::string& id, const std::string& token,
                                      uint64_t turn, const std::string& text) {
  grpc::ClientContext context;
  pb::CommitTurnResponse response;
  const grpc::Status status =
      sessions().CommitTurn(&context, CommitRequest(id, token, turn, text), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

pb::Session Served::Get(const std::string& id) {
  grpc::ClientContext context;
  pb::GetSessionRequest request;
  request.set_session_id(id);
  pb::GetSessionResponse response;
  const grpc::Status status = sessions().GetSession(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.session();
}

}  // namespace holdfast::test
