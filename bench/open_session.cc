#include "bench/open_session.h"

#include "bench/agent.h"

#include <utility>

namespace holdfast::bench {

absl::Status CreateOpenSession(Served& served, const std::string& id, FreshBytes& fresh) {
  v1::CreateSessionRequest create = NewSession(id, fresh);
  create.set_kind(v1::SESSION_KIND_OPEN);
  create.clear_holder();
  create.clear_lease_ttl();
  grpc::ClientContext context;
  v1::CreateSessionResponse created;
  const grpc::Status status = served.sessions().CreateSession(&context, create, &created);
  return status.ok() ? absl::OkStatus() : FailedCall("CreateSession", status);
}

absl::StatusOr<v1::Session> GetSession(Served& served, const std::string& id) {
  v1::GetSessionRequest request;
  request.set_session_id(id);
  grpc::ClientContext context;
  v1::GetSessionResponse response;
  const grpc::Status status = served.sessions().GetSession(&context, request, &response);
  if (!status.ok()) return FailedCall("GetSession", status);
  return std::move(*response.mutable_session());
}

}  // namespace holdfast::bench
