// One watch as a client has it.
//
//   Watch watch(stub, WatchFrom("one", 3));
//   watch.UntilProgress();              // events 4 and on
//   Watch later(stub, WatchOn("one", watch.cursor()));
#ifndef HOLDFAST_TESTS_SUPPORT_WATCH_CLIENT_H_
#define HOLDFAST_TESTS_SUPPORT_WATCH_CLIENT_H_

#include "holdfast/v1/session_service.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::testing {

namespace pb = ::holdfast::v1;

// Behind event `after`.
pb::WatchSessionRequest WatchFrom(const std::string& session, uint64_t after);
// From a cursor.
pb::WatchSessionRequest WatchOn(const std::string& session, const std::string& cursor);

// For one thread, but Cancel. Cancelled when it goes away.
class Watch final {
 public:
  Watch(pb::SessionService::Stub& stub, const pb::WatchSessionRequest& request);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  // The next message; nullopt when the stream has ended.
  std::optional<pb::WatchSessionResponse> Next();
  // The events up to the next progress message, or to the stream's end.
  std::vector<pb::Event> UntilProgress();
  // As many further events as named, or fewer when the stream ends before.
  std::vector<pb::Event> Events(size_t count);
  // Reads what is left; how the stream ended.
  grpc::Status End();
  void Cancel() { context_.TryCancel(); }
  // Of the last message that was read; empty before the first.
  [[nodiscard]] const std::string& cursor() const { return cursor_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<pb::WatchSessionResponse>> reader_;
  std::string cursor_;
  bool ended_ = false;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_WATCH_CLIENT_H_
