// What of the reference store survives the end of a process. Handing the disk to a new store is
// opening it again.
#ifndef HOLDFAST_TESTS_SUPPORT_REFERENCE_DISK_H_
#define HOLDFAST_TESTS_SUPPORT_REFERENCE_DISK_H_

#include "session/change.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/item.h"
#include "session/item_writes.h"
#include "session/model.h"
#include "session/retention.h"

#include "absl/time/time.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

// What an owner's slot was from a revision on; nullopt: deleted.
struct SlotVersion {
  Revision from;
  std::optional<Slot> slot;
};

// One session, from its first record to its last: nothing is ever pruned.
struct StoredSession {
  Head head;  // whose `store` is the stamp; lease state and expiry are not kept
  bool damaged = false;
  bool tombstone = false;
  std::map<RequestId, RequestRow> requests;
  std::vector<Message> messages;  // of the head's generation
  std::map<Generation, std::vector<Message>> former;
  std::map<std::string, std::vector<SlotVersion>> slots;
  std::vector<JournalEntry> entries;
  std::vector<Event> events;
  std::vector<AuditRecord> audit;
  std::map<UploadId, std::string> uploads;  // taken over
  std::map<ItemName, Item> items;

  // The whole history of a generation that there was.
  [[nodiscard]] const std::vector<Message>& MessagesOf(Generation generation) const {
    const auto found = former.find(generation);
    return found == former.end() ? messages : found->second;
  }
};

// An upload that no commit has linked yet.
struct StagedUpload {
  SessionKey key;
  std::string bytes;
  absl::Duration touched;  // since boot
};

// Used by one store at a time, under its mutex; a test may touch it while no store is open.
struct ReferenceDisk {
  StoreId store;
  Incarnation incarnation = Incarnation(1);
  std::map<SessionKey, StoredSession> sessions;
  std::map<UploadId, StagedUpload> staged;
  Retention retention;        // of the store over it
  ItemBounds item_bounds;     // the same
  bool writable = true;       // false: Init refuses
  bool fails_writes = false;  // true: the next write is lost, and the store takes no more
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_REFERENCE_DISK_H_
