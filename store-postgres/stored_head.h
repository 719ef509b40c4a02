// The head of a session as the database answers it: what every decision and every read begins with.
#ifndef HOLDFAST_STORE_POSTGRES_STORED_HEAD_H_
#define HOLDFAST_STORE_POSTGRES_STORED_HEAD_H_

#include "session/change.h"
#include "session/head.h"
#include "store-postgres/database.h"
#include "store-postgres/pg/rows.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::pg {

// The columns that a statement answers first: version, store_id, deleted, head, head_sum,
// lease_left.
inline constexpr size_t kStoredHeadColumns = 6;

struct StoredHead {
  int64_t version = 0;  // 0: no such session
  // Why there is nothing to work with: SESSION_NOT_FOUND, RESUME_MISMATCH, TOMBSTONED or
  // MANIFEST_DRIFT.
  absl::Status refusal;
  std::optional<FormerSession> former;  // of TOMBSTONED
  Head head;                            // with the lease as it was then; only if `refusal` is OK
  Digest sum{};                         // of the record of either
};

// The session in the first columns of `row`; of one that is not there when there is no such row.
StoredHead ReadStoredHead(const Rows& rows, size_t row, const Database& database);

// The stored reply of the change whose acts are in `column`, and in the next one the token of the
// last grant; nullopt for a null. The reply of a grant has its token unless its epoch has passed. A
// reply that cannot be read is DAMAGED.
absl::StatusOr<std::optional<RequestRow>> ReadRequest(const Rows& rows, size_t row, size_t column,
                                                      const Head& head);

// The head behind its bytes; nullopt when they are not what was written.
std::optional<Head> ReadHead(std::string_view bytes, std::string_view sum);

// The journal entry whose record is in `column`, and its slot's record and bytes in the next two;
// nullopt when it cannot be read.
std::optional<JournalEntry> ReadEntry(const Rows& rows, size_t row, size_t column);

// The slot behind its record and its bytes, which may be a null; nullopt when it cannot be read.
std::optional<Slot> ReadSlot(const Rows& rows, size_t row, size_t column);

// Since when stored replies count, as it is at `now`.
absl::Time RepliesSince(absl::Time now);

// Fills in the lease's state; `left` is absent when there is no lease.
void Evaluate(std::optional<absl::Duration> left, Head& head);

// The interval in `column`, or nullopt for a null.
std::optional<absl::Duration> LeaseLeft(const Rows& rows, size_t row, size_t column);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_STORED_HEAD_H_
