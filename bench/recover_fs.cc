// recover-fs: from a kill to serving with many sessions and with few, and the first touch of a
// session whose journal is as long as one gets, against reading as many bytes.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/rounds.h"
#include "bench/served.h"
#include "bench/session_maker.h"
#include "platform/status_macros.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <unistd.h>

namespace holdfast::bench {
namespace {

constexpr uint64_t kMany = 100'000;
constexpr uint64_t kSmokeMany = 2'000;
constexpr uint64_t kFew = 1'000;
constexpr uint64_t kSmokeFew = 200;
constexpr auto kPatience = std::chrono::minutes(15);
constexpr Goal kStart = AtMost(2);
constexpr Goal kTouch = AtMost(20);

// A journal is rotated at 4 MiB; this stays a little below.
constexpr size_t kFatCommits = 60;
constexpr size_t kFatMessage = 65'536;
constexpr uintmax_t kFatLeast = kFatCommits * kFatMessage;
constexpr size_t kReadBytes = size_t{4} * 1024 * 1024;
constexpr size_t kReadBlock = 65'536;

using SteadyClock = std::chrono::steady_clock;

double MillisecondsSince(SteadyClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
}

absl::Status Get(Served& served, const std::string& id) {
  v1::GetSessionRequest request;
  request.set_session_id(id);
  grpc::ClientContext context;
  v1::GetSessionResponse response;
  const grpc::Status status = served.sessions().GetSession(&context, request, &response);
  return status.ok() ? absl::OkStatus() : FailedCall("GetSession", status);
}

absl::StatusOr<double> ReadMilliseconds(const std::string& path) {
  static std::array<char, kReadBlock> block;
  const auto begin = SteadyClock::now();
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  size_t have = 0;
  for (ssize_t got = 1; fd >= 0 && got > 0; have += static_cast<size_t>(got)) {
    got = read(fd, block.data(), block.size());
    if (got < 0) break;
  }
  if (fd >= 0) close(fd);
  if (have != kReadBytes) return absl::UnavailableError("cannot read " + path);
  return MillisecondsSince(begin);
}

class RecoverFs {
 public:
  RecoverFs(const Plan& plan, Figures& figures)
      : plan_(plan),
        figures_(figures),
        many_(plan.holdfastd, plan.directory + "/many"),
        few_(plan.holdfastd, plan.directory + "/few"),
        plain_(plan.directory + "/plain") {}

  absl::Status Run() {
    RETURN_IF_ERROR(Fill());
    for (size_t round = 1; round <= plan_.rounds; ++round) RETURN_IF_ERROR(RunRound(round));
    RETURN_IF_ERROR(Count());
    Print();
    return absl::OkStatus();
  }

 private:
  absl::Status Fill() {
    std::filesystem::create_directories(plan_.directory);
    FreshBytes fresh;
    std::ofstream(plain_, std::ios::binary) << fresh.Take(kReadBytes);
    const uint64_t wanted = plan_.Many(kMany, kSmokeMany);
    RETURN_IF_ERROR(many_.Start());
    const auto begin = SteadyClock::now();
    ASSIGN_OR_RETURN(sessions_, MakeSessions(many_, wanted, kPatience));
    created_per_second_ = static_cast<double>(sessions_) * 1000 / MillisecondsSince(begin);
    if (sessions_ < wanted) {
      figures_.Remark("time ran out: " + std::to_string(sessions_) + " sessions instead of " +
                      std::to_string(wanted));
    }
    many_.End(SIGKILL);
    RETURN_IF_ERROR(few_.Start());
    ASSIGN_OR_RETURN(few_sessions_, MakeSessions(few_, plan_.Many(kFew, kSmokeFew), kPatience));
    ASSIGN_OR_RETURN(
        fat_, Agent::Make(few_, "fat", {.messages = 1, .message_bytes = kFatMessage, .slots = {}}));
    RETURN_IF_ERROR(Drive({fat_.get()}, kFatCommits).status());
    few_.End(SIGKILL);
    return absl::OkStatus();
  }

