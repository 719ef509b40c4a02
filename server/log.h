// The server's log: one JSON object a line. No payload, no token and no secret goes into a field.
//
//   log.Info("store opened", {{"store", name}, {"store_id", id}});
#ifndef HOLDFAST_SERVER_LOG_H_
#define HOLDFAST_SERVER_LOG_H_

#include "session/clock.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace holdfast {

struct LogField {
  std::string_view name;
  std::variant<std::string, int64_t, double> value;
};

// Any thread may call.
class Log {
 public:
  // Takes one whole line, its newline included. Any thread calls it.
  using Sink = std::function<void(const std::string&)>;

  Log(Sink sink, const Clock& clock) : sink_(std::move(sink)), clock_(clock) {}

  void Info(std::string_view message, std::initializer_list<LogField> fields);
  void Warn(std::string_view message, std::initializer_list<LogField> fields);
  void Error(std::string_view message, std::initializer_list<LogField> fields);

 private:
  enum class Level : uint8_t { kInfo, kWarning, kError };
  void Write(Level level, std::string_view message, std::initializer_list<LogField> fields);
  static const char* Name(Level level);

  Sink sink_;
  const Clock& clock_;
};

// Writes each line to standard error in one call, so that lines of threads do not mix.
Log::Sink StandardError();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_LOG_H_
