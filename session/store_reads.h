// What reads of a store ask for and answer, but those of items (session/item_query.h).
#ifndef HOLDFAST_SESSION_STORE_READS_H_
#define HOLDFAST_SESSION_STORE_READS_H_

#include "session/ids.h"
#include "session/lifecycle.h"
#include "session/model.h"

#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// What bounds one page.
struct PageLimit {
  uint32_t items = 0;  // at least 1
  size_t bytes = 0;    // a first item larger than this is a page of its own
};

// Each page names the session that it was read of: the id may have had another one before.
struct MessagePage {
  SessionUid uid;
  std::vector<Message> messages;
  Position at;        // the page is of this position
  MessageSeq newest;  // of the history at that position
  Generation generation;
  bool end = false;  // reaches the newest
};

struct SlotQuery {
  std::optional<Revision> revision;  // absent: the current position
  std::vector<std::string> owners;   // empty: all
  // Of data, of all slots together; 0: only owner, version and size of each.
  size_t most_bytes = std::numeric_limits<size_t>::max();
};

struct SlotView {
  Slot slot;
  uint64_t size = 0;
  bool damaged = false;        // its bytes cannot be read; `slot.data` is empty
  bool data_left_out = false;  // they had no room in `most_bytes`; the same
};

struct SlotPage {
  SessionUid uid;
  std::vector<SlotView> slots;  // by owner, the store's own included
  Position at;
};

struct JournalQuery {
  JournalNumber after;
  std::optional<TurnNumber> turn;
};

struct JournalPage {
  SessionUid uid;
  std::vector<JournalEntry> entries;
  Position at;
  bool end = false;
};

struct EventPage {
  SessionUid uid;
  std::vector<Event> events;
  Revision revision;
  bool end = false;
};

struct AuditPage {
  SessionUid uid;
  std::vector<AuditRecord> records;
  bool end = false;
};

// One row of a listing.
struct SessionRow {
  enum class Condition : uint8_t { kOk, kForeign, kDamaged };
  SessionId id;
  Condition condition = Condition::kOk;
  Lifecycle lifecycle = Lifecycle::kIdle;
  Revision revision;
  SessionKind kind = SessionKind::kLeased;
  std::string group;
  std::string project_root;
  std::string title;
  MessageSeq messages;
  bool cancelling = false;  // a cancel request asks for the end of it or of its turn
  absl::Time created_at;
  absl::Time updated_at;
  std::string foreign_store;
  SessionUid uid;  // of a row that is kOk
  EventSeq last_event;
  ItemVersion items_version;
  // What the query asks for, where there is such an attribute or slot.
  std::map<std::string, std::string> attributes = {};
  std::vector<SlotView> slots = {};  // by owner
};

// What the attributes and the slots of a row take of a page.
inline size_t RowBytes(const SessionRow& row) {
  size_t bytes = 0;
  for (const auto& [name, value] : row.attributes) bytes += name.size() + value.size();
  for (const SlotView& view : row.slots) {
    bytes += view.slot.owner.size() + view.slot.version.size();
    if (!view.damaged && !view.data_left_out) bytes += view.size;
  }
  return bytes;
}

// The position of a listing: behind this creation time and id. In a listing of the groups that
// begin with a prefix, behind this group first.
struct ListKey {
  absl::Time created_at;
  std::string id;
  std::string group = {};
};

struct ListQuery {
  TenantId tenant;
  std::string project_root;           // empty: any
  std::vector<Lifecycle> lifecycles;  // empty: any
  std::vector<SessionKind> kinds;     // empty: any
  std::string group;                  // empty: any, and none
  bool group_is_prefix = false;       // ... or each that begins with `group`
  bool descending = false;
  std::optional<ListKey> after;
  uint32_t limit = 0;
  // What rows bring: the attributes of these names, and the slots of these owners, of which there
  // are kSlotsPerRow at most. Both ascending, each once.
  std::vector<std::string> attributes = {};
  std::vector<std::string> owners = {};
  size_t most_bytes = std::numeric_limits<size_t>::max();  // of them, by RowBytes, in one page
};

struct ListPage {
  std::vector<SessionRow>
      rows;  // by creation time, then id; damaged and foreign ones count as oldest
  bool end = false;
  bool complete = true;  // false while the store still scans its sessions
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_STORE_READS_H_
