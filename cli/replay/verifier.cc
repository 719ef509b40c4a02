#include "cli/replay/verifier.h"

#include "cli/errors.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace holdfast::cli {
namespace {

constexpr uint32_t kVerifiedPage = 1000;

class Comparison final {
 public:
  Comparison(const ReplayTask& task, std::vector<std::string>& differences)
      : task_(task), differences_(differences) {}

  [[nodiscard]] uint64_t seen() const { return seen_; }

  void Take(const v1::Message& message) {
    ++seen_;
    const std::vector<RecordedMessage>& recorded = task_.conversation->messages;
    if (seen_ > recorded.size()) return Differ(seen_, "is not in the recording");
    const RecordedMessage& wanted = recorded[seen_ - 1];
    if (static_cast<uint64_t>(message.seq()) != seen_) {
      Differ(seen_, absl::StrCat("has the number ", message.seq()));
    } else if (message.data() != wanted.text) {
      Differ(seen_, WhereDifferent(wanted.text, message.data()));
    } else if (message.role() != wanted.role) {
      Differ(seen_, "has the role " + message.role() + " instead of " + wanted.role);
    }
  }

  // Everything that has not been seen is missing.
  void End(const std::string& why) {
    while (seen_ < task_.conversation->messages.size()) Differ(++seen_, why);
  }

 private:
  void Differ(uint64_t number, const std::string& how) {
    differences_.push_back(absl::StrCat(task_.session_id, " message ", number, " ", how));
  }

  static std::string WhereDifferent(const std::string& wanted, const std::string& stored) {
    const size_t shorter = std::min(wanted.size(), stored.size());
    size_t at = 0;
    while (at < shorter && wanted[at] == stored[at]) ++at;
    return absl::StrCat("differs from byte ", at, " on (", wanted.size(), " bytes recorded, ",
                        stored.size(), " stored)");
  }

  const ReplayTask& task_;
  std::vector<std::string>& differences_;
  uint64_t seen_ = 0;
};

grpc::Status ReadPage(const Connection& connection, const Caller& caller,
                      const v1::ListMessagesRequest& request, v1::ListMessagesResponse& page) {
  const auto attempt = [&](grpc::ClientContext& context) {
    return connection.sessions().ListMessages(&context, request, &page);
  };
  return caller.Call(attempt).status;
}

// Whether the session itself, and not the way to it, is why it cannot be read.
bool IsSessionsFault(const Failure& failure) {
  return failure.code == grpc::StatusCode::NOT_FOUND || failure.code == grpc::StatusCode::DATA_LOSS;
}

}  // namespace

grpc::Status Verify(const Connection& connection, const Caller& caller, const ReplayTask& task,
                    std::vector<std::string>& differences) {
  Comparison comparison(task, differences);
  v1::ListMessagesRequest request;
  request.set_session_id(task.session_id);
  request.set_page_size(kVerifiedPage);
  v1::ListMessagesResponse page;
  do {
    grpc::Status status = ReadPage(connection, caller, request, page);
    if (!status.ok()) {
      const Failure failure = FailureOf(status);
      if (!IsSessionsFault(failure)) return status;
      if (task.conversation->messages.empty()) {
        differences.push_back(task.session_id + " cannot be read: " + failure.reason);
      }
      comparison.End("cannot be read: " + failure.reason);
      return grpc::Status::OK;
    }
    for (const v1::Message& message : page.messages()) comparison.Take(message);
    request.set_page_token(page.next_page_token());  // every page of the same history
  } while (!request.page_token().empty());
  comparison.End("is missing");
  return grpc::Status::OK;
}

}  // namespace holdfast::cli
