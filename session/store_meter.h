// What a store reports of its own work, for metrics and spans. A store does not call what has no
// meaning for it.
#ifndef HOLDFAST_SESSION_STORE_METER_H_
#define HOLDFAST_SESSION_STORE_METER_H_

#include "session/lifecycle.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// Changes that were written together.
struct WrittenGroup {
  size_t changes = 0;
  uint64_t bytes = 0;
};

// The connections of a store to its database.
struct ConnectionUse {
  size_t most = 0;
  size_t open = 0;
  size_t idle = 0;
  uint64_t opened = 0;    // ever
  uint64_t waits = 0;     // for a free one, ever
  uint64_t given_up = 0;  // of them, without success
  absl::Duration waited;  // by all of them together
  uint32_t timeline = 0;  // the newest that was seen; 0: none
};

// How many sessions there are, by Lifecycle.
using SessionCounts = std::array<size_t, kLifecycles>;

// How large a database is, and what is in it.
struct DatabaseContents {
  uint64_t bytes = 0;
  size_t servers = 0;  // that serve it
  size_t active = 0;   // sessions that are ACTIVE
};

// What statements find out about the database.
struct DatabaseUse {
  int32_t schema_step = 0;                   // the newest in the database
  int32_t schema_step_known = 0;             // the newest that this program knows
  std::optional<DatabaseContents> contents;  // nullopt: unknown to this schema
};

// A recorded span that a store works for.
struct RecordedSpan {
  std::string trace_id;  // 32 lower-case hexadecimal digits
  std::string span_id;   // 16, likewise
  std::string trace_state;
};

// A statement that a store sent to its database, with the answer.
struct StatementRun {
  std::string_view name;  // a literal
  absl::Duration took;
  std::string error;  // its SQLSTATE; "connection" when there was no answer; empty: it succeeded
};

// Work of a store of files beside the writes of changes.
enum class FileWork : uint8_t {
  kLogSwitch,   // the write-ahead log continues in its other file
  kRotation,    // the journal of a session is sealed, and a new one begins
  kCompaction,  // sealed journals of a session are written anew as one
};
inline constexpr size_t kFileWorks = 3;

// Ignores every report.
class StoreMeter {
 public:
  StoreMeter() = default;
  StoreMeter(const StoreMeter&) = delete;
  StoreMeter& operator=(const StoreMeter&) = delete;
  virtual ~StoreMeter() = default;

  // One sync or one statement has written `group`. Called by several threads at once.
  virtual void GroupWritten(const WrittenGroup& /*group*/) {}
  // An unfinished write was cut off the end of a file. Called by several threads at once.
  virtual void TailCut() {}
  // The work was done. Called by several threads at once.
  virtual void FileWorkDone(FileWork /*work*/) {}
  // How to read the connections: `read` is quick and causes no statement. Called once, before the
  // store is initialised; `read` may be called until the store is destroyed.
  virtual void OnConnections(const std::function<ConnectionUse()>& /*read*/) {}
  // How to measure the database, by two statements. Called once, likewise.
  virtual void OnDatabase(const std::function<absl::StatusOr<DatabaseUse>()>& /*measure*/) {}
  // How to count the sessions: `count` is quick and causes no statement. Called once, likewise.
  virtual void OnSessions(const std::function<SessionCounts()>& /*count*/) {}
  // The span that the calling thread works for; nullopt where nothing is recorded.
  [[nodiscard]] virtual std::optional<RecordedSpan> CurrentSpan() const { return std::nullopt; }
  // `run` was for the operations of `spans`: one, or the members of a group. Called by several
  // threads at once, and only where `spans` is not empty.
  virtual void StatementEnded(const StatementRun& /*run*/,
                              const std::vector<RecordedSpan>& /*spans*/) {}

  // The meter that ignores every report.
  static StoreMeter& None();
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_STORE_METER_H_
