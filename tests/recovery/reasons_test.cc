// Every reason, from a holdfastd as it is shipped, by nothing but calls and what people and
// machines do to it: word for word in tests/golden/reasons.golden.
#include "session/reasons.h"

#include "session/limits.h"
#include "store-fs/recovery.h"
#include "tests/support/changes.h"
#include "tests/support/channel.h"
#include "tests/support/details.h"
#include "tests/support/golden.h"
#include "tests/support/refusal_cases.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/small_disk.h"
#include "tests/support/wait.h"
#include "tests/support/watch_client.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

namespace pb = ::holdfast::v1;
namespace stdfs = std::filesystem;

using Stub = pb::SessionService::Stub;
using test::RefusalCases;

// A server and the refusals that it is asked for.
class Place {
 public:
  explicit Place(ServerSettings settings = {}) : server_(folder_, std::move(settings)) { Start(); }

  void Start() {
    EXPECT_TRUE(server_.Start()) << server_.Log();
    channel_ = Connected(server_.address());
    EXPECT_TRUE(WaitUntil([&] { return channel_->GetState(true) == GRPC_CHANNEL_READY; }));
    sessions_ = pb::SessionService::NewStub(channel_);
    admin_ = pb::AdminService::NewStub(channel_);
    cases_ = std::make_unique<RefusalCases>(*sessions_, *admin_);
  }
  void Stop() { EXPECT_EQ(server_.Stop().exit_code, 0) << server_.Log(); }

  ServerProcess& server() { return server_; }
  Stub& sessions() { return *sessions_; }
  RefusalCases& cases() { return *cases_; }
  [[nodiscard]] stdfs::path PathOf(const std::string& session) const {
    return folder_.path() / "data" / fs::DirectoryOf(test::Key(session));
  }

 private:
  const TestFolder folder_;
  ServerProcess server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Stub> sessions_;
  std::unique_ptr<pb::AdminService::Stub> admin_;
  std::unique_ptr<RefusalCases> cases_;
};

class Reasons : public ::testing::Test {
 protected:
  void Asked();
  void Damage();
  void FullDisk();
  void Draining();
  void Load();
  void OldEvents();

  // Takes over what was noted.
  void Keep(const RefusalCases& cases) {
    absl::StrAppend(&text_, cases.Text());
    for (const ReasonRow& row : kReasonRows) {
      if (cases.HasSeen(row.name)) seen_.insert(row.reason);
    }
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::set<Reason>& seen() const { return seen_; }

 private:
  std::string text_;
  std::set<Reason> seen_;
};

void Reasons::Asked() {
  Place place({.more = absl::StrCat("secrets: {patterns: ['", test::kSecretPattern, "']}\n")});
  RefusalCases& cases = place.cases();
  cases.Identity();
  cases.State();
  cases.Leases();
  cases.Sizes();
  cases.Fields();
  cases.Slots();
  cases.History();
  cases.Secrets();
  Keep(cases);
  place.Stop();
}

void Reasons::Damage() {
  Place place;
  place.cases().Create("drift");
  const std::string token = place.cases().Create("damaged");
  place.cases().Begin("damaged", token);
  place.Stop();
  for (const auto& [session, file] :
       {std::pair("drift", "manifest.json"), std::pair("damaged", "journal.log")}) {
    const stdfs::path path = place.PathOf(session) / file;
    std::string bytes = test::ReadFile(path);
    bytes[200] ^= 1;
    test::WriteFile(path, bytes);
  }
  place.Start();
  place.cases().Refused("a manifest that was edited", "",
                        [&] { return place.cases().AskGet("drift"); });
  place.cases().Refused("a journal that was edited", "",
                        [&] { return place.cases().AskGet("damaged"); });
  Keep(place.cases());
  place.Stop();
}

void Reasons::FullDisk() {
  const test::SmallDisk disk("2m");
  Place place({.root = disk.path() / "root"});
  RefusalCases& cases = place.cases();
  const std::string token = cases.Create("full");
  cases.Begin("full", token);
  test::WriteFile(disk.path() / "ballast", std::string(1'500'000, 'x'));
  const auto large = test::CommitRequest("full", token, 1, std::string(1'000'000, 'm'));
  for (const char* name : {"a full disk", "a full disk again", "a full disk for the third time"}) {
    cases.Refused(name, "full", [&] { return cases.Ask(&Stub::CommitTurn, large); });
  }
  stdfs::remove(disk.path() / "ballast");
  EXPECT_TRUE(cases.Ask(&Stub::CommitTurn, large).ok()) << "the same request, with room";
  Keep(cases);
  place.Stop();
}

// A stream that nobody reads keeps a stopping server for a while.
void Reasons::Draining() {
  Place place;
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

// More at once than one worker and a queue of one take.
void Reasons::Load() {
  Place place({.server = ", workers: 1", .more = "limits: {queued_calls: 1}\n"});
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

// Eight days later, by the server's own clock.
void Reasons::OldEvents() {
  constexpr uint64_t kTurns = 700;  // two events each, of which the last thousand are kept
  Place place;
  const std::string token = place.cases().Create("events");
  const auto take_turns = [&](uint64_t first) {
    for (uint64_t turn = first; turn < first + kTurns; ++turn) {
      place.cases().Begin("events", token);
      place.cases().Commit("events", token, turn);
    }
  };
  take_turns(1);
  place.Stop();
  const std::pair<const char*, const char*> kLater[] = {
      {"LD_PRELOAD", "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"},
      {"FAKETIME", "+8d"},
      {"FAKETIME_DONT_FAKE_MONOTONIC", "1"},
      {"ASAN_OPTIONS", "verify_asan_link_order=0"},  // a sanitizer's build takes it, too
  };
  for (const auto& [name, value] : kLater) setenv(name, value, 1);
  place.Start();
  for (const auto& [name, value] : kLater) unsetenv(name);
  take_turns(kTurns + 1);
  place.cases().Refused("events that are no longer kept", "events", [&] {
    pb::ListEventsRequest request;
    request.set_session_id("events");
    request.set_after_seq(1);
    return place.cases().Ask(&Stub::ListEvents, request);
  });
  place.cases().Refused("a watch from an event that is no longer kept", "events",
                        [&] { return Watch(place.sessions(), WatchFrom("events", 1)).End(); });
  Keep(place.cases());
  place.Stop();
}

TEST_F(Reasons, EachIsReachedFromOutside) {
  Asked();
  Damage();
  FullDisk();
  Draining();
  Load();
  OldEvents();
  test::ExpectGolden("reasons.golden", text());
  // Nobody reads the reason of a call that was given up: a caller's own deadline ends it first. A
  // defect has no way to be asked for. Tests in the process see all three.
  const std::set<Reason> unseen = {Reason::kCancelled, Reason::kDeadline, Reason::kInternal};
  for (const ReasonRow& row : kReasonRows) {
    if (row.reserved || unseen.contains(row.reason)) continue;
    EXPECT_TRUE(seen().contains(row.reason)) << row.name << " was not seen";
  }
}

}  // namespace
}  // namespace holdfast::testing
