#include "cli/replay/replay.h"

#include "cli/clock.h"
#include "cli/errors.h"
#include "cli/reasons.h"
#include "cli/replay/progress.h"
#include "cli/replay/verifier.h"
#include "cli/text.h"

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "nlohmann/json.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <unistd.h>
#include <utility>

namespace holdfast::cli {
namespace {

constexpr size_t kLongestSessionId = 128;
constexpr size_t kMostLinesShown = 20;

// What went wrong, in the words of all threads; the first lines are shown as they come.
class Troubles final {
 public:
  // `patience` is how long each call is repeated.
  Troubles(std::ostream& err, absl::Duration patience) : err_(err), patience_(patience) {}

  // Shows once that the server cannot be reached.
  void Repeats(const Failure& failure) {
    if (failure.reason != kUnreachableReason) return;
    const absl::MutexLock lock(&mutex_);
    if (std::exchange(repeats_, true)) return;
    err_ << "holdfast: " << Printable(Line(failure)) << "\nholdfast: calls are repeated for "
         << absl::FormatDuration(patience_) << '\n'
         << std::flush;
  }

  // Whether a call was repeated in vain: so would be those of every other session.
  bool Unreachable() {
    const absl::MutexLock lock(&mutex_);
    return unreachable_;
  }
  void LeaveOut() {
    const absl::MutexLock lock(&mutex_);
    ++left_out_;
  }

  void Failed(const ReplayTask& task, const grpc::Status& status) {
    const Failure failure = FailureOf(status);
    const absl::MutexLock lock(&mutex_);
    if (first_exit_ == kDone) first_exit_ = ExitCodeOf(failure);
    if (failure.reason == kUnreachableReason) unreachable_ = true;
    Show("failed: " + task.session_id + ": " + Line(failure));
  }

  void Differ(const std::vector<std::string>& differences) {
    const absl::MutexLock lock(&mutex_);
    for (const std::string& difference : differences) Show("difference: " + difference);
  }

  // How the first failure exits; kDone without one. Says what was not shown, and not done.
  ExitCode Finish() {
    const absl::MutexLock lock(&mutex_);
    if (left_out_ > 0) {
      err_ << "holdfast: sessions left out, for no server could be reached: " << left_out_ << '\n';
    }
    if (lines_ > kMostLinesShown) err_ << "and " << lines_ - kMostLinesShown << " more\n";
    return first_exit_;
  }

 private:
  void Show(const std::string& line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (lines_++ < kMostLinesShown) err_ << Printable(line) << '\n' << std::flush;
  }

  absl::Mutex mutex_;
  std::ostream& err_ ABSL_GUARDED_BY(mutex_);
  const absl::Duration patience_;
  bool repeats_ ABSL_GUARDED_BY(mutex_) = false;
  bool unreachable_ ABSL_GUARDED_BY(mutex_) = false;
  size_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t lines_ ABSL_GUARDED_BY(mutex_) = 0;
  ExitCode first_exit_ ABSL_GUARDED_BY(mutex_) = kDone;
};

uint64_t CountTurns(const std::vector<ReplayTask>& tasks) {
  uint64_t turns = 0;
  for (const ReplayTask& task : tasks) turns += SplitTurns(task.conversation->messages).size();
  return turns;
}

// What one run shares.
struct Run {
  const Invocation& invocation;
  const ReplayOptions& options;
  std::string name;
  const Connection& connection;
  const Caller& caller;
  Tally& tally;
  Troubles& troubles;
};

// Calls `work` for every task, in as many threads as the options say, until no server can be
// reached.
void ForEach(const Run& run, const std::vector<ReplayTask>& tasks,
             const std::function<void(const ReplayTask&)>& work) {
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> pool;
  const size_t wanted = std::min(tasks.size(), static_cast<size_t>(run.options.parallel));
  pool.reserve(wanted);
  for (size_t i = 0; i < wanted; ++i) {
    pool.emplace_back([&] {
      for (size_t at = next++; at < tasks.size(); at = next++) {
        if (run.troubles.Unreachable()) {
          run.troubles.LeaveOut();
        } else {
          work(tasks[at]);
        }
      }
    });
  }
}

void DriveAll(const Run& run, const std::vector<ReplayTask>& tasks, CallLog& log) {
  const Mutations mutations(
      {.connection = run.connection, .caller = run.caller, .log = log, .tally = run.tally});
  const Terminal terminal = run.invocation.quiet ? Terminal() : DescribeTerminal(STDERR_FILENO);
  Progress progress(run.invocation.err, MachineClock(), CountTurns(tasks), terminal);
  const DriverParts parts{.mutations = mutations,
                          .clock = MachineClock(),
                          .tally = run.tally,
                          .pace = run.options.pace,
                          .run = run.name,
                          .after_turn = [&] { progress.Advance(); }};
  ForEach(run, tasks, [&](const ReplayTask& task) {
    const grpc::Status status = SessionDriver(parts, task).Run();
    if (!status.ok()) run.troubles.Failed(task, status);
  });
  progress.Finish();
}

// Without driving, what is compared is what is counted.
void CountAsDone(const ReplayTask& task, Tally& tally) {
  ++tally.sessions;
  tally.turns += SplitTurns(task.conversation->messages).size();
  tally.messages += task.conversation->messages.size();
}

void VerifyAll(const Run& run, const std::vector<ReplayTask>& tasks) {
  ForEach(run, tasks, [&](const ReplayTask& task) {
    std::vector<std::string> differences;
    const grpc::Status status = Verify(run.connection, run.caller, task, differences);
    if (!status.ok()) return run.troubles.Failed(task, status);
    run.tally.differences += differences.size();
    run.troubles.Differ(differences);
    if (run.options.verify_only) CountAsDone(task, run.tally);
  });
}

void WriteSum(const Run& run, absl::Duration taken) {
  const Tally& tally = run.tally;
  if (run.invocation.json()) {
    const nlohmann::ordered_json sum = {{"run", run.name},
                                        {"sessions", tally.sessions.load()},
                                        {"turns", tally.turns.load()},
                                        {"messages", tally.messages.load()},
                                        {"differences", tally.differences.load()},
                                        {"reconnects", tally.reconnects.load()},
                                        {"seconds", absl::ToDoubleSeconds(taken)}};
    return WriteJson(run.invocation, sum);
  }
  if (run.invocation.quiet) return;
  run.invocation.out << absl::StreamFormat(
      "%d sessions, %d turns, %d messages, %d differences, %d reconnects, %.1f s\n",
      tally.sessions.load(), tally.turns.load(), tally.messages.load(), tally.differences.load(),
      tally.reconnects.load(), absl::ToDoubleSeconds(taken));
}

// To the millisecond: two runs that began in one second must not meet in one session.
std::string NameByTime(absl::Time now) {
  return absl::FormatTime("%Y%m%d-%H%M%E3S", now, absl::UTCTimeZone());
}

bool IsSessionIdChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
}

}  // namespace

