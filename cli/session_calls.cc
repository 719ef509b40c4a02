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
  grpc::Status status = Send(&Sessions::GetSession, request, reply);
  session = std::move(*reply.mutable_session());
  return status;
}

grpc::Status SessionCalls::LookupLatest(const std::string& root, v1::Session& session) const {
  v1::LookupLatestSessionRequest request;
  request.set_project_root(AbsoluteRoot(root));
  v1::LookupLatestSessionResponse reply;
  grpc::Status status = Send(&Sessions::LookupLatestSession, request, reply);
  session = std::move(*reply.mutable_session());
  return status;
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

grpc::Status SessionCalls::ReadItemPages(v1::ReadItemsRequest request, uint64_t limit,
                                         absl::FunctionRef<bool(ItemEntryPage&)> take) const {
  for (uint64_t read = 0;;) {
    request.set_page_size(PageSize(limit, read));
    ItemEntryPage page;
    grpc::Status status = ReadItemPage(request, page);
    if (!status.ok()) return status;
    read += page.items.size();
    request.set_page_token(page.end.next_page_token());
    const bool more = take(page) && !request.page_token().empty();
    if (!more || (limit != 0 && read >= limit)) return grpc::Status::OK;
  }
}

grpc::Status SessionCalls::ReadItemPage(const v1::ReadItemsRequest& request,
                                        ItemEntryPage& page) const {
  const auto attempt = [&](grpc::ClientContext& context) {
    page = ItemEntryPage();
    const auto stream = connection_.items().ReadItems(&context, request);
    bool joined = true;
    for (v1::ReadItemsResponse response; joined && stream->Read(&response);) {
      joined = page.Add(response);
    }
    if (!joined) context.TryCancel();
    grpc::Status status = stream->Finish();
    if (joined) return status;
    return grpc::Status(grpc::StatusCode::DATA_LOSS, "a part of an item is missing in the reply");
  };
  return caller_.Call(attempt).status;
}

grpc::Status SessionCalls::PutItems(const v1::PutItemsRequest& request,
                                    v1::PutItemsResponse& reply) const {
  return SendTo(connection_.items(), &v1::ItemService::StubInterface::PutItems, request, reply);
}

}  // namespace holdfast::cli
