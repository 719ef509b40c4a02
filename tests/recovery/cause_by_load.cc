#include "holdfast/v1/admin_service.grpc.pb.h"
#include "session/limits.h"
#include "store-fs/recovery.h"
#include "tests/recovery/causes.h"
#include "tests/support/changes.h"
#include "tests/support/channel.h"
#include "tests/support/method_rules.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/watch_client.h"
#include "tests/support/wire_client.h"
#include "tests/support/wrong_clock.h"

#include "absl/synchronization/mutex.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/stat.h>

namespace holdfast::testing {
namespace {

using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using Stub = WireClient::Stub;

// Reads of one session at the same time: one that the worker has, one in the queue, and one that is
// refused.
class ThreeReads final {
 public:
  ThreeReads(const std::string& address, const std::string& session)
      : stub_(pb::SessionService::NewStub(Connected(address))) {
    request_.set_session_id(session);
    for (Read& read : reads_) {
      stub_->async()->GetSession(&read.context, &request_, &read.response,
                                 [this](const grpc::Status& /*status*/) {
                                   const absl::MutexLock lock(&mutex_);
                                   ++answered_;
                                 });
    }
  }
  ThreeReads(const ThreeReads&) = delete;
  ThreeReads& operator=(const ThreeReads&) = delete;
  ~ThreeReads() { AwaitAnswers(reads_.size()); }

  // Until so many of them are answered.
  void AwaitAnswers(size_t count) {
    const auto answered = [&] { return answered_ >= count; };
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&answered));
  }

 private:
  struct Read {
    grpc::ClientContext context;
    pb::GetSessionResponse response;
  };

  std::array<Read, 3> reads_;
  pb::GetSessionRequest request_;
  const std::unique_ptr<Stub> stub_;
  absl::Mutex mutex_;
  size_t answered_ = 0;
};

// A request of `method` of 2 MiB, all of which is a field that the server does not know.
std::string LargeRequest(const MethodDescriptor& method) {
  constexpr int kUnknown = 1000;
  const std::unique_ptr<Message> request(google::protobuf::MessageFactory::generated_factory()
                                             ->GetPrototype(method.input_type())
                                             ->New());
  request->GetReflection()
      ->MutableUnknownFields(request.get())
      ->AddLengthDelimited(kUnknown, std::string(2 * kMiB, 'x'));
  return request->SerializeAsString();
}

// Waits until `calls` are in progress beside the one that asks.
void AwaitCalls(const std::string& address, int32_t calls) {
  const auto admin = pb::AdminService::NewStub(Connected(address));
  EXPECT_TRUE(WaitUntil([&] {
    grpc::ClientContext context;
    pb::StatusResponse status;
    return admin->Status(&context, {}, &status).ok() && status.calls_in_progress() == calls + 1;
  }));
}

}  // namespace

void CauseByLoad(CausedReasons& caused) {
  const TestFolder folder;
  ServerProcess server(folder, {.server = ", workers: 1", .more = "limits: {queued_calls: 1}\n"});
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient(server.address()).Must(&Stub::CreateSession, test::CreateRequest("stalled"));
  ASSERT_EQ(server.Stop().exit_code, 0) << server.Log();
  ASSERT_TRUE(server.Start()) << server.Log();
  RefusedCalls calls(server.address(), caused);
  // A worker that opens it waits for another process to write into it.
  const auto manifest =
      folder.path() / "data" / fs::DirectoryOf(test::Key("stalled")) / "manifest.json";
  ASSERT_TRUE(std::filesystem::remove(manifest));
  ASSERT_EQ(mkfifo(manifest.c_str(), 0600), 0);
  ThreeReads reads(server.address(), "stalled");
  reads.AwaitAnswers(1);
  for (const MethodDescriptor* method : CausedReasons::MethodsWith("OVERLOADED")) {
    calls.Send(*method, "OVERLOADED", {""});
  }
  server.Kill();
}

void CauseByNoRoom(CausedReasons& caused) {
  const TestFolder folder;
  const std::string no_room = folder.File("no-room");
  ServerProcess server(folder);
  {
    const ScopedEnvironment preloaded(
        {{"LD_PRELOAD", Program("../tests/libno_room.so")},
         {"HOLDFAST_NO_ROOM", no_room},
         // a sanitizer's build takes it, too
         {"ASAN_OPTIONS", "verify_asan_link_order=0:alloc_dealloc_mismatch=0"}});
    ASSERT_TRUE(server.Start()) << server.Log();
  }
  RefusedCalls calls(server.address(), caused);
  std::ofstream(no_room).close();
  for (const MethodDescriptor* method : CausedReasons::MethodsWith("INTERNAL")) {
    calls.Send(*method, "INTERNAL", {LargeRequest(*method)});
  }
  std::filesystem::remove(no_room);
}

void CauseByStop(CausedReasons& caused) {
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient client(server.address());
  client.Must(&Stub::CreateSession, test::CreateRequest("watched"));
  const auto sessions = pb::SessionService::NewStub(Connected(server.address()));
  RefusedCalls calls(server.address(), caused);
  Watch watch(*sessions, WatchFrom("watched", 0));
  watch.UntilProgress();
  // What has begun may end while a server stops.
  grpc::ClientContext context;
  pb::CommitTurnResponse response;
  const auto upload = sessions->CommitTurnStream(&context, &response);
  AwaitCalls(server.address(), 2);
  server.AskToStop();
  pb::GetSessionRequest get;
  get.set_session_id("watched");
  EXPECT_TRUE(WaitUntil([&] { return client.Reason(&Stub::GetSession, get) != "OK"; }));
  for (const MethodDescriptor* method : CausedReasons::MethodsWith("STORE_UNAVAILABLE")) {
    calls.Send(*method, "STORE_UNAVAILABLE", {""});
  }
  caused.Note({"WatchSession", "WATCH_ENDED"}, VerdictOf(watch.End()).reason);
  context.TryCancel();
  (void)upload->Finish();
  EXPECT_EQ(server.Stop().exit_code, 0) << server.Log();
}

}  // namespace holdfast::testing
