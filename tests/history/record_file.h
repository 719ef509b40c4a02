// A history as a file of lines, one per event, that any number of clients, threads or processes,
// write at once.
//
// `>` is a call, written before it is sent; `<` its return; `=` what a fresh client read of a
// session at the end, and `#` a line of that session's log. A call without a return is unknown.
// Each line is one write at the end of the file, so what a killed client has sent is in it.
#ifndef HOLDFAST_TESTS_HISTORY_RECORD_FILE_H_
#define HOLDFAST_TESTS_HISTORY_RECORD_FILE_H_

#include "tests/history/history.h"

#include "absl/status/statusor.h"

#include <string>

namespace holdfast::history {

// Any thread may call. The file is made when it is not there, and never cut.
class Recorder final {
 public:
  explicit Recorder(const std::string& file);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  // False when a line could not be written whole: what follows would be no record.
  [[nodiscard]] bool ok() const { return file_ >= 0; }
  // `operation` is about to be sent; its answer counts for nothing.
  bool Sent(const Operation& operation);
  // It came back, or was given up.
  bool Returned(const Operation& operation);
  bool Ended(const Ending& ending);

 private:
  [[nodiscard]] bool Write(const std::string& line) const;

  int file_;
};

// INVALID_ARGUMENT names the line that is not one of these; the last one may be unfinished.
absl::StatusOr<History> ReadRecord(const std::string& file);

}  // namespace holdfast::history

#endif  // HOLDFAST_TESTS_HISTORY_RECORD_FILE_H_
