// A client of the wire with a connection of its own and no retries: what a test sends is what
// arrives, once.
#ifndef HOLDFAST_TESTS_SUPPORT_WIRE_CLIENT_H_
#define HOLDFAST_TESTS_SUPPORT_WIRE_CLIENT_H_

#include "holdfast/v1/session_service.grpc.pb.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

#include <google/rpc/status.pb.h>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::testing {

namespace pb = ::holdfast::v1;

// How a call was answered, beside its reply.
struct Verdict {
  std::string reason;                         // OK, or why it was refused
  std::map<std::string, std::string> facts;   // of a refusal
  std::optional<absl::Duration> retry_after;  // RetryInfo
  std::string message;
};
Verdict VerdictOf(const google::rpc::Status& status);
// A status without details has its gRPC code as the reason.
Verdict VerdictOf(const grpc::Status& status);

template <typename Reply>
struct Answer {
  Verdict verdict;
  Reply reply;
};

// Any thread may call.
class WireClient final {
 public:
  using Stub = pb::SessionService::Stub;
  template <typename Request, typename Reply>
  using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Reply*);

  // After which a call that is not answered fails: no test waits for ever.
  static constexpr absl::Duration kPatience = absl::Minutes(1);

  explicit WireClient(const std::string& address);

  template <typename Request, typename Reply>
  Answer<Reply> Ask(Method<Request, Reply> method, const Request& request,
                    absl::Duration patience = kPatience) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + patience));
    Answer<Reply> answer;
    answer.verdict = VerdictOf((*sessions_.*method)(&context, request, &answer.reply));
    return answer;
  }
  // Why the call is refused; OK if it is not.
  template <typename Request, typename Reply>
  std::string Reason(Method<Request, Reply> method, const Request& request) {
    return Ask(method, request).verdict.reason;
  }
  // The reply of a call that must succeed.
  template <typename Request, typename Reply>
  Reply Must(Method<Request, Reply> method, const Request& request) {
    Answer<Reply> answer = Ask(method, request);
    EXPECT_EQ(answer.verdict.reason, "OK") << answer.verdict.message;
    return answer.reply;
  }
  // How a stream of the whole session ends.
  Verdict ReadWhole(const std::string& session);
  // How the renewal of one lease is answered.
  Verdict Renew(const std::string& session, const std::string& token);

  // The session, which must be there.
  pb::Session Get(const std::string& session);
  // Everything that can be read of the session, as text, but the time its lease has left.
  std::string Everything(const std::string& session);

 private:
  std::unique_ptr<Stub> sessions_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_WIRE_CLIENT_H_
