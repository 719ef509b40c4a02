// The refusals that depend on the request alone, on any server.
#ifndef HOLDFAST_TESTS_SUPPORT_REFUSAL_CASES_H_
#define HOLDFAST_TESTS_SUPPORT_REFUSAL_CASES_H_

#include "holdfast/v1/admin_service.grpc.pb.h"
#include "holdfast/v1/session_service.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace holdfast::test {

namespace pb = ::holdfast::v1;

// Matches the secret that Secrets sends; tests configure it in `secrets.patterns`.
inline constexpr char kSecretPattern[] = "sk-test-[a-z]{8}";

// Notes each refusal as a client reads it; the session must be the same before and after.
class RefusalCases {
 public:
  using Stub = pb::SessionService::Stub;
  template <typename Request, typename Response>
  using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

  // Both must outlive this.
  RefusalCases(Stub& sessions, pb::AdminService::Stub& admin)
      : sessions_(sessions), admin_(admin) {}

  // All of them but the cancels.
  void All();
  void Identity();
  void State();
  void Cancels();
  void Leases();
  void Sizes();
  // Of a server without Echo.
  void Capabilities();
  void Fields();
  void Slots();
  void History();
  // On a server that looks for kSecretPattern.
  void Secrets();

  // Notes what `ask` is refused with. `session` is empty where there is none.
  void Refused(const std::string& name, const std::string& session,
               const std::function<grpc::Status()>& ask);
  void Note(const std::string& name, const grpc::Status& status);

  // Sends one call and waits for its answer.
  template <typename Request, typename Response>
  grpc::Status Ask(Method<Request, Response> method, const Request& request,
                   Response* response = nullptr) {
    grpc::ClientContext context;
    Response unused;
    return (sessions_.*method)(&context, request, response == nullptr ? &unused : response);
  }
  grpc::Status AskBegin(const pb::BeginTurnRequest& request) {
    return Ask(&Stub::BeginTurn, request);
  }
  grpc::Status AskGet(const std::string& id);

  // Calls that must succeed; the first answers the lease's token.
  std::string Create(const std::string& id);
  void Begin(const std::string& id, const std::string& token);
  void Commit(const std::string& id, const std::string& token, uint64_t turn);

  // All refusals, in words (see Describe).
  [[nodiscard]] std::string Text() const { return text_.str(); }
  [[nodiscard]] bool HasSeen(std::string_view reason) const {
    return seen_.contains(std::string(reason));
  }

 private:
  // Everything about a session but the time its lease has left.
  std::string Fingerprint(const std::string& session);

  Stub& sessions_;
  pb::AdminService::Stub& admin_;
  std::set<std::string> seen_;
  std::ostringstream text_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_REFUSAL_CASES_H_
