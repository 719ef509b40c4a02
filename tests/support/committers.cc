#include "tests/support/committers.h"

#include "holdfast/v1/session_service.grpc.pb.h"
#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/details.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <chrono>

namespace holdfast::testing {
namespace {

namespace pb = ::holdfast::v1;
using SessionStub = pb::SessionService::Stub;

std::shared_ptr<grpc::Channel> WithoutRetries(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return Connected(address, arguments);
}

}  // namespace

Committers::Committers(const std::string& address, size_t count)
    : Committers([&] { return WithoutRetries(address); }, count) {}

Committers::Committers(const Connect& connect, size_t count) {
  // Others may have committed to the same store before, each to a session of its own.
  static std::atomic<size_t> made = 0;
  for (size_t i = 0; i < count; ++i) {
    threads_.emplace_back(
        [this, channel = connect(), session = absl::StrCat("committer.", made++)] {
          Run(channel, session);
        });
  }
}

void Committers::Run(const std::shared_ptr<grpc::Channel>& channel, const std::string& session) {
  const auto stub = pb::SessionService::NewStub(channel);
  const auto ask = [&](auto method, const auto& request, auto& response) {
    const absl::Time begun = absl::Now();
    while (true) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
      const grpc::Status status = (*stub.*method)(&context, request, &response);
      if (test::ReasonOf(status) != "OVERLOADED") {
        Note(session, begun, status);
        return status.ok();
      }
      ++refused_;
      if (WaitUntil([&] { return stopping_.load(); }, kOverloadRetry)) return false;
    }
  };
  pb::CreateSessionResponse created;
  if (!ask(&SessionStub::CreateSession, test::CreateRequest(session), created)) return;
  while (!stopping_) {
    pb::BeginTurnResponse begun;
    pb::CommitTurnResponse committed;
    const std::string& token = created.lease_token();
    if (!ask(&SessionStub::BeginTurn, test::BeginRequest(session, token), begun)) return;
    const auto commit = test::CommitRequest(session, token, begun.turn(), "text");
    if (!ask(&SessionStub::CommitTurn, commit, committed)) return;
    ++commits_;
  }
}

void Committers::Note(const std::string& session, absl::Time begun, const grpc::Status& status) {
  const absl::MutexLock lock(&mutex_);
  calls_.push_back({.begun = begun, .took = absl::Now() - begun});
  if (!status.ok()) failed_.push_back(absl::StrCat(session, ": ", test::Describe(status)));
}

bool Committers::AwaitCommits(size_t count) {
  const size_t wanted = commits_ + count;
  return WaitUntil([&] { return commits_ >= wanted; });
}

std::vector<std::string> Committers::Stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  const absl::MutexLock lock(&mutex_);
  return failed_;
}

Latencies Committers::Between(absl::Time from, absl::Time until) {
  const absl::MutexLock lock(&mutex_);
  Latencies between;
  for (const Call& call : calls_) {
    if (call.begun >= from && call.begun < until) between.push_back(call.took);
  }
  return between;
}

}  // namespace holdfast::testing
