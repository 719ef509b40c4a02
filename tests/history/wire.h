// One client of the traffic at its servers: sends what an agent asks, and says what came back.
#ifndef HOLDFAST_TESTS_HISTORY_WIRE_H_
#define HOLDFAST_TESTS_HISTORY_WIRE_H_

#include "holdfast/v1/session_service.grpc.pb.h"
#include "tests/history/history.h"

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::history {

namespace pb = ::holdfast::v1;

// For one thread.
class Wire final {
 public:
  using Stub = pb::SessionService::Stub;

  // After which a call counts as unanswered.
  static constexpr absl::Duration kPatience = absl::Seconds(10);

  // Begins with the server that `first` names, modulo their number. Sessions are called
  // `<prefix>-<number>`.
  Wire(const std::vector<std::string>& addresses, std::string prefix, size_t first);

  // Gives the messages of a commit their digests. The bytes follow from the request id alone, so
  // that a repeat sends the same.
  static void Fill(Asked& asked);
  // Sends `asked` once. Goes to the next server behind a call that was not answered.
  Answered Send(const Asked& asked);
  // Goes on at the next server from now on.
  void Move() { server_ = (server_ + 1) % servers_.size(); }
  // Where the next call will be sent to, by its place in the list.
  [[nodiscard]] uint32_t server() const { return static_cast<uint32_t>(server_); }
  // What a fresh client reads of `session`; an error when that cannot be read.
  absl::StatusOr<Ending> ReadEnding(uint32_t session);

 private:
  using Call = absl::FunctionRef<grpc::Status(Stub&, grpc::ClientContext&)>;

  [[nodiscard]] std::string IdOf(uint32_t session) const;
  // What was granted under the epoch of `asked`; empty when that is 0.
  [[nodiscard]] std::string TokenOf(const Asked& asked) const;
  grpc::Status Ask(Call call);
  template <typename Request>
  Request Held(const Asked& asked) const;
  template <typename Reply>
  void Granted(const Asked& asked, const Reply& reply, Answered& answered);

  grpc::Status SendCreate(const Asked& asked, Answered& answered);
  grpc::Status SendResume(const Asked& asked, Answered& answered);
  grpc::Status SendBegin(const Asked& asked, Answered& answered);
  grpc::Status SendAppend(const Asked& asked, Answered& answered);
  grpc::Status SendCommit(const Asked& asked, Answered& answered);
  grpc::Status SendAbandon(const Asked& asked, Answered& answered);
  grpc::Status SendRelease(const Asked& asked, Answered& answered);
  grpc::Status SendClose(const Asked& asked, Answered& answered);
  grpc::Status SendRenew(const Asked& asked, Answered& answered);
  grpc::Status SendReadHead(const Asked& asked, Answered& answered);
  grpc::Status SendReadMessages(const Asked& asked, Answered& answered);
  grpc::Status SendReadSlot(const Asked& asked, Answered& answered);
  grpc::Status Dispatch(const Asked& asked, Answered& answered);
  absl::Status ReadLog(uint32_t session, std::vector<LogLine>& log);

  const std::string prefix_;
  std::vector<std::unique_ptr<Stub>> servers_;
  size_t server_;
  size_t failed_in_a_row_ = 0;
  std::map<std::pair<uint32_t, uint64_t>, std::string> tokens_;  // by session and epoch
  // How far this client has read each session: the last message and the digest up to it.
  std::map<uint32_t, std::pair<uint64_t, Digest>> read_;
};

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_WIRE_H_
