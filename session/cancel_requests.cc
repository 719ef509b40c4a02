#include "session/cancel_requests.h"

#include <algorithm>

namespace holdfast {
namespace {

bool Informs(const CancelRequest& cancel_request) {
  return cancel_request.scope == CancelScope::kStage || cancel_request.scope == CancelScope::kTool;
}

}  // namespace

const CancelRequest* SessionCancelRequest(const Head& head) {
  const auto found =
      std::ranges::find(head.cancel_requests, CancelScope::kSession, &CancelRequest::scope);
  return found == head.cancel_requests.end() ? nullptr : &*found;
}

const CancelRequest* EndingCancelRequest(const Head& head) {
  if (head.lifecycle == Lifecycle::kClosed) return nullptr;
  const auto found = std::ranges::find_if(
      head.cancel_requests,
      [](const CancelRequest& cancel_request) { return !Informs(cancel_request); });
  return found == head.cancel_requests.end() ? nullptr : &*found;
}

bool HasCancelRequest(const Head& head, const CancelRequest& cancel_request) {
  return std::ranges::any_of(head.cancel_requests, [&](const CancelRequest& there) {
    return there.SameAs(cancel_request);
  });
}

size_t CountInformingRequests(const Head& head) {
  return static_cast<size_t>(std::ranges::count_if(head.cancel_requests, Informs));
}

bool EndIsDue(const Head& head, absl::Duration requested_for, absl::Duration grace) {
  if (EndingCancelRequest(head) == nullptr) return false;
  return !head.turn || requested_for >= grace;
}

}  // namespace holdfast
