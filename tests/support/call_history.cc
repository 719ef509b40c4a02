#include "tests/support/call_history.h"

#include "nlohmann/json.hpp"

namespace holdfast::testing {

void CallHistory::Read() {
  std::ifstream in(file_, std::ios::binary);
  in.seekg(read_);
  for (std::string line; std::getline(in, line) && !in.eof();) {
    read_ += static_cast<std::streamoff>(line.size()) + 1;
    const auto object = nlohmann::json::parse(line);
    Take({.t_ms = object["t_ms"],
          .event = object["event"],
          .session = object["session"],
          .call = object["call"],
          .request_id = object["request_id"],
          .revision = object["revision"]});
  }
}

void CallHistory::Take(const LoggedCall& line) {
  by_session_[line.session].push_back(line);
  if (line.event != "ack") return;
  ++acknowledged_;
  ack_times_.push_back(line.t_ms);
}

std::vector<LoggedCall> CallHistory::InFlight() const {
  std::vector<LoggedCall> calls;
  for (const auto& [session, lines] : by_session_) {
    if (lines.back().event == "send") calls.push_back(lines.back());
  }
  return calls;
}

std::string CallHistory::EventAfter(const LoggedCall& sent) const {
  const std::vector<LoggedCall>& lines = by_session_.at(sent.session);
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    const bool found = lines[i].event == "send" && lines[i].t_ms == sent.t_ms;
    if (found) return lines[i + 1].event;
  }
  return "";
}

double CallHistory::AcknowledgedPerSecond(size_t behind) const {
  constexpr double kMsPerSecond = 1000;
  if (ack_times_.size() < behind + 2) return 0;
  const double ms = ack_times_.back() - ack_times_[behind];
  return static_cast<double>(ack_times_.size() - behind - 1) * kMsPerSecond / ms;
}

}  // namespace holdfast::testing
