#include "tests/recovery/causes.h"
#include "tests/support/channel.h"
#include "tests/support/method_rules.h"
#include "tests/support/raw_http2.h"
#include "tests/support/raw_socket.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "grpcpp/generic/generic_stub.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using google::protobuf::MethodDescriptor;
using Stub = WireClient::Stub;

// A client's end is a race with the server: it is tried until the log says that it came in time.
constexpr int kTries = 20;
constexpr char kJournalStream[] = "AppendJournalStream";

std::string MethodPath(const MethodDescriptor& method) {
  return absl::StrCat("/", method.service()->full_name(), "/", method.name());
}

// A stream that is open and on which its client sends nothing.
class SilentStream final {
 public:
  SilentStream(grpc::GenericStub& stub, const std::string& path)
      : call_(stub.PrepareCall(&context_, path, &queue_)) {
    call_->StartCall(nullptr);
    Next();
  }
  SilentStream(const SilentStream&) = delete;
  SilentStream& operator=(const SilentStream&) = delete;
  ~SilentStream() {
    queue_.Shutdown();
    while (Next()) {
    }
  }

  // How the server ended it.
  grpc::Status End() {
    grpc::Status status;
    call_->Finish(&status, nullptr);
    Next();
    return status;
  }

 private:
  bool Next() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok);
  }

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  const std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

class Clients final {
 public:
  explicit Clients(CausedReasons& caused) : caused_(caused) {
    EXPECT_TRUE(server_.Start()) << server_.Log();
  }

  // Of calls that come without a request. The body of a stream may have none.
  void EndWithoutRequest() {
    RefusedCalls calls(server_.address(), caused_);
    for (const MethodDescriptor* method : CausedReasons::MethodsWith("CANCELLED")) {
      if (!method->client_streaming()) calls.Send(*method, "CANCELLED", {});
    }
  }

  // Of streams whose body ends in the middle.
  void CancelBodies() {
    for (const MethodDescriptor* method : CausedReasons::MethodsWith("CANCELLED")) {
      if (!method->client_streaming() || method->name() == kJournalStream) continue;
      ExpectLogged({method->name(), "CANCELLED"}, [&](RawSocket& socket, uint32_t stream) {
        socket.Send(http2::Headers(stream, MethodPath(*method)) + http2::Reset(stream));
      });
    }
  }

  // Of a stream whose entry is stored and whose acknowledgement has no room at its client.
  void LeaveAnAcknowledgement(const MethodDescriptor& method) {
    WireClient client(server_.address());
    const std::string token =
        client.Must(&Stub::CreateSession, test::CreateRequest("journal")).lease_token();
    client.Must(&Stub::BeginTurn, test::BeginRequest("journal", token));
    pb::AppendJournalStreamRequest append;
    append.set_session_id("journal");
    append.set_lease_token(token);
    *append.add_entries() = test::AppendRequest("journal", token, 1, 1).entries(0);
    RawSocket socket(server_.address(), "127.0.0.1");
    const std::string request = append.SerializeAsString();
    socket.Send(
        http2::OpeningWithoutWindow() + http2::Headers(1, MethodPath(method)) +
        http2::Data(1, http2::MessagePrefix(static_cast<uint32_t>(request.size())) + request));
    EXPECT_TRUE(WaitUntil([&] { return client.Get("journal").turn().last_entry() == 1; }));
    socket.Send(http2::Reset(1));
    EXPECT_TRUE(WaitUntil([&] { return IsLogged({method.name(), "CANCELLED"}); }));
  }

  // Of calls whose request does not come before their deadline.
  void LetDeadlinesPass() {
    std::vector<const MethodDescriptor*> methods = CausedReasons::MethodsWith("DEADLINE");
    std::erase_if(methods, [](const auto* method) { return method->client_streaming(); });
    const auto all_logged = [&] {
      return std::ranges::all_of(methods, [&](const auto* method) {
        return IsLogged({method->name(), "DEADLINE"});
      });
    };
    RawSocket socket(server_.address(), "127.0.0.1");
    socket.Send(http2::Opening());
    uint32_t stream = 1;
    for (int i = 0; i < kTries && !all_logged(); ++i) {
      for (const MethodDescriptor* method : methods) {
        socket.Send(http2::HeadersWithTimeout(stream, MethodPath(*method), "50m"));
        stream += 2;
      }
      WaitUntil(all_logged, absl::Seconds(1));
    }
  }

  // Of streams on which nothing comes.
  void SayNothing() {
    grpc::GenericStub stub(Connected(server_.address()));
    std::map<std::string, std::unique_ptr<SilentStream>> streams;
    for (const MethodDescriptor* method : CausedReasons::MethodsWith("DEADLINE")) {
      if (!method->client_streaming()) continue;
      streams[method->name()] = std::make_unique<SilentStream>(stub, MethodPath(*method));
    }
    for (const auto& [method, stream] : streams) {
      caused_.Note({method, "DEADLINE"}, VerdictOf(stream->End()).reason);
    }
  }

 private:
  bool IsLogged(const CausedReasons::Row& row) {
    if (!caused_.IsCaused(row)) caused_.NoteLog(server_.Log());
    return caused_.IsCaused(row);
  }

  // Lets a client act on one stream after the other until the log has the row. Its line is written
  // behind the call.
  template <typename Act>
  void ExpectLogged(const CausedReasons::Row& row, Act act) {
    RawSocket socket(server_.address(), "127.0.0.1");
    socket.Send(http2::Opening());
    for (int i = 0; i < kTries && !IsLogged(row); ++i) {
      act(socket, static_cast<uint32_t>(2 * i + 1));
      WaitUntil([&] { return IsLogged(row); }, absl::Seconds(1));
    }
  }

  CausedReasons& caused_;
  const TestFolder folder_;
  ServerProcess server_{folder_, {.more = "limits: {stream_idle: 1s}\n"}};
};

}  // namespace

void CauseByClients(CausedReasons& caused) {
  Clients clients(caused);
  clients.EndWithoutRequest();
  clients.CancelBodies();
  for (const MethodDescriptor* method : CausedReasons::MethodsWith("CANCELLED")) {
    if (method->name() == kJournalStream) clients.LeaveAnAcknowledgement(*method);
  }
  clients.LetDeadlinesPass();
  clients.SayNothing();
}

}  // namespace holdfast::testing
