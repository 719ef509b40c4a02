#include "server/log.h"

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <unistd.h>
#include <utility>

namespace holdfast {
namespace {

bool IsPlain(const std::string& text) {
  return std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

// Each call writes a line, so the common case costs a copy.
void AppendValue(const std::string& text, std::string& out) {
  if (IsPlain(text)) {
    out.append(1, '"').append(text).append(1, '"');
    return;
  }
  // What a client sent need not be UTF-8; a log line always is.
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
void AppendValue(int64_t number, std::string& out) { out += std::to_string(number); }
// The shortest text that reads back as the number; what is none stands as null.
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

}  // namespace

void Log::Info(std::string_view message, std::initializer_list<LogField> fields) {
  Write(Level::kInfo, message, fields);
}

void Log::Warn(std::string_view message, std::initializer_list<LogField> fields) {
  Write(Level::kWarning, message, fields);
}

void Log::Error(std::string_view message, std::initializer_list<LogField> fields) {
  Write(Level::kError, message, fields);
}

const char* Log::Name(Level level) {
  switch (level) {
    case Level::kInfo:
      return "info";
    case Level::kWarning:
      return "warning";
    case Level::kError:
      return "error";
  }
  return "";
}

void Log::Write(Level level, std::string_view message, std::initializer_list<LogField> fields) {
  std::string line = R"({"time":")";
  AppendTime(clock_.Wall(), line);
  line.append(R"(","level":")").append(Name(level)).append(R"(","message":)");
  AppendValue(std::string(message), line);
  for (const LogField& field : fields) {
    line.append(",\"").append(field.name).append("\":");
    std::visit([&](const auto& value) { AppendValue(value, line); }, field.value);
  }
  sink_(line + "}\n");
}

Log::Sink StandardError() {
  return [](const std::string& line) {
    // A log that cannot be written is no reason to fail a call.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  };
}

}  // namespace holdfast
