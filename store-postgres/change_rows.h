// The rows that a decided change writes, as the columns of the schema.
#ifndef HOLDFAST_STORE_POSTGRES_CHANGE_ROWS_H_
#define HOLDFAST_STORE_POSTGRES_CHANGE_ROWS_H_

#include "platform/digest.h"
#include "session/apply.h"
#include "session/change.h"
#include "session/ids.h"
#include "session/model.h"
#include "store-postgres/pg/params.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::pg {

// The columns of the row of the head that a change leaves which are not part of the head itself.
struct HeadRow {
  HeadRow() = default;
  HeadRow(const Change& change, const Applied& applied);

  std::string record;
  Digest sum{};
  bool raises = false;      // the epoch
  bool renews = false;      // the lease runs for its whole TTL from now on
  bool cancelling = false;  // a cancel request asks for an end
  bool sweep = false;       // sweeps must read it
};

// A decided change, and what it was decided on. For the length of a call: owns nothing.
struct DecidedChange {
  const Change* change = nullptr;
  const Applied* applied = nullptr;
  const HeadRow* row = nullptr;     // of the head that it leaves
  int64_t version = 0;              // of the row before; 0: there was none
  Digest was{};                     // the checksum of its record
  bool needs_free = false;          // it would have been refused under another's live lease
  JournalNumber turn_began_behind;  // of the turn that was active
};

// How many bytes it writes.
size_t BytesOf(const DecidedChange& change);

inline int64_t Signed(uint64_t value) { return static_cast<int64_t>(value); }
template <typename Tag>
int64_t Signed(const Number<Tag>& number) {
  return Signed(number.value());
}

// What an item counts in a page: its own bytes, and none that lie in an upload.
int64_t SizeOf(const Message& message);
int64_t SizeOf(const JournalEntry& entry);
int64_t SizeOf(const Event& event);
int64_t SizeOf(const AuditRecord& record);

// The turn whose slot updates become slot versions; 0 for none. A turn without new entries has
// none.
int64_t AppliedTurn(const Applied& applied);
// The number of the journal behind which they are: each entry of a turn has one of its own.
int64_t AppliedBehind(const DecidedChange& decided);

// The final value of each owner's slot: the change's own, deletions, then updates between turns. A
// null is a deletion.
std::map<std::string_view, const Slot*> SlotsOf(const Applied& applied);

// What a function calls the parameters of a group of slots.
struct SlotParameters {
  const char* owners;
  const char* sizes;
  const char* records;
  const char* data;
};

// A group of slots, as holdfast.slot keeps them. Views into what was added.
class SlotColumns {
 public:
  void Add(std::string_view owner, const Slot* slot);
  // A place without a slot.
  void AddNone();
  void PutInto(const SlotParameters& names, Params& params) const;

 private:
  std::vector<std::optional<std::string_view>> owners_;
  std::vector<std::optional<int64_t>> sizes_;
  std::vector<std::optional<std::string>> records_;  // without the bytes
  std::vector<std::optional<std::string_view>> data_;
};

std::vector<std::string_view> Views(const std::vector<std::string>& texts);

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_CHANGE_ROWS_H_
