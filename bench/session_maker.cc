#include "bench/session_maker.h"

#include "bench/agent.h"
#include "platform/status_macros.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr size_t kAtATime = 64;
constexpr uint64_t kChunk = 1000;  // between two looks at the clock
constexpr uint32_t kPage = 1000;
constexpr auto kListingPatience = std::chrono::minutes(10);
constexpr auto kListingPause = std::chrono::milliseconds(20);

// Nothing while the listing is incomplete.
absl::StatusOr<std::optional<uint64_t>> TryToCount(Served& served) {
  uint64_t found = 0;
  v1::ListSessionsRequest request;
  request.set_page_size(kPage);
  do {
    grpc::ClientContext context;
    v1::ListSessionsResponse page;
    const grpc::Status status = served.sessions().ListSessions(&context, request, &page);
    if (!status.ok()) return FailedCall("ListSessions", status);
    if (!page.complete()) return std::nullopt;
    found += static_cast<uint64_t>(page.sessions_size());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return found;
}

}  // namespace

MakerSlot::MakerSlot(Served& served, uint64_t& next) : served_(served), next_(next) {}

void MakerSlot::Start(grpc::CompletionQueue& queue, void* tag) {
  request_ = NewSession("s-" + std::to_string(next_++), fresh_);
  call_.Start(queue, tag, [this](auto* context, auto* by) {
    return served_.sessions().AsyncCreateSession(context, request_, by);
  });
}

absl::Status MakerSlot::End() {
  return call_.status().ok() ? absl::OkStatus() : FailedCall("CreateSession", call_.status());
}

absl::StatusOr<uint64_t> MakeSessions(Served& served, uint64_t count,
                                      std::chrono::seconds patience) {
  uint64_t next = 1;
  std::vector<std::unique_ptr<MakerSlot>> slots;
  std::vector<Slot*> all;
  for (size_t at = 0; at < kAtATime; ++at) {
    all.push_back(slots.emplace_back(std::make_unique<MakerSlot>(served, next)).get());
  }
  const auto end = std::chrono::steady_clock::now() + patience;
  uint64_t made = 0;
  while (made < count && std::chrono::steady_clock::now() < end) {
    const uint64_t chunk = std::min(kChunk, count - made);
    RETURN_IF_ERROR(Drive(all, chunk).status());
    made += chunk;
  }
  return made;
}

absl::StatusOr<uint64_t> CountSessions(Served& served) {
  const auto end = std::chrono::steady_clock::now() + kListingPatience;
  while (std::chrono::steady_clock::now() < end) {
    ASSIGN_OR_RETURN(const std::optional<uint64_t> found, TryToCount(served));
    if (found) return *found;
    std::this_thread::sleep_for(kListingPause);
  }
  return absl::UnavailableError("the listing does not become complete");
}

}  // namespace holdfast::bench