  absl::Status RunRound(size_t round) {
    if (round % 2 == 1) RETURN_IF_ERROR(StartOf(many_, round, "start-many", starts_many_));
    RETURN_IF_ERROR(few_.Start());
    figures_.Keep(round, "start-few", "ms", few_.start_seconds() * 1000, starts_few_);
    RETURN_IF_ERROR(Touch(round));
    few_.End(SIGKILL);
    if (round % 2 == 0) RETURN_IF_ERROR(StartOf(many_, round, "start-many", starts_many_));
    return absl::OkStatus();
  }

  absl::Status StartOf(Served& served, size_t round, std::string_view what,
                       std::vector<double>& values) {
    RETURN_IF_ERROR(served.Start());
    figures_.Keep(round, what, "ms", served.start_seconds() * 1000, values);
    served.End(SIGKILL);
    return absl::OkStatus();
  }

  // Alone: after the server has looked at its other sessions. Both sides find the file in memory.
  absl::Status Touch(size_t round) {
    RETURN_IF_ERROR(CountSessions(few_).status());
    RETURN_IF_ERROR(Get(few_, "s-1"));
    const std::string journal = few_.root() + "/t/default/fat/journal.log";
    std::error_code error;
    if (std::filesystem::file_size(journal, error) < kFatLeast || error) {
      return absl::FailedPreconditionError("the long journal was rotated away");
    }
    RETURN_IF_ERROR(ReadMilliseconds(plain_).status());
    const auto begin = SteadyClock::now();
    RETURN_IF_ERROR(Get(few_, "fat"));
    figures_.Keep(round, "touch", "ms", MillisecondsSince(begin), touches_);
    ASSIGN_OR_RETURN(const double read, ReadMilliseconds(plain_));
    figures_.Keep(round, "read", "ms", read, reads_);
    return absl::OkStatus();
  }

  absl::Status Count() {
    RETURN_IF_ERROR(many_.Start());
    const auto begin = SteadyClock::now();
    ASSIGN_OR_RETURN(const uint64_t many, CountSessions(many_));
    listed_ms_ = MillisecondsSince(begin);
    RETURN_IF_ERROR(few_.Start());
    ASSIGN_OR_RETURN(const uint64_t few, CountSessions(few_));
    if (many != sessions_ || few != few_sessions_ + 1) {
      return absl::FailedPreconditionError("sessions that were acknowledged are not listed");
    }
    return fat_->Count();
  }

  void Print() {
    figures_.Print("start-many-over-few", MedianRatio(starts_many_, starts_few_), kStart);
    figures_.Print("first-touch-over-read", MedianRatio(touches_, reads_), kTouch);
    figures_.Print("sessions-many", static_cast<double>(sessions_));
    figures_.Print("sessions-few", static_cast<double>(few_sessions_ + 1));
    figures_.Print("start-many-ms", Median(starts_many_));
    figures_.Print("start-few-ms", Median(starts_few_));
    figures_.Print("first-touch-ms", Median(touches_));
    figures_.Print("read-ms", Median(reads_));
    figures_.Print("listing-complete-ms", listed_ms_);
    figures_.Print("creates-per-second", created_per_second_);
  }

  const Plan& plan_;
  Figures& figures_;
  Served many_;
  Served few_;
  const std::string plain_;
  std::unique_ptr<Agent> fat_;
  uint64_t sessions_ = 0;
  uint64_t few_sessions_ = 0;
  double created_per_second_ = 0;
  double listed_ms_ = 0;
  std::vector<double> starts_many_;
  std::vector<double> starts_few_;
  std::vector<double> touches_;
  std::vector<double> reads_;
};

}  // namespace

absl::Status BenchRecoverFs(const Plan& plan, Figures& figures) {
  return RecoverFs(plan, figures).Run();
}

}  // namespace holdfast::bench
