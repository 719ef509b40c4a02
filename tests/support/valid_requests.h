// Requests that act, as an honest agent would send them: what one that is refused begins with.
#ifndef HOLDFAST_TESTS_SUPPORT_VALID_REQUESTS_H_
#define HOLDFAST_TESTS_SUPPORT_VALID_REQUESTS_H_

#include "tests/support/wire_client.h"

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {

// Sessions of its own, and requests about them. For one thread.
class ValidRequests final {
 public:
  // The ids of its sessions begin with `prefix`.
  ValidRequests(const std::string& address, std::string prefix);

  // Goes on with new sessions: those before may have been closed, deleted or taken over.
  void TakeNewSessions();
  // A valid request of `method` under a request id of its own: each field has what its name asks
  // for. Of a streamed body it is the request that opens it.
  std::unique_ptr<google::protobuf::Message> Make(const google::protobuf::MethodDescriptor& method);
  // The requests of one call of `method` in which `request` opens a streamed body, or is the only
  // one of another call.
  static std::vector<std::string> Opened(const google::protobuf::MethodDescriptor& method,
                                         const std::string& request);
  // The requests of one call in which a streamed body is open when `request` comes.
  std::vector<std::string> Followed(const google::protobuf::MethodDescriptor& method,
                                    const std::string& request);

 private:
  // A session and what its holder knows.
  struct Session {
    std::string id;
    std::string token;
  };

  Session NewSession();
  // A cursor of the session, behind its first event.
  std::string CursorOf(const Session& session);
  void PutCheckpoint(const Session& session);
  void Fill(google::protobuf::Message& message, int depth);
  void FillText(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field);
  [[nodiscard]] std::string TextFor(const google::protobuf::FieldDescriptor& field);

  WireClient client_;
  const std::unique_ptr<WireClient::Stub> sessions_;  // for streams
  const std::string prefix_;
  int names_ = 0;
  Session in_turn_;                   // with a turn under way
  Session idle_;                      // without one
  const Session* session_ = nullptr;  // what the request that is being made is about
  std::string page_token_;
  std::string cursor_;  // of in_turn_
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_VALID_REQUESTS_H_
