#include "server/log.h"

#include "absl/time/time.h"
#include <nlohmann/json.hpp>

#include <unistd.h>
#include <utility>

namespace holdfast {

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
  nlohmann::ordered_json line;
  line["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", clock_.Wall(), absl::UTCTimeZone());
  line["level"] = Name(level);
  line["message"] = message;
  for (const LogField& field : fields) {
    std::visit([&](const auto& value) { line[std::string(field.name)] = value; }, field.value);
  }
  // What a client sent need not be UTF-8; a log line always is.
  sink_(line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

Log::Sink StandardError() {
  return [](const std::string& line) {
    // A log that cannot be written is no reason to fail a call.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  };
}

}  // namespace holdfast
