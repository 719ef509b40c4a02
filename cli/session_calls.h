// What the session commands ask the server, without the command line around it.
#ifndef HOLDFAST_CLI_SESSION_CALLS_H_
#define HOLDFAST_CLI_SESSION_CALLS_H_

#include "cli/connection.h"
#include "cli/item_pages.h"
#include "cli/retry.h"

#include "absl/functional/function_ref.h"
#include "google/protobuf/message.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"

#include <cstdint>
#include <string>

namespace holdfast::cli {

// Which session a command is about: by id, or the newest one of a project root.
struct Target {
  std::string session_id;
  std::string latest_of_project_root;
  std::string session_uid;  // empty: whichever session has the id
};

// A project root as the server knows it. A relative one is taken from the current directory.
std::string AbsoluteRoot(const std::string& root);

// A unary method of a service.
template <typename Service, typename Request, typename Reply>
using UnaryMethod = grpc::Status (Service::*)(grpc::ClientContext*, const Request&, Reply*);
// One of SessionService.
template <typename Request, typename Reply>
using SessionMethod = UnaryMethod<Sessions, Request, Reply>;

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
  // Reads a list page by page, from the page token of `request` on, and gives each page to `take`.
  // Ends with the list, behind `limit` items (0: no limit), or when `take` returns false. Holds one
  // page. Replaces the request's page size. The items of a reply are its field 1.
  template <typename Request, typename Reply>
  grpc::Status ReadPages(SessionMethod<Request, Reply> method, Request request, uint64_t limit,
                         absl::FunctionRef<bool(Reply&)> take) const {
    for (uint64_t read = 0;;) {
      request.set_page_size(PageSize(limit, read));
      Reply page;
      grpc::Status status = Send(method, request, page);
      if (!status.ok()) return status;
      read += CountItems(page);
      request.set_page_token(page.next_page_token());
      const bool more = take(page) && !request.page_token().empty();
      if (!more || (limit != 0 && read >= limit)) return grpc::Status::OK;
    }
  }

  // The same of items.
  grpc::Status ReadItemPages(v1::ReadItemsRequest request, uint64_t limit,
                             absl::FunctionRef<bool(ItemEntryPage&)> take) const;

  // Sends one request.
  template <typename Request, typename Reply>
  grpc::Status Send(SessionMethod<Request, Reply> method, const Request& request,
                    Reply& reply) const {
    return SendTo(connection_.sessions(), method, request, reply);
  }
  grpc::Status PutItems(const v1::PutItemsRequest& request, v1::PutItemsResponse& reply) const;

 private:
  // Of the next page, when `read` items of `limit` have been read.
  static int32_t PageSize(uint64_t limit, uint64_t read);
  static uint64_t CountItems(const google::protobuf::Message& page);
  template <typename Service, typename Request, typename Reply>
  grpc::Status SendTo(Service& service, UnaryMethod<Service, Request, Reply> method,
                      const Request& request, Reply& reply) const {
    const auto attempt = [&](grpc::ClientContext& context) {
      reply.Clear();
      return (service.*method)(&context, request, &reply);
    };
    return caller_.Call(attempt).status;
  }
  // Replaces `page` by the one that `request` asks for.
  grpc::Status ReadItemPage(const v1::ReadItemsRequest& request, ItemEntryPage& page) const;

  const Connection& connection_;
  const Caller& caller_;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_SESSION_CALLS_H_
