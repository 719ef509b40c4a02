#include "server/log.h"

#include "absl/time/time.h"
#include <nlohmann/json.hpp>

#include <algorithm>
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
void AppendValue(double number, std::string& out) { out += nlohmann::json(number).dump(); }

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
  line += absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", clock_.Wall(), absl::UTCTimeZone());
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
