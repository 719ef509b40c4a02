// An agent that does nothing but commit turns, each with 8 KB of fresh bytes.
#ifndef HOLDFAST_BENCH_AGENT_H_
#define HOLDFAST_BENCH_AGENT_H_

#include "bench/closed_loop.h"
#include "bench/fresh_bytes.h"
#include "bench/served.h"
#include "bench/unary_call.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

// What one commit carries: so many messages and slots of so many bytes each.
struct CommitShape {
  size_t messages = 2;
  size_t message_bytes = 1024;
  // Replaced by each commit, as an agent's state is.
  std::vector<size_t> slots = {4096, 2048};

  [[nodiscard]] size_t Bytes() const;
};

// One session in a turn. Each call commits the turn and begins the next one in the same write.
class Agent final : public Slot {
 public:
  // Creates the session `id` and begins its first turn. `served` must outlive it.
  static absl::StatusOr<std::unique_ptr<Agent>> Make(Served& served, std::string id,
                                                     CommitShape shape);
  // See Make.
  Agent(Served& served, std::string id, CommitShape shape);

  void Start(grpc::CompletionQueue& queue, void* tag) override;
  absl::Status End() override;

  // Closes the session, with its turn ended before.
  absl::Status Close();
  // FAILED_PRECONDITION unless the session holds exactly what was acknowledged.
  absl::Status Count();

  // The session's, after the last commit.
  [[nodiscard]] uint64_t revision() const { return revision_; }
  [[nodiscard]] uint64_t commits() const { return commits_; }
  [[nodiscard]] uint64_t turn() const { return turn_; }
  [[nodiscard]] const std::string& token() const { return token_; }
  [[nodiscard]] const std::string& id() const { return id_; }

 private:
  absl::Status Create();
  absl::Status Begin();
  void Fill();

  Served& served_;
  const std::string id_;
  const CommitShape shape_;
  FreshBytes fresh_;
  std::string token_;
  uint64_t turn_ = 0;
  uint64_t revision_ = 0;
  uint64_t commits_ = 0;  // acknowledged
  v1::CommitTurnRequest request_;
  UnaryCall<v1::CommitTurnResponse> call_;
};

// A request for a session of which the bench keeps nothing else.
v1::CreateSessionRequest NewSession(const std::string& id, FreshBytes& fresh);

// `count` agents with the ids `<prefix>-1` and so on.
absl::StatusOr<std::vector<std::unique_ptr<Agent>>> MakeAgents(Served& served,
                                                               const std::string& prefix,
                                                               size_t count);

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_AGENT_H_
