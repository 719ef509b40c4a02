// A real server in this process on a port of its own, with clients that speak to it over a real
// socket.
#ifndef HOLDFAST_TESTS_RPC_SERVED_H_
#define HOLDFAST_TESTS_RPC_SERVED_H_

#include "holdfast/v1/admin_service.grpc.pb.h"
#include "holdfast/v1/session_service.grpc.pb.h"
#include "server/app.h"
#include "tests/rpc/moved_clock.h"
#include "tests/rpc/scripted_store.h"
#include "tests/support/reference_disk.h"
#include "tests/support/requests.h"
#include "tests/support/resource_gauge.h"
#include "tests/support/seeded_random.h"

#include "absl/synchronization/mutex.h"
#include <grpc/health/v1/health.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

class Served : public ::testing::Test {
 protected:
  Served();
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  // Stops the server, and expects that it leaves no thread, socket or file behind.
  ~Served() override;

  // The server starts with the first client that is asked for; `config` may be changed before.
  pb::SessionService::Stub& sessions();
  pb::AdminService::Stub& admin();
  grpc::health::v1::Health::Stub& health();
  std::shared_ptr<grpc::Channel> channel();
  App& app();
  // What the server holds for calls, streams and watchers.
  ResourceUse Held();

  // Once the clients of a test are gone a server that still runs holds nothing for them.
  void TearDown() override;

  // Asks the server to stop, waits, and answers its exit code.
  int Stop();

  // The log's lines so far.
  std::vector<std::string> LogLines();
  // The line of the call of `method` that was logged last, or waits for one.
  std::string AwaitLog(const std::string& part);

  // Sends one unary call of SessionService and waits for its answer.
  template <typename Request, typename Response>
  grpc::Status Ask(grpc::Status (pb::SessionService::Stub::*method)(grpc::ClientContext*,
                                                                    const Request&, Response*),
                   const Request& request, Response* response = nullptr) {
    grpc::ClientContext context;
    Response unused;
    return (sessions().*method)(&context, request, response == nullptr ? &unused : response);
  }

  // Creates a session, which must succeed, and answers what it answered.
  pb::CreateSessionResponse Create(const std::string& id);
  // Begins a turn, which must succeed.
  pb::BeginTurnResponse Begin(const std::string& id, const std::string& token);
  // Commits a turn with one message, which must succeed.
  pb::CommitTurnResponse Commit(const std::string& id, const std::string& token, uint64_t turn,
                                const std::string& text);
  pb::Session Get(const std::string& id);

  // May be changed before the server starts.
  Config& config() { return config_; }
  // What a container leaves of the machine; everything, if a test says nothing.
  Container& container() { return container_; }
  void set_not_serving_wait(absl::Duration wait) { not_serving_wait_ = wait; }

  MovedClock& clock() { return clock_; }
  Script& script() { return script_; }
  // What the store holds; may be looked at while the server is stopped.
  ReferenceDisk& disk() { return *disk_; }

 private:
  void Start();

  const testing::ProcessUse before_;
  Config config_;
  Container container_;
  absl::Duration not_serving_wait_;
  MovedClock clock_;
  SeededRandom random_;
  Script script_;
  std::shared_ptr<ReferenceDisk> disk_;
  absl::Mutex mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  Log log_;
  Metrics metrics_;
  std::unique_ptr<App> app_;
  std::thread runner_;
  int exit_code_ = -1;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<pb::SessionService::Stub> sessions_;
  std::unique_ptr<pb::AdminService::Stub> admin_;
  std::unique_ptr<grpc::health::v1::Health::Stub> health_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_RPC_SERVED_H_
