// The server's log: one JSON object a line. No payload, no token and no secret goes into a field.
//
//   log.Info("store opened", {{"store", name}, {"store_id", id}});
#ifndef HOLDFAST_SERVER_LOG_H_
#define HOLDFAST_SERVER_LOG_H_

#include "platform/clock.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace holdfast {

struct LogField {
  std::string_view name;
  std::variant<std::string, int64_t, double> value;
};

enum class LogLevel : uint8_t { kInfo, kWarning, kError };

// One line, its newline included, of at most kLogLineBytes: longer texts are cut.
std::string LogLine(absl::Time time, LogLevel level, std::string_view message,
                    std::initializer_list<LogField> fields);

// What is logged of refused calls of one method for one reason, within a second. What is more is
// counted, and a line says how many.
inline constexpr int64_t kRefusedLinesPerSecond = 10;

// What is written at all.
struct LogSettings {
  enum class Calls : uint8_t { kAll, kRefused, kNone };

  LogLevel level = LogLevel::kInfo;  // lines below are left out
  Calls calls = Calls::kAll;         // which calls have a line, at LogLevel::kInfo
};

// What is logged of a finished call.
struct CallRecord {
  std::string_view method;
  std::string_view session;
  std::string_view peer;    // as server/net/peer.h names it
  std::string_view reason;  // empty: OK
  double milliseconds = 0;
  std::string_view trace_id;
  std::string_view span_id;  // of the call itself, not of its caller
};

// Any thread may call.
class Log {
 public:
  // Takes one whole line, its newline included. Any thread calls it.
  using Sink = std::function<void(LogLevel, const std::string&)>;

  Log(Sink sink, const Clock& clock, LogSettings settings = {})
      : sink_(std::move(sink)), clock_(clock), settings_(settings) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  // Writes the counts that are left.
  // NOLINTNEXTLINE(bugprone-exception-escape): a sink that throws here ends the process
  ~Log() { WriteCounts(Counts::kAll); }

  void Info(std::string_view message, std::initializer_list<LogField> fields);
  void Warn(std::string_view message, std::initializer_list<LogField> fields);
  void Error(std::string_view message, std::initializer_list<LogField> fields);

  // The line of a finished call, if the settings want it. Of refused ones, as many as
  // kRefusedLinesPerSecond allows.
  void Call(const CallRecord& call);
  // A line of a library. Warnings, which a client may cause, have the same bound for each source;
  // an error, which may be the last line of the process, has none.
  void Foreign(LogLevel level, std::string_view source, std::string_view text);
  // Writes how many lines were left out in seconds that are over. Later lines do the same.
  void WriteCounts() { WriteCounts(Counts::kPast); }
  // How many lines were left out so far.
  [[nodiscard]] uint64_t left_out() const { return left_out_.load(std::memory_order_relaxed); }

 private:
  enum class Counts : uint8_t { kPast, kAll };
  using Subject = std::pair<std::string, std::string>;  // method and reason; a source and nothing
  struct Window {
    int64_t second = 0;
    int64_t written = 0;
    int64_t left_out = 0;
  };

  [[nodiscard]] bool Wants(LogLevel level) const { return level >= settings_.level; }
  [[nodiscard]] bool Wants(const CallRecord& call) const;
  void Write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields);
  // False when `subject` has had its lines of this second: then this one is counted.
  bool Admit(std::string_view subject, std::string_view reason);
  void WriteCounts(Counts which);
  int64_t Second() const { return absl::ToInt64Seconds(clock_.SinceBoot()); }

  Sink sink_;
  const Clock& clock_;
  const LogSettings settings_;
  // The second in which something was last left out, or -1: what most lines look at.
  std::atomic<int64_t> left_out_in_ = -1;
  std::atomic<uint64_t> left_out_ = 0;
  absl::Mutex mutex_;
  // Methods, reasons and sources are closed lists.
  absl::btree_map<Subject, Window> windows_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_LOG_H_