std::vector<ReplayTask> TasksOf(const std::vector<Conversation>& conversations,
                                const std::string& run, int repeat) {
  std::vector<ReplayTask> tasks;
  for (int round = 1; round <= repeat; ++round) {
    const std::string suffix = round == 1 ? "" : absl::StrCat("-r", round);
    for (const Conversation& conversation : conversations) {
      tasks.push_back({.conversation = &conversation,
                       .session_id = absl::StrCat(conversation.id, "-", run, suffix)});
    }
  }
  return tasks;
}

bool AreSessionIds(const std::vector<ReplayTask>& tasks, std::string& wrong) {
  for (const ReplayTask& task : tasks) {
    const std::string& id = task.session_id;
    if (id.size() <= kLongestSessionId && std::ranges::all_of(id, IsSessionIdChar)) {
      continue;
    }
    wrong = id;
    return false;
  }
  return true;
}

ExitCode Replay(const Invocation& invocation, const ReplayOptions& options,
                const std::vector<Conversation>& conversations) {
  const std::string name = options.run.empty() ? NameByTime(MachineClock().Wall()) : options.run;
  const std::vector<ReplayTask> tasks = TasksOf(conversations, name, options.repeat);
  if (std::string wrong; !AreSessionIds(tasks, wrong)) {
    invocation.err << "holdfast: `" << Printable(wrong)
                   << "` cannot be a session id: at most 128 of A-Z a-z 0-9 . _ -\n";
    return kUsage;
  }
  CallLog log(options.log, MachineClock());
  if (!log.good()) {
    invocation.err << "holdfast: " << options.log << ": cannot be written\n";
    return kUsage;
  }
  if (!invocation.json() && !invocation.quiet) {
    invocation.out << "run " << name << '\n' << std::flush;
  }

  const Connection connection(invocation.address);
  Tally tally;
  Troubles troubles(invocation.err, options.patience);
  const auto show = [&troubles](const Failure& failure) { troubles.Repeats(failure); };
  const Caller caller({.patience = options.patience,
                       .on_first_repeat = invocation.quiet ? nullptr : RepeatNotice(show)},
                      MachineClock());
  const Run run{invocation, options, name, connection, caller, tally, troubles};
  const absl::Duration start = MachineClock().Monotonic();
  if (!options.verify_only) DriveAll(run, tasks, log);
  const bool verifies = options.verify || options.verify_only;
  if (verifies && !troubles.Unreachable()) VerifyAll(run, tasks);
  const ExitCode failed = troubles.Finish();
  WriteSum(run, MachineClock().Monotonic() - start);
  return tally.differences > 0 ? kDifference : failed;
}

}  // namespace holdfast::cli
