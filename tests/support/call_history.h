// What a client's log (`holdfast replay --log`) says while it is being written: which calls were
// acknowledged, and which are in flight.
#ifndef HOLDFAST_TESTS_SUPPORT_CALL_HISTORY_H_
#define HOLDFAST_TESTS_SUPPORT_CALL_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace holdfast::testing {

struct LoggedCall {
  double t_ms = 0;
  std::string event;  // send, ack or error
  std::string session;
  std::string call;
  std::string request_id;
  uint64_t revision = 0;
};

// For one thread.
class CallHistory final {
 public:
  explicit CallHistory(std::string file) : file_(std::move(file)) {}

  // Reads the whole lines that have been added since.
  void Read();

  [[nodiscard]] size_t acknowledged() const { return acknowledged_; }
  // The calls that were sent and have not ended, as far as has been read: one a session at most,
  // because a session's calls follow each other.
  [[nodiscard]] std::vector<LoggedCall> InFlight() const;
  // How the call that `sent` began has ended; "" while it has not.
  [[nodiscard]] std::string EventAfter(const LoggedCall& sent) const;
  // The time of the first and the last acknowledgement behind the first `behind` of them, in
  // milliseconds.
  [[nodiscard]] double AcknowledgedPerSecond(size_t behind) const;

 private:
  void Take(const LoggedCall& line);

  std::string file_;
  std::streamoff read_ = 0;
  size_t acknowledged_ = 0;
  std::vector<double> ack_times_;
  std::map<std::string, std::vector<LoggedCall>> by_session_;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_CALL_HISTORY_H_
