#include "bench/repeated_writes.h"

#include "bench/agent.h"
#include "platform/status_macros.h"

#include <utility>

namespace holdfast::bench {
namespace {

constexpr size_t kSlotBytes = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<RepeatedWrites>> RepeatedWrites::Make(Served& served,
                                                                     const std::string& prefix,
                                                                     size_t sessions) {
  auto writes = std::make_unique<RepeatedWrites>(served);
  for (size_t number = 1; number <= sessions; ++number) {
    RETURN_IF_ERROR(writes->Add(prefix + "-" + std::to_string(number)));
  }
  return writes;
}

absl::Status RepeatedWrites::Add(const std::string& id) {
  v1::CreateSessionResponse created;
  {
    grpc::ClientContext context;
    const grpc::Status status =
        served_.sessions().CreateSession(&context, NewSession(id, fresh_), &created);
    if (!status.ok()) return FailedCall("CreateSession", status);
  }
  v1::WriteSnapshotRequest request;
  request.set_request_id(fresh_.Uuid());
  request.set_session_id(id);
  request.set_lease_token(created.lease_token());
  v1::Slot& slot = *request.add_slots();
  slot.set_owner("extension");
  slot.set_version("1.0.0");
  slot.set_drift_policy(v1::DRIFT_POLICY_WARN);
  slot.set_data(fresh_.Take(kSlotBytes));
  grpc::ClientContext context;
  v1::WriteSnapshotResponse response;
  const grpc::Status status = store_->WriteSnapshot(&context, request, &response);
  if (!status.ok()) return FailedCall("WriteSnapshot", status);
  requests_.push_back(std::move(request));
  return absl::OkStatus();
}

void RepeatedWrites::Start(grpc::CompletionQueue& queue, void* tag) {
  const v1::WriteSnapshotRequest& request = requests_[next_++ % requests_.size()];
  call_.Start(queue, tag, [&](auto* context, auto* by) {
    return store_->AsyncWriteSnapshot(context, request, by);
  });
}

absl::Status RepeatedWrites::End() {
  if (!call_.status().ok()) return FailedCall("WriteSnapshot", call_.status());
  if (call_.response().repeated()) return absl::OkStatus();
  return absl::FailedPreconditionError("a repeated write was carried out a second time");
}

}  // namespace holdfast::bench
