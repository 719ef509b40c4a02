#include "tests/support/watch_client.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace holdfast::testing {
namespace {

// No test waits for ever.
constexpr absl::Duration kPatience = absl::Minutes(3);

}  // namespace

pb::WatchSessionRequest WatchFrom(const std::string& session, uint64_t after) {
  pb::WatchSessionRequest request;
  request.set_session_id(session);
  request.set_after_seq(after);
  return request;
}

pb::WatchSessionRequest WatchOn(const std::string& session, const std::string& cursor) {
  pb::WatchSessionRequest request;
  request.set_session_id(session);
  request.set_cursor(cursor);
  return request;
}

Watch::Watch(pb::SessionService::Stub& stub, const pb::WatchSessionRequest& request) {
  context_.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
  reader_ = stub.WatchSession(&context_, request);
}

Watch::~Watch() {
  if (ended_) return;
  Cancel();
  End();
}

std::optional<pb::WatchSessionResponse> Watch::Next() {
  pb::WatchSessionResponse message;
  if (!reader_->Read(&message)) return std::nullopt;
  cursor_ = message.cursor();
  return message;
}

std::vector<pb::Event> Watch::UntilProgress() {
  std::vector<pb::Event> events;
  for (auto message = Next(); message && message->has_event(); message = Next()) {
    events.push_back(message->event());
  }
  return events;
}

std::vector<pb::Event> Watch::Events(size_t count) {
  std::vector<pb::Event> events;
  while (events.size() < count) {
    const auto message = Next();
    if (!message) break;
    if (message->has_event()) events.push_back(message->event());
  }
  return events;
}

grpc::Status Watch::End() {
  while (Next()) {
  }
  ended_ = true;
  return reader_->Finish();
}

}  // namespace holdfast::testing
