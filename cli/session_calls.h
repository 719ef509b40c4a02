// What the session commands ask the server, without the command line around it.
#ifndef HOLDFAST_CLI_SESSION_CALLS_H_
#define HOLDFAST_CLI_SESSION_CALLS_H_

#include "cli/connection.h"
#include "cli/retry.h"

#include "grpcpp/support/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::cli {

// Which session a command is about: by id, or the newest one of a project root.
struct Target {
  std::string session_id;
  std::string latest_of_project_root;
};

// A project root as the server knows it. A relative one is taken from the current directory.
std::string AbsoluteRoot(const std::string& root);

struct Listing {
  std::vector<v1::SessionSummary> sessions;
  bool complete = true;
};

// Each fills its result and returns OK, or returns the refusal. Any thread may call.
class SessionCalls final {
 public:
  // `connection` and `caller` must live as long.
  SessionCalls(const Connection& connection, const Caller& caller)
      : connection_(connection), caller_(caller) {}

  // The session itself.
  grpc::Status Get(const Target& target, v1::Session& session) const;
  // The newest session of a project root, which may be relative.
  grpc::Status LookupLatest(const std::string& root, v1::Session& session) const;
  // The id of `target`: a call of its own when it is named by project root.
  grpc::Status Resolve(const Target& target, std::string& session_id) const;
  // Up to `limit` rows, page by page; all of them when it is 0.
  grpc::Status List(v1::ListSessionsRequest request, uint64_t limit, Listing& listing) const;
  grpc::Status Resume(const v1::ResumeSessionRequest& request,
                      v1::ResumeSessionResponse& reply) const;
  grpc::Status Release(const v1::ReleaseLeaseRequest& request,
                       v1::ReleaseLeaseResponse& reply) const;
  grpc::Status Cancel(const v1::CancelSessionRequest& request,
                      v1::CancelSessionResponse& reply) const;
  grpc::Status Close(const v1::CloseSessionRequest& request, v1::CloseSessionResponse& reply) const;
  grpc::Status Delete(const v1::DeleteSessionRequest& request,
                      v1::DeleteSessionResponse& reply) const;

 private:
  const Connection& connection_;
  const Caller& caller_;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_SESSION_CALLS_H_
