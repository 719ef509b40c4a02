#include "tests/support/reason_cases.h"

#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"
#include "tests/support/watch_client.h"

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"

#include <atomic>
#include <thread>
#include <vector>

namespace holdfast::testing {

using test::RefusalCases;
using Stub = RefusalCases::Stub;

void ReasonPlace::Start() {
  EXPECT_TRUE(server_.Start()) << server_.Log();
  channel_ = Connected(server_.address());
  EXPECT_TRUE(WaitUntil([&] { return channel_->GetState(true) == GRPC_CHANNEL_READY; }));
  sessions_ = pb::SessionService::NewStub(channel_);
  admin_ = pb::AdminService::NewStub(channel_);
  cases_ = std::make_unique<RefusalCases>(*sessions_, *admin_);
}

void ReasonPlace::Stop() { EXPECT_EQ(server_.Stop().exit_code, 0) << server_.Log(); }

void ReasonCases::Keep(const RefusalCases& cases) {
  absl::StrAppend(&text_, cases.Text());
  for (const ReasonRow& row : kReasonRows) {
    if (cases.HasSeen(row.name)) seen_.insert(row.reason);
  }
}

void ReasonCases::ExpectAllSeen() const {
  // A client does not receive the reason of a call that it cancelled or whose deadline passed, and
  // no request provokes a defect. Tests in the process see all three.
  const std::set<Reason> unseen = {Reason::kCancelled, Reason::kDeadline, Reason::kInternal};
  for (const ReasonRow& row : kReasonRows) {
    if (row.reserved || unseen.contains(row.reason)) continue;
    EXPECT_TRUE(seen_.contains(row.reason)) << row.name << " was not seen";
  }
}

void ReasonCases::Asked() {
  ServerSettings settings = store_;
  settings.more = absl::StrCat("secrets: {patterns: ['", test::kSecretPattern, "']}\n");
  settings.echo = false;
  ReasonPlace place(settings);
  RefusalCases& cases = place.cases();
  cases.All();
  Keep(cases);
  place.Stop();
}

void ReasonCases::Draining() {
  ReasonPlace place(store_);
  RefusalCases& cases = place.cases();
  const std::string token = cases.Create("drain");
  for (uint64_t turn = 1; turn <= 8; ++turn) {
    cases.Begin("drain", token);
    const auto request = test::CommitRequest("drain", token, turn, std::string(3 * kMiB, 'x'));
    EXPECT_TRUE(cases.Ask(&Stub::CommitTurn, request).ok());
  }
  Watch watch(place.sessions(), WatchFrom("drain", 0));
  watch.UntilProgress();
  grpc::ClientContext context;
  pb::ReadSessionRequest read;
  read.set_session_id("drain");
  const auto stream = place.sessions().ReadSession(&context, read);
  pb::ReadSessionResponse piece;
  EXPECT_TRUE(stream->Read(&piece));
  place.server().AskToStop();
  grpc::Status late;
  EXPECT_TRUE(WaitUntil([&] {
    late = cases.AskGet("drain");
    return !late.ok();
  }));
  cases.Note("a call to a server that stops", late);
  cases.Note("a watch on a server that stops", watch.End());
  context.TryCancel();
  stream->Finish();
  Keep(cases);
  place.Stop();
}

void ReasonCases::Load() {
  ServerSettings settings = store_;
  settings.server = ", workers: 1";
  settings.more = "limits: {queued_calls: 1}\n";
  ReasonPlace place(settings);
  absl::Mutex mutex;
  grpc::Status overloaded;
  std::atomic<bool> found = false;
  {
    std::vector<std::jthread> clients;
    for (int client = 0; client < 8; ++client) {
      clients.emplace_back([&, client] {
        for (int round = 0; !found && round < 1000; ++round) {
          const auto request = test::CreateRequest(absl::StrCat("load-", client, "-", round));
          const grpc::Status status = place.cases().Ask(&Stub::CreateSession, request);
          if (status.ok() || found.exchange(true)) continue;
          const absl::MutexLock lock(&mutex);
          overloaded = status;
        }
      });
    }
  }
  place.cases().Note("more calls than the queue holds", overloaded);
  Keep(place.cases());
  place.Stop();
}

void ReasonCases::OldEvents() {
  constexpr uint64_t kTurns = 700;  // two events each, of which the last thousand are kept
  ReasonPlace place(store_);
  const std::string token = place.cases().Create("events");
  const auto take_turns = [&](uint64_t first) {
    for (uint64_t turn = first; turn < first + kTurns; ++turn) {
      place.cases().Begin("events", token);
      place.cases().Commit("events", token, turn);
    }
  };
  take_turns(1);
  LetEightDaysPass(place);
  take_turns(kTurns + 1);
  const auto ask = [&] {
    pb::ListEventsRequest request;
    request.set_session_id("events");
    request.set_after_seq(1);
    return place.cases().Ask(&Stub::ListEvents, request);
  };
  EXPECT_TRUE(WaitUntil([&] { return !ask().ok(); })) << "a store may tidy behind its changes";
  place.cases().Refused("events that are no longer kept", "events", ask);
  place.cases().Refused("a watch from an event that is no longer kept", "events",
                        [&] { return Watch(place.sessions(), WatchFrom("events", 1)).End(); });
  Keep(place.cases());
  place.Stop();
}

}  // namespace holdfast::testing
