// Every reason that a call of this version can cause, in words (tests/golden/refusals.golden):
// refusals that depend on the request alone, and those that faults of the store and load cause.
#include "session/limits.h"
#include "session/reasons.h"
#include "session/refusal.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"
#include "tests/support/golden.h"
#include "tests/support/refusal_cases.h"
#include "tests/support/requests.h"
#include "tests/support/watch_client.h"

#include "absl/synchronization/mutex.h"

#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using ::holdfast::testing::Watch;
using ::holdfast::testing::WatchFrom;
using ::holdfast::testing::WatchOn;
using Stub = pb::SessionService::Stub;

class RefusalsRpc : public Served {
 protected:
  RefusalsRpc() {
    config().server.workers = 1;
    config().server.echo = false;
    config().limits.queued_calls = 1;
    config().secrets.patterns = {kSecretPattern};
  }

  void StoreTrouble(RefusalCases& cases);
  void Load(RefusalCases& cases);
  void Watches(RefusalCases& cases);
};

void RefusalsRpc::StoreTrouble(RefusalCases& cases) {
  const std::string token = cases.Create("trouble");
  const auto failing = [&](const std::string& name, const absl::Status& failure) {
    cases.Refused(name, "trouble", [&] {
      script().Fail(failure);
      const grpc::Status status = cases.AskGet("trouble");
      script().Fail(absl::OkStatus());
      return status;
    });
  };
  failing("the store cannot be reached", StoreUnavailable("the disk is gone", Fate::kUnknown));
  failing("the disk is full", StorageFull("no space is left"));
  failing("a damaged manifest",
          Refusal(Reason::kManifestDrift, "the manifest's checksum is wrong"));
  failing("a damaged record", Refusal(Reason::kDamaged, "a record's checksum is wrong"));
  failing("events that are gone",
          Refusal(Reason::kEventsCompacted, "these events are no longer kept").With("oldest", "7"));
  failing("an error that is no refusal", absl::UnknownError("secret words of a driver"));
  cases.Begin("trouble", token);
  cases.Refused("a turn's third failed commit", "trouble", [&] {
    script().Fail(StoreUnavailable("the disk is gone", Fate::kUnknown));
    const pb::CommitTurnRequest request = CommitRequest("trouble", token, 1, "x");
    EXPECT_EQ(ReasonOf(cases.Ask(&Stub::CommitTurn, request)), "STORE_UNAVAILABLE");
    EXPECT_EQ(ReasonOf(cases.Ask(&Stub::CommitTurn, request)), "STORE_UNAVAILABLE");
    const grpc::Status status = cases.Ask(&Stub::CommitTurn, request);
    script().Fail(absl::OkStatus());
    return status;
  });
}

void RefusalsRpc::Load(RefusalCases& cases) {
  cases.Create("load");
  script().Hold();
  std::thread running([&] { EXPECT_TRUE(cases.AskGet("load").ok()); });
  script().AwaitWaiting(1);
  // Of two more calls one takes the only place in the queue and the other is refused at once.
  absl::Mutex mutex;
  std::vector<grpc::Status> answers;
  const auto ask = [&] {
    const grpc::Status status = cases.AskGet("load");
    const absl::MutexLock lock(&mutex);
    answers.push_back(status);
  };
  std::thread first(ask);
  std::thread second(ask);
  {
    const absl::MutexLock lock(&mutex);
    const auto one = [&] { return answers.size() == 1; };
    mutex.Await(absl::Condition(&one));
  }
  clock().Advance(kDefaultDeadline);
  script().Release();
  running.join();
  first.join();
  second.join();
  cases.Note("a full queue", answers[0]);
  cases.Note("a deadline that passed while the call was queued", answers[1]);
}

// The last: it stops the server.
void RefusalsRpc::Watches(RefusalCases& cases) {
  cases.Create("watched");
  const auto ended = [&](const pb::WatchSessionRequest& request) {
    return Watch(sessions(), request).End();
  };
  cases.Note("a cursor that is none", ended(WatchOn("watched", "made up")));
  cases.Note("a start behind the newest event", ended(WatchFrom("watched", 9)));
  Watch watch(sessions(), WatchFrom("watched", 0));
  watch.UntilProgress();
  app().RequestStop();
  cases.Note("a watch on a server that stops", watch.End());
}

TEST_F(RefusalsRpc, EachIsWordedAsReviewed) {
  RefusalCases cases(sessions(), admin());
  cases.Identity();
  cases.State();
  cases.Cancels();
  cases.Leases();
  StoreTrouble(cases);
  cases.Sizes();
  cases.Capabilities();
  cases.Fields();
  cases.Slots();
  cases.History();
  cases.Secrets();
  Load(cases);
  Watches(cases);
  ExpectGolden("refusals.golden", cases.Text());
  for (const ReasonRow& row : kReasonRows) {
    // A caller that cancelled receives no reason: the log line has it (cancellation_test).
    if (row.reserved || row.reason == Reason::kCancelled) continue;
    EXPECT_TRUE(cases.HasSeen(row.name)) << row.name << " was not seen";
  }
  EXPECT_EQ(cases.Text().find("secret words"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::test
