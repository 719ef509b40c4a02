// What libraries would write to standard error by themselves, as lines of the log: gRPC, protobuf,
// and everything that uses C's `stderr` (libpq warns there of a password file that others may read,
// and of what a server says while a connection is made).
#ifndef HOLDFAST_SERVER_FOREIGN_LOG_H_
#define HOLDFAST_SERVER_FOREIGN_LOG_H_

#include "server/log.h"

namespace holdfast {

// In force while it lives; one at a time in a process. To be made before other threads run.
class ForeignLog final {
 public:
  // `log` must outlive this.
  explicit ForeignLog(Log& log);
  ForeignLog(const ForeignLog&) = delete;
  ForeignLog& operator=(const ForeignLog&) = delete;
  // From here on libraries write as they would by themselves.
  ~ForeignLog();
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_FOREIGN_LOG_H_
