// What a session may hold at most. Every store checks the result of a change under the session's
// lock. A session that exceeds a bound already may shrink or stay as it is; only growth is refused.
#ifndef HOLDFAST_SESSION_BOUNDS_H_
#define HOLDFAST_SESSION_BOUNDS_H_

#include "session/apply.h"
#include "session/head.h"
#include "session/limits.h"
#include "session/refusal.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>

namespace holdfast {

// Cancel requests of one session: those that only inform, and one of each reason for the session
// and for its active turn.
inline constexpr size_t kCancelRequestsPerSession = kInformingCancelRequests + 6;

// Keys and values of the attributes together.
size_t AttributeBytes(const Head& head);

// TOO_LARGE when a change from `before` to `after` adds to the attributes beyond their bounds.
std::optional<Refusal> CheckAttributes(const Head& before, const Head& after);

// TOO_LARGE when a change from so many slots to so many adds to them beyond kSlotsPerSession.
std::optional<Refusal> CheckSlotCount(size_t before, size_t after);

// How many slots `applied` may add to those of a session whose head was `before`: at least as many
// as it does.
size_t SlotsAddedAtMost(const Head& before, const Applied& applied);

// Whose slots a session has, from change to change, the store's own left out. The caller says what
// is there before the first change, and names an owner at the latest before a change of its slot.
class SlotOwners {
 public:
  // Of a session with so many slots whose owners are not named.
  explicit SlotOwners(size_t unnamed = 0) : unnamed_(unnamed) {}

  // A slot that the session has beside those.
  void Add(const std::string& owner);
  // One of those that are not named is this owner's.
  void Name(const std::string& owner);
  // A slot update of the active turn that no snapshot holds yet.
  void AddPending(const std::string& owner);
  [[nodiscard]] size_t size() const { return owners_.size() + unnamed_; }
  // What `applied` leaves.
  void Take(const Applied& applied);

 private:
  size_t unnamed_;
  std::set<std::string, std::less<>> owners_;
  std::set<std::string, std::less<>> pending_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_BOUNDS_H_
