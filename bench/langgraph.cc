#include "bench/langgraph.h"

#include "platform/status_macros.h"

#include "absl/strings/str_cat.h"

#include <filesystem>
#include <sstream>

namespace holdfast::bench {
namespace {

constexpr char kNode[] = "/usr/bin/node";
constexpr char kDatabase[] = "langgraph";

}  // namespace

absl::StatusOr<std::unique_ptr<LangGraph>> LangGraph::Start(Postgres& database,
                                                            const std::string& peers,
                                                            const std::string& log) {
  RETURN_IF_ERROR(database.MakeDatabase(kDatabase));
  ASSIGN_OR_RETURN(
      auto node, ChildProcess::Start({kNode, peers + "/langgraph.mjs", database.directory()}, log));
  return std::make_unique<LangGraph>(database, std::move(node));
}

absl::StatusOr<Round> LangGraph::Put(size_t width, uint64_t count, size_t bytes) {
  puts_ += count;
  return Ask("put", width, count, bytes, 0);
}

absl::StatusOr<Round> LangGraph::PutWrites(size_t width, uint64_t count, size_t bytes) {
  writes_ += count;
  return Ask("writes", width, count, bytes, 0);
}

absl::StatusOr<Round> LangGraph::PutList(uint64_t messages, uint64_t count, size_t bytes) {
  puts_ += count;
  return Ask("list", 1, count, bytes, messages);
}

absl::StatusOr<Round> LangGraph::Ask(const std::string& what, size_t width, uint64_t count,
                                     size_t bytes, uint64_t messages) {
  ASSIGN_OR_RETURN(
      const std::string answer,
      node_->Ask(absl::StrCat(R"({"do":")", what, R"(","width":)", width, R"(,"count":)", count,
                              R"(,"bytes":)", bytes, R"(,"messages":)", messages, "}")));
  std::istringstream fields(answer);
  Round round{.count = count};
  if (fields >> round.seconds >> round.p50_ms >> round.p99_ms) return round;
  return absl::UnavailableError("LangGraph says: " + answer);
}

absl::Status LangGraph::Count() {
  ASSIGN_OR_RETURN(const int64_t puts,
                   database_.Number("SELECT count(*) FROM public.checkpoints", kDatabase));
  ASSIGN_OR_RETURN(const int64_t blobs,
                   database_.Number("SELECT count(*) FROM public.checkpoint_blobs", kDatabase));
  ASSIGN_OR_RETURN(const int64_t writes,
                   database_.Number("SELECT count(*) FROM public.checkpoint_writes", kDatabase));
  if (static_cast<uint64_t>(puts) == puts_ && static_cast<uint64_t>(blobs) == puts_ &&
      static_cast<uint64_t>(writes) == writes_) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat("LangGraph's tables hold ", puts, ", ", blobs,
                                                    " and ", writes, " rows after ", puts_,
                                                    " puts and ", writes_, " writes"));
}

}  // namespace holdfast::bench
