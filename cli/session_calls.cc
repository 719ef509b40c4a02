#include "cli/session_calls.h"

#include "google/protobuf/descriptor.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace holdfast::cli {
namespace {

constexpr uint64_t kListedPage = 200;

}  // namespace

std::string AbsoluteRoot(const std::string& root) {
  if (root.empty() || root.front() == '/') return root;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(root, error);
  if (error) return root;
  std::string text = absolute.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

grpc::Status SessionCalls::Get(const Target& target, v1::Session& session) const {
  if (target.session_id.empty()) return LookupLatest(target.latest_of_project_root, session);
  v1::GetSessionRequest request;
  request.set_session_id(target.session_id);
  v1::GetSessionResponse reply;
  const CallResult result = caller_.Call([&](grpc::ClientContext& context) {
    return connection_.sessions().GetSession(&context, request, &reply);
  });
  session = std::move(*reply.mutable_session());
  return result.status;
}

grpc::Status SessionCalls::LookupLatest(const std::string& root, v1::Session& session) const {
  v1::LookupLatestSessionRequest request;
  request.set_project_root(AbsoluteRoot(root));
  v1::LookupLatestSessionResponse reply;
  const CallResult result = caller_.Call([&](grpc::ClientContext& context) {
    return connection_.sessions().LookupLatestSession(&context, request, &reply);
  });
  session = std::move(*reply.mutable_session());
  return result.status;
}

grpc::Status SessionCalls::Resolve(const Target& target, std::string& session_id) const {
  session_id = target.session_id;
  if (!session_id.empty()) return grpc::Status::OK;
  v1::Session session;
  grpc::Status status = Get(target, session);
  session_id = session.session_id();
  return status;
}

int32_t SessionCalls::PageSize(uint64_t limit, uint64_t read) {
  return static_cast<int32_t>(limit == 0 ? kListedPage : std::min(kListedPage, limit - read));
}

uint64_t SessionCalls::CountItems(const google::protobuf::Message& page) {
  const auto* items = page.GetDescriptor()->FindFieldByNumber(1);
  return static_cast<uint64_t>(page.GetReflection()->FieldSize(page, items));
}

grpc::Status SessionCalls::Resume(const v1::ResumeSessionRequest& request,
                                  v1::ResumeSessionResponse& reply) const {
  const auto attempt = [&](grpc::ClientContext& context) {
    return connection_.sessions().ResumeSession(&context, request, &reply);
  };
  return caller_.Call(attempt).status;
}

grpc::Status SessionCalls::Release(const v1::ReleaseLeaseRequest& request,
                                   v1::ReleaseLeaseResponse& reply) const {
  const auto attempt = [&](grpc::ClientContext& context) {
    return connection_.sessions().ReleaseLease(&context, request, &reply);
  };
  return caller_.Call(attempt).status;
}

grpc::Status SessionCalls::Cancel(const v1::CancelSessionRequest& request,
                                  v1::CancelSessionResponse& reply) const {
  const auto attempt = [&](grpc::ClientContext& context) {
    return connection_.sessions().CancelSession(&context, request, &reply);
  };
  return caller_.Call(attempt).status;
}

grpc::Status SessionCalls::Close(const v1::CloseSessionRequest& request,
                                 v1::CloseSessionResponse& reply) const {
  const auto attempt = [&](grpc::ClientContext& context) {
    return connection_.sessions().CloseSession(&context, request, &reply);
  };
  return caller_.Call(attempt).status;
}

grpc::Status SessionCalls::Delete(const v1::DeleteSessionRequest& request,
                                  v1::DeleteSessionResponse& reply) const {
  const auto attempt = [&](grpc::ClientContext& context) {
    return connection_.sessions().DeleteSession(&context, request, &reply);
  };
  return caller_.Call(attempt).status;
}

}  // namespace holdfast::cli
