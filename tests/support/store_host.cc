#include "tests/support/store_host.h"

#include "tests/support/details.h"
#include "tests/support/requests.h"

#include "gtest/gtest.h"

namespace holdfast::testing {

using test::ReasonOf;

pb::Message MessageOf(const std::string& text) {
  pb::Message message;
  message.set_role("user");
  message.set_content_type("text/plain");
  message.set_data(text);
  return message;
}

bool StoreHost::Init() {
  grpc::ClientContext context;
  pb::CheckStoreResponse response;
  const grpc::Status status = store_->CheckStore(&context, {}, &response);
  EXPECT_TRUE(status.ok()) << ReasonOf(status);
  return response.reachable() && response.writable();
}

pb::ResumeSessionResponse StoreHost::Activate() {
  pb::ResumeSessionResponse response;
  const grpc::Status status = Activate(test::ForceRequest(id_), &response);
  EXPECT_TRUE(status.ok()) << ReasonOf(status);
  return response;
}

grpc::Status StoreHost::Activate(pb::ResumeSessionRequest request,
                                 pb::ResumeSessionResponse* response) {
  request.set_session_id(id_);
  if (!request.has_create_if_missing()) {
    *request.mutable_create_if_missing() = test::CreateRequest(id_);
  }
  request.mutable_create_if_missing()->clear_request_id();
  grpc::ClientContext context;
  grpc::Status status = sessions_->ResumeSession(&context, request, response);
  if (status.ok()) token_ = response->lease_token();
  return status;
}

void StoreHost::Deactivate() {
  grpc::ClientContext context;
  pb::ReleaseLeaseResponse response;
  const grpc::Status status =
      sessions_->ReleaseLease(&context, test::ReleaseRequest(id_, token_), &response);
  EXPECT_TRUE(status.ok()) << ReasonOf(status);
}

void StoreHost::Dispose() {
  if (token_.empty()) return;
  grpc::ClientContext context;
  pb::CloseSessionResponse response;
  const grpc::Status status =
      sessions_->CloseSession(&context, test::CloseRequest(id_, token_), &response);
  EXPECT_TRUE(status.ok()) << ReasonOf(status);
  token_.clear();
}

pb::WriteSnapshotRequest StoreHost::Request(const Texts& messages) const {
  pb::WriteSnapshotRequest request;
  request.set_request_id(test::NewRequestId());
  request.set_session_id(id_);
  request.set_lease_token(token_);
  for (const std::string& text : messages) *request.add_messages() = MessageOf(text);
  return request;
}

grpc::Status StoreHost::Write(const pb::WriteSnapshotRequest& request,
                              pb::WriteSnapshotResponse* response) {
  grpc::ClientContext context;
  return store_->WriteSnapshot(&context, request, response);
}

pb::WriteSnapshotResponse StoreHost::MustWrite(const pb::WriteSnapshotRequest& request) {
  pb::WriteSnapshotResponse response;
  const grpc::Status status = Write(request, &response);
  EXPECT_TRUE(status.ok()) << ReasonOf(status);
  return response;
}

Texts StoreHost::Read(uint64_t revision) {
  const grpc::Status status = ReadAt(revision);
  EXPECT_TRUE(status.ok()) << ReasonOf(status);
  Texts history;
  for (const pb::Message& message : messages_) history.push_back(message.data());
  return history;
}

grpc::Status StoreHost::ReadAt(uint64_t revision) {
  session_.Clear();
  slots_.clear();
  messages_.clear();
  grpc::ClientContext context;
  pb::ReadSnapshotRequest request;
  request.mutable_read()->set_session_id(id_);
  request.mutable_read()->set_revision(revision);
  const auto stream = store_->ReadSnapshot(&context, request);
  pb::ReadSnapshotResponse part;
  for (int at = 0; stream->Read(&part); ++at) {
    EXPECT_EQ(part.has_session(), at == 0);
    EXPECT_EQ(part.pieces().empty(), at == 0);
    if (part.has_session()) session_ = part.session();
    for (const pb::SessionPiece& piece : part.pieces()) Take(piece);
  }
  return stream->Finish();
}

void StoreHost::Take(const pb::SessionPiece& piece) {
  if (piece.has_slot() && piece.chunk_offset() == 0) slots_.push_back(piece.slot());
  if (!piece.has_message()) return;
  if (piece.chunk_offset() == 0) {
    messages_.push_back(piece.message());
  } else {
    *messages_.back().mutable_data() += piece.message().data();
  }
}

pb::Slot StoreHost::SlotOf(const std::string& owner) const {
  for (const pb::Slot& slot : slots_) {
    if (slot.owner() == owner) return slot;
  }
  return {};
}

Texts StoreHost::List() {
  grpc::ClientContext context;
  pb::ListSessionsRequest request;
  pb::ListSessionsResponse page;
  const grpc::Status status = sessions_->ListSessions(&context, request, &page);
  EXPECT_TRUE(status.ok()) << ReasonOf(status);
  Texts ids;
  for (const auto& row : page.sessions()) ids.push_back(row.session_id());
  return ids;
}

}  // namespace holdfast::testing
