// Streams of the reflection service, which hold no thread and are bounded.
#include "tests/support/channel.h"
#include "tests/support/child_process.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

constexpr char kMethod[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr int kReflectionStreams = 200;
constexpr int kThreadsMore = 32;

int ThreadsOf(const ServerProcess& server) {
  const std::string status = ReadText(absl::StrCat("/proc/", server.pid(), "/status"));
  return std::atoi(status.c_str() + status.find("Threads:") + 8);
}

// A stream on which nothing is asked.
struct Stream {
  explicit Stream(grpc::GenericStub& stub) : call(stub.PrepareCall(&context, kMethod, &queue)) {
    call->StartCall(this);
    Step();
  }
  bool Step() {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return ok;
  }
  // After one question: for its services, if nothing else is given.
  grpc::Status End(const std::string& question = "\x3a\x01*") {
    const grpc::Slice slice(question);
    call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), this);
    Step();
    return Await();
  }
  // Once the server has ended it.
  grpc::Status Await() {
    grpc::ByteBuffer response;
    do call->Read(&response, this);
    while (Step());
    grpc::Status status;
    call->Finish(&status, this);
    Step();
    return status;
  }

  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call;
};

TEST(ReflectionStreams, HoldABoundedNumberOfThreads) {
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  grpc::GenericStub stub(Connected(server.address()));
  const int before = ThreadsOf(server);
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < kReflectionStreams; ++i) streams.push_back(std::make_unique<Stream>(stub));
  // The last one is answered, one way or the other, behind all that came before it.
  int refused = 0;
  int most = 0;
  for (auto stream = streams.rbegin(); stream != streams.rend(); ++stream) {
    most = std::max(most, ThreadsOf(server));
    if ((*stream)->End().error_code() == grpc::StatusCode::UNAVAILABLE) ++refused;
  }
  EXPECT_LE(most, before + kThreadsMore);
  EXPECT_GT(refused, 0);
  EXPECT_TRUE(WaitUntil([&] { return Stream(stub).End().ok(); }))
      << "none is served after they have ended";
  EXPECT_EQ(server.Stop().exit_code, 0);
}

// Otherwise one client could keep all others out for as long as it stays.
TEST(ReflectionStreams, EndWhenNothingIsAsked) {
  const TestFolder folder;
  ServerProcess server(folder, {.more = "limits:\n  stream_idle: 1s\n"});
  ASSERT_TRUE(server.Start()) << server.Log();
  grpc::GenericStub stub(Connected(server.address()));
  Stream silent(stub);
  const Verdict verdict = VerdictOf(silent.Await());
  EXPECT_EQ(verdict.reason, "DEADLINE");
  EXPECT_EQ(verdict.facts.at("field"), "limits.stream_idle");
  EXPECT_EQ(server.Stop().exit_code, 0);
}

TEST(ReflectionStreams, RefuseALargeRequest) {
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  grpc::GenericStub stub(Connected(server.address()));
  // file_by_filename, of 5,000 bytes
  std::string large("\x1a\x88\x27");
  large.append(5000, 'x');
  EXPECT_EQ(VerdictOf(Stream(stub).End(large)).reason, "TOO_LARGE");
  EXPECT_TRUE(Stream(stub).End().ok());
  EXPECT_EQ(server.Stop().exit_code, 0);
}

TEST(ReflectionStreams, AreNotServedWhereReflectionIsOff) {
  const TestFolder folder;
  ServerProcess server(folder, {.server = ", reflection: 'off'"});
  ASSERT_TRUE(server.Start()) << server.Log();
  grpc::GenericStub stub(Connected(server.address()));
  EXPECT_EQ(Stream(stub).End().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace holdfast::testing
