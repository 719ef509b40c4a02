// The opponent that keeps conversations for agents: LangGraph's PostgresSaver, in a Node.js of its
// own, over the same PostgreSQL (peers/langgraph.mjs).
#ifndef HOLDFAST_BENCH_LANGGRAPH_H_
#define HOLDFAST_BENCH_LANGGRAPH_H_

#include "bench/child_process.h"
#include "bench/closed_loop.h"
#include "bench/postgres.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::bench {

// Used by one thread.
class LangGraph {
 public:
  // Starts it over a database of its own; `peers` is the directory where it is installed, and
  // `log` takes its errors. `database` outlives it.
  static absl::StatusOr<std::unique_ptr<LangGraph>> Start(Postgres& database,
                                                          const std::string& peers,
                                                          const std::string& log);
  LangGraph(Postgres& database, std::unique_ptr<ChildProcess> node)
      : database_(database), node_(std::move(node)) {}

  // So many `put`s of a checkpoint with one channel of fresh bytes, `width` at a time.
  absl::StatusOr<Round> Put(size_t width, uint64_t count, size_t bytes);
  // So many `putWrites` of one write, `width` at a time.
  absl::StatusOr<Round> PutWrites(size_t width, uint64_t count, size_t bytes);
  // So many `put`s of one conversation of `messages` messages, which grows by two each time.
  absl::StatusOr<Round> PutList(uint64_t messages, uint64_t count, size_t bytes);

  // FAILED_PRECONDITION unless its tables hold exactly what was acknowledged.
  absl::Status Count();

  [[nodiscard]] const ChildProcess& process() const { return *node_; }

 private:
  absl::StatusOr<Round> Ask(const std::string& what, size_t width, uint64_t count, size_t bytes,
                            uint64_t messages);

  Postgres& database_;
  const std::unique_ptr<ChildProcess> node_;
  uint64_t puts_ = 0;
  uint64_t writes_ = 0;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_LANGGRAPH_H_
