// Everything the store holds of one session while it is open, except bytes, which stay on the disk.
#ifndef HOLDFAST_STORE_FS_SESSION_STATE_H_
#define HOLDFAST_STORE_FS_SESSION_STATE_H_

#include "session/change.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/model.h"
#include "store-fs/change_record.h"
#include "store-fs/numbered_log.h"
#include "store-fs/pins.h"
#include "store-fs/request_table.h"
#include "store-fs/segment.h"
#include "store-fs/session_items.h"
#include "store-fs/slot_version.h"
#include "store-fs/slot_versions.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fs {

// Journal numbers that belong to one turn without a gap.
struct EntryRun {
  TurnNumber turn;
  EntryNumber first;
  JournalNumber journal;  // of the first
  uint64_t count = 0;
};

// An earlier history, as far as a snapshot names its messages: its own, or those of a history that
// begins with them.
struct FormerHistory {
  Generation generation;
  NumberedLog messages;
};

// A log that nothing is written to any more.
struct SealedLog {
  uint64_t file = 0;   // log.<file> and index.<file>
  uint64_t bytes = 0;  // of log.<file>
};

struct SessionState {
  Head head;
  // Shared with a copy that a rotation makes, which would else cost as much as is kept.
  std::shared_ptr<RequestTable> requests = std::make_shared<RequestTable>();
  SlotVersions slots;
  SessionItems items;
  Pins pins;
  // Slot updates of the active turn, by owner, not yet part of anything.
  std::map<std::string, SlotVersion> pending;
  std::vector<EntryRun> runs;
  NumberedLog messages;  // of the head's generation
  NumberedLog events;
  NumberedLog audits;
  NumberedLog entries;
  NumberedLog request_log;
  std::vector<LinkedUpload> uploads;
  std::vector<FormerHistory> former;  // oldest first
  std::vector<SealedLog> sealed;      // in the order of what they hold, oldest first
  size_t changes = 0;                 // since the journal began

  // Applies one change of a frame whose payload is at `offset` of the journal.
  void Absorb(const StoredChange& change, std::string_view payload, uint64_t offset);

  // The messages of a generation that is kept; nullptr of any other.
  [[nodiscard]] const NumberedLog* MessagesOf(Generation generation) const;

  // The journal number of an entry that is still kept.
  [[nodiscard]] std::optional<JournalNumber> FindEntry(TurnNumber turn, EntryNumber number) const;

  // Drops what neither a kept snapshot nor a pinned one names.
  void Prune();
  // `head` with the snapshot of this revision; nothing where it is one of the newest, or not
  // pinned.
  [[nodiscard]] std::optional<Head> HeadWithPin(std::optional<Revision> revision) const;

  // Every log of items that is kept.
  [[nodiscard]] std::vector<NumberedLog*> Logs();
  [[nodiscard]] std::vector<const NumberedLog*> Logs() const;
  // How many bytes of each sealed log are of what is kept.
  [[nodiscard]] std::map<uint64_t, uint64_t> LiveBytes() const;
  // Drops the sealed logs of which nothing is kept.
  void ForgetEmptyLogs();
};

// The state as head.<g> holds it: no bytes, nothing of the journal.
std::string EncodeSessionState(const SessionState& state);
std::optional<SessionState> DecodeSessionState(std::string_view bytes);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_SESSION_STATE_H_
