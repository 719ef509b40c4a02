#include "cli/replay/call_log.h"

#include "nlohmann/json.hpp"

namespace holdfast::cli {

CallLog::CallLog(const std::string& file, const Clock& clock) : clock_(clock) {
  if (file.empty()) return;
  const absl::MutexLock lock(&mutex_);
  out_.open(file, std::ios::app);
  good_ = out_.is_open();
}

void CallLog::Sent(const CallNote& note) { Write("send", note, ""); }

void CallLog::Acknowledged(CallNote note, uint64_t revision) {
  note.revision = revision;
  Write("ack", note, "");
}

void CallLog::Failed(const CallNote& note, std::string_view reason) {
  Write("error", note, reason);
}

void CallLog::Write(std::string_view event, const CallNote& note, std::string_view reason) {
  nlohmann::ordered_json line = {
      {"t_ms", 0.0},       {"event", std::string(event)},   {"session", note.session},
      {"call", note.call}, {"request_id", note.request_id}, {"revision", note.revision}};
  if (!reason.empty()) line["reason"] = std::string(reason);
  const absl::MutexLock lock(&mutex_);
  if (!out_.is_open()) return;
  // Under the lock, so that the lines are in the order of their times.
  line["t_ms"] = absl::ToDoubleMilliseconds(clock_.Monotonic());
  out_ << line.dump() << '\n' << std::flush;
}

}  // namespace holdfast::cli
