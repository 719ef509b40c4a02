// Drives one recorded conversation into one session.
#ifndef HOLDFAST_CLI_REPLAY_DRIVER_H_
#define HOLDFAST_CLI_REPLAY_DRIVER_H_

#include "cli/clock.h"
#include "cli/replay/mutations.h"
#include "cli/replay/recording.h"
#include "cli/replay/tally.h"
#include "cli/replay/turns.h"
#include "holdfast/v1/session.pb.h"

#include "absl/time/time.h"
#include "grpcpp/support/status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {

// A conversation and the session it goes into.
struct ReplayTask {
  const Conversation* conversation;
  std::string session_id;
};

// What all sessions of a replay share. All that is given must live as long as the drivers.
struct DriverParts {
  const Mutations& mutations;
  const Clock& clock;
  Tally& tally;
  absl::Duration pace;  // between the turns of a session
  std::string run;
  std::function<void()> after_turn;
};

// For one thread.
class SessionDriver final {
 public:
  SessionDriver(const DriverParts& parts, ReplayTask task)
      : parts_(parts), task_(std::move(task)) {}

  // Creates the session, or takes up the one that an earlier run left, and commits every turn
  // behind the last committed message. OK when the whole conversation is committed; otherwise the
  // refusal that ended it. When the lease is lost it takes its own session over and goes on; that
  // ends after a few attempts without a commit in between.
  grpc::Status Run();

 private:
  grpc::Status Open();
  grpc::Status Create();
  grpc::Status TakeUp();
  grpc::Status Resume(bool forced);
  grpc::Status DriveTurns();
  grpc::Status DriveTurn(const TurnSpan& turn);
  grpc::Status Begin();
  grpc::Status AppendJournal(const RecordedMessage& message);
  grpc::Status Commit(const TurnSpan& span);
  void Release();

  void Adopt(const v1::Session& session);
  [[nodiscard]] CallNote Note(const std::string& call, const std::string& request_id) const;

  const DriverParts& parts_;
  ReplayTask task_;
  // What the last reply said.
  std::string token_;
  std::string store_id_;
  uint64_t revision_ = 0;
  size_t committed_ = 0;  // messages
  // The running turn.
  uint64_t turn_ = 0;
  uint64_t last_entry_ = 0;
  int take_overs_ = 0;  // since the last commit
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_REPLAY_DRIVER_H_
