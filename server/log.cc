#include "server/log.h"

#include "session/limits.h"

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

// What the longest character takes as JSON, an escape, in bytes for one of its own.
constexpr size_t kBytesPerByte = 6;
// Of a line, for the names of its fields and for numbers.
constexpr size_t kFrameBytes = 1 * kKiB;
constexpr std::string_view kCut = "...";

bool IsPlain(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

// Each call writes a line, so the common case costs a copy.
void AppendText(std::string_view text, std::string& out) {
  if (IsPlain(text)) {
    out.append(1, '"').append(text).append(1, '"');
    return;
  }
  // What a client sent need not be UTF-8; a log line always is.
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A text that would make the line too long is cut.
void AppendValue(std::string_view text, std::string& out) {
  const size_t used = out.size() + kFrameBytes;
  const size_t room = used < kLogLineBytes ? (kLogLineBytes - used) / kBytesPerByte : 0;
  if (text.size() <= room) return AppendText(text, out);
  AppendText(std::string(text.substr(0, room)).append(kCut), out);
}
void AppendValue(int64_t number, std::string& out) { out += std::to_string(number); }
// The shortest text that reads back as the number; null for a value that is no finite number.
void AppendValue(double number, std::string& out) {
  std::array<char, 32> text{};
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  out += std::isfinite(number) ? std::string_view(text.data(), end) : std::string_view("null");
}

// The whole seconds of `time`, which a thread's next line most often shares.
const std::string& SecondsOf(absl::Time time) {
  thread_local int64_t second = std::numeric_limits<int64_t>::min();
  thread_local std::string text;
  if (const int64_t now = absl::ToUnixSeconds(time); now != second) {
    second = now;
    text = absl::FormatTime("%Y-%m-%dT%H:%M:%S", time, absl::UTCTimeZone());
  }
  return text;
}

void AppendTime(absl::Time time, std::string& out) {
  const int64_t milliseconds = absl::ToUnixMillis(time) - absl::ToUnixSeconds(time) * 1000;
  out += SecondsOf(time);
  absl::StrAppendFormat(&out, ".%03dZ", milliseconds);
}

const char* NameOf(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "";
}

}  // namespace

std::string LogLine(absl::Time time, LogLevel level, std::string_view message,
                    std::initializer_list<LogField> fields) {
  std::string line = R"({"time":")";
  AppendTime(time, line);
  line.append(R"(","level":")").append(NameOf(level)).append(R"(","message":)");
  AppendValue(message, line);
  for (const LogField& field : fields) {
    line.append(",\"").append(field.name).append("\":");
    std::visit([&](const auto& value) { AppendValue(value, line); }, field.value);
  }
  return line + "}\n";
}

void Log::Info(std::string_view message, std::initializer_list<LogField> fields) {
  Write(LogLevel::kInfo, message, fields);
}

void Log::Warn(std::string_view message, std::initializer_list<LogField> fields) {
  Write(LogLevel::kWarning, message, fields);
}

void Log::Error(std::string_view message, std::initializer_list<LogField> fields) {
  Write(LogLevel::kError, message, fields);
}

void Log::Call(const CallRecord& call) {
  WriteCounts();
  if (!Wants(call)) return;
  if (!call.reason.empty() && !Admit(call.method, call.reason)) return;
  Info("call", {{"method", std::string(call.method)},
                {"session", std::string(call.session)},
                {"peer", std::string(call.peer)},
                {"reason", std::string(call.reason)},
                {"ms", call.milliseconds},
                {"trace_id", std::string(call.trace_id)},
                {"span_id", std::string(call.span_id)}});
}

void Log::Foreign(LogLevel level, std::string_view source, std::string_view text) {
  WriteCounts();
  if (!Wants(level)) return;
  if (level == LogLevel::kWarning && !Admit(source, "")) return;
  Write(level, text, {{"source", std::string(source)}});
}

void Log::Write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  if (Wants(level)) sink_(level, LogLine(clock_.Wall(), level, message, fields));
}

bool Log::Wants(const CallRecord& call) const {
  if (!Wants(LogLevel::kInfo)) return false;
  switch (settings_.calls) {
    case LogSettings::Calls::kAll:
      return true;
    case LogSettings::Calls::kRefused:
      return !call.reason.empty();
    case LogSettings::Calls::kNone:
      return false;
  }
  return true;
}

bool Log::Admit(std::string_view subject, std::string_view reason) {
  const int64_t second = Second();
  const absl::MutexLock lock(&mutex_);
  Window& window = windows_[Subject(subject, reason)];
  if (window.second != second && window.left_out == 0) window = {.second = second};
  if (window.second == second && window.written < kRefusedLinesPerSecond) {
    ++window.written;
    return true;
  }
  ++window.left_out;
  left_out_.fetch_add(1, std::memory_order_relaxed);
  left_out_in_ = second;
  return false;
}

void Log::WriteCounts(Counts which) {
  const int64_t second = Second();
  const int64_t left_out_in = left_out_in_;
  if (left_out_in < 0 || (which == Counts::kPast && left_out_in >= second)) return;
  std::vector<std::pair<Subject, int64_t>> counts;
  {
    const absl::MutexLock lock(&mutex_);
    left_out_in_ = -1;
    for (auto& [subject, window] : windows_) {
      if (window.left_out == 0) continue;
      counts.emplace_back(subject, window.left_out);
      window = {.second = second};
    }
  }
  for (const auto& [subject, count] : counts) {
    if (subject.second.empty()) {
      Warn("lines of a library were left out", {{"source", subject.first}, {"lines", count}});
    } else {
      Info("calls not logged",
           {{"method", subject.first}, {"reason", subject.second}, {"calls", count}});
    }
  }
}

}  // namespace holdfast
