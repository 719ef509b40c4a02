// How many slots a session has, as far as its bound asks for it: an estimate that is never too low,
// from change to change, and a count in the database when that is not enough.
#ifndef HOLDFAST_STORE_POSTGRES_SLOT_COUNTS_H_
#define HOLDFAST_STORE_POSTGRES_SLOT_COUNTS_H_

#include "platform/digest.h"
#include "platform/lru_cache.h"
#include "session/apply.h"
#include "session/head.h"
#include "session/heap_size.h"
#include "session/ids.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-postgres/database.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <optional>

namespace holdfast::pg {

// A session as a change of it is decided on.
struct SlotCountInput {
  const SessionKey& key;
  const Digest& sum;  // of the head's record
  const Head& head;
};

// What the bound of slots says of a change.
struct SlotVerdict {
  std::optional<Refusal> refusal;  // TOO_LARGE
  std::optional<size_t> at_most;   // slots after the change; absent: not known
};

// Sessions whose estimate is remembered; of others the slots are counted again when one is added.
inline constexpr LruBounds kEstimatesKept{.entries = 65'536, .bytes = 32 * kMiB};

// Bounded. Any thread may call.
class SlotCounts {
 public:
  // It outlives this.
  explicit SlotCounts(const Database& database) : database_(database) {}

  // An error when the database had to be asked and did not answer. One statement or two, and mostly
  // none.
  absl::StatusOr<SlotVerdict> Check(const SlotCountInput& input, const Applied& applied);
  // The same without a statement; nullopt when it takes one.
  std::optional<SlotVerdict> CheckKnown(const SlotCountInput& input, const Applied& applied);
  // The change was written, and left the session like this.
  void Note(const SlotCountInput& after, const SlotVerdict& verdict);

 private:
  struct Estimate {
    Digest sum{};
    size_t at_most = 0;
  };
  friend size_t HeapSize(const Estimate& /*estimate*/) { return 0; }

  // At least as many as there are; absent: not known.
  std::optional<size_t> Find(const SlotCountInput& input);
  absl::StatusOr<SlotVerdict> Count(const SlotCountInput& input, const Applied& applied);

  const Database& database_;
  LruCache<SessionKey, Estimate> estimates_{kEstimatesKept};
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_SLOT_COUNTS_H_
