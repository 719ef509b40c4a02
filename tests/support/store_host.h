// A host that runs its own lifecycle over StoreService: init, activate, write, read, list,
// deactivate, dispose. Its sessions come from SessionService.
#ifndef HOLDFAST_TESTS_SUPPORT_STORE_HOST_H_
#define HOLDFAST_TESTS_SUPPORT_STORE_HOST_H_

#include "holdfast/v1/session_service.grpc.pb.h"
#include "holdfast/v1/store_service.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::testing {

namespace pb = ::holdfast::v1;

using Texts = std::vector<std::string>;

// A user's message of plain text.
pb::Message MessageOf(const std::string& text);

// One launch of the host's runtime for one session: it keeps the history, and the store keeps its
// snapshots. For one thread; the stubs must outlive it.
class StoreHost {
 public:
  StoreHost(pb::SessionService::Stub& sessions, pb::StoreService::Stub& store, std::string id)
      : sessions_(&sessions), store_(&store), id_(std::move(id)) {}

  // What init asks: is the store there, and does it take writes.
  bool Init();
  // Takes the session up, or begins it; says what the recovery found.
  pb::ResumeSessionResponse Activate();
  // The same as `request`, for this session.
  grpc::Status Activate(pb::ResumeSessionRequest request, pb::ResumeSessionResponse* response);
  void Deactivate();
  // The session ends; more than once is harmless.
  void Dispose();

  // A write of this history, with a request id of its own.
  [[nodiscard]] pb::WriteSnapshotRequest Request(const Texts& messages) const;
  grpc::Status Write(const pb::WriteSnapshotRequest& request, pb::WriteSnapshotResponse* response);
  // Writes that must succeed.
  pb::WriteSnapshotResponse MustWrite(const pb::WriteSnapshotRequest& request);
  pb::WriteSnapshotResponse WriteAll(const Texts& history) { return MustWrite(Request(history)); }

  // The history as the stream shows it, at a revision; 0 is now. Keeps manifest and slots too.
  Texts Read(uint64_t revision = 0);
  // A read that may be refused.
  grpc::Status TryRead() { return ReadAt(0); }
  // The ids that a listing shows.
  Texts List();

  // Of the last read.
  [[nodiscard]] const pb::Session& session() const { return session_; }
  [[nodiscard]] const pb::Manifest& manifest() const { return session_.manifest(); }
  [[nodiscard]] const std::vector<pb::Slot>& slots() const { return slots_; }
  // The slot of `owner`; one without a version if there is none.
  [[nodiscard]] pb::Slot SlotOf(const std::string& owner) const;
  [[nodiscard]] const std::vector<pb::Message>& messages() const { return messages_; }
  [[nodiscard]] const std::string& token() const { return token_; }

 private:
  grpc::Status ReadAt(uint64_t revision);
  void Take(const pb::SessionPiece& piece);

  pb::SessionService::Stub* sessions_;
  pb::StoreService::Stub* store_;
  std::string id_;
  std::string token_;
  pb::Session session_;
  std::vector<pb::Slot> slots_;
  std::vector<pb::Message> messages_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_STORE_HOST_H_
