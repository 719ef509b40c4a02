#include "bench/restorer.h"

#include "bench/open_session.h"
#include "platform/status_macros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <utility>

namespace holdfast::bench {
namespace {

// As a turn may add: the digest at a cut is computed from the messages of the change that it
// divides.
constexpr uint64_t kAppendedAtOnce = 20;
constexpr size_t kShortMessage = 1024;
constexpr uint64_t kMessagesAtFirst = 10;

void AddMessage(std::string data, v1::Message& message) {
  message.set_role("user");
  message.set_data(std::move(data));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Restorer>> Restorer::Make(Served& served, const std::string& id,
                                                         uint64_t messages) {
  auto restorer = std::make_unique<Restorer>(served, id);
  RETURN_IF_ERROR(CreateOpenSession(served, id, restorer->fresh_));
  RETURN_IF_ERROR(restorer->Append(messages));
  return restorer;
}

Restorer::Restorer(Served& served, std::string id)
    : served_(served),
      id_(std::move(id)),
      store_(v1::StoreService::NewStub(served.NewConnection())) {}

absl::Status Restorer::Append(uint64_t count) {
  while (count > 0) {
    v1::WriteSnapshotRequest request;
    request.set_request_id(fresh_.Uuid());
    request.set_session_id(id_);
    const uint64_t now = std::min(count, kAppendedAtOnce);
    for (uint64_t left = now; left > 0; --left) {
      AddMessage(fresh_.Take(kShortMessage), *request.add_messages());
    }
    grpc::ClientContext context;
    v1::WriteSnapshotResponse response;
    const grpc::Status status = store_->WriteSnapshot(&context, request, &response);
    if (!status.ok()) return FailedCall("WriteSnapshot", status);
    revision_ = response.revision();
    messages_ += now;
    count -= now;
  }
  return absl::OkStatus();
}

void Restorer::TakeLast(v1::RestoreSessionRequest& request) {
  request.set_request_id(fresh_.Uuid());
  request.set_session_id(id_);
  request.mutable_point()->set_drop_last(1);
}

void Restorer::Start(grpc::CompletionQueue& queue, void* tag) {
  request_.Clear();
  TakeLast(request_);
  request_.set_expected_revision(revision_);
  AddMessage(fresh_.Take(kPayload), *request_.add_messages());
  call_.Start(queue, tag, [&](auto* context, auto* by) {
    return served_.sessions().AsyncRestoreSession(context, request_, by);
  });
}

absl::Status Restorer::End() {
  if (!call_.status().ok()) return FailedCall("RestoreSession", call_.status());
  revision_ = call_.response().revision();
  return absl::OkStatus();
}

absl::Status Restorer::Replace() {
  v1::RestoreSessionRequest request;
  TakeLast(request);
  request.set_expected_revision(revision_);
  AddMessage(fresh_.Take(kShortMessage), *request.add_messages());
  grpc::ClientContext context;
  v1::RestoreSessionResponse response;
  const grpc::Status status = served_.sessions().RestoreSession(&context, request, &response);
  if (!status.ok()) return FailedCall("RestoreSession", status);
  revision_ = response.revision();
  return absl::OkStatus();
}

absl::Status Restorer::TakeAndAdd() {
  v1::RestoreSessionRequest request;
  TakeLast(request);
  request.set_return_messages(1);
  grpc::ClientContext context;
  v1::RestoreSessionResponse response;
  const grpc::Status status = served_.sessions().RestoreSession(&context, request, &response);
  if (!status.ok()) return FailedCall("RestoreSession", status);
  if (response.removed_messages_size() != 1) {
    return absl::FailedPreconditionError("a restore does not return the message that it took");
  }
  --messages_;
  return Append(1);
}

absl::Status Restorer::Count() {
  ASSIGN_OR_RETURN(const v1::Session session, GetSession(served_, id_));
  const auto found = static_cast<uint64_t>(session.message_count());
  if (found == messages_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "session ", id_, " has ", found, " messages, and ", messages_, " were acknowledged"));
}

absl::StatusOr<std::vector<std::unique_ptr<Restorer>>> MakeRestorers(Served& served,
                                                                     const std::string& prefix,
                                                                     size_t count) {
  std::vector<std::unique_ptr<Restorer>> restorers;
  for (size_t number = 1; number <= count; ++number) {
    ASSIGN_OR_RETURN(restorers.emplace_back(),
                     Restorer::Make(served, absl::StrCat(prefix, "-", number), kMessagesAtFirst));
  }
  return restorers;
}

}  // namespace holdfast::bench
