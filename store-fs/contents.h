// Everything the store knows of one session while it is open, except bytes, which stay on the disk.
#ifndef HOLDFAST_STORE_FS_CONTENTS_H_
#define HOLDFAST_STORE_FS_CONTENTS_H_

#include "session/change.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/model.h"
#include "store-fs/change_record.h"
#include "store-fs/numbered_log.h"
#include "store-fs/request_table.h"
#include "store-fs/segment.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fs {

// One version of a slot. Its bytes are a slot record at `where`, or inside the journal entry
// `entry`.
struct SlotVersion {
  Slot meta;  // without data
  uint64_t size = 0;
  Position from;
  std::optional<Position> until;
  Extent where;
  JournalNumber entry;  // 0: at `where`

  [[nodiscard]] bool VisibleAt(Position position) const {
    return from <= position && (!until || position < *until);
  }
};

// Journal numbers that belong to one turn without a gap.
struct EntryRun {
  TurnNumber turn;
  EntryNumber first;
  JournalNumber journal;  // of the first
  uint64_t count = 0;
};

// A history that was replaced, as long as a snapshot names it.
struct FormerHistory {
  Generation generation;
  NumberedLog messages;
};

struct Contents {
  Head head;
  // Shared with a copy that a rotation makes, which would else cost as much as is kept.
  std::shared_ptr<RequestTable> requests = std::make_shared<RequestTable>();
  // The rows before this number stand in segments of a former version: without their ids beside
  // them, and with times of the clock for people.
  uint64_t requests_keyed_from = 1;
  std::vector<SlotVersion> slots;
  std::vector<SlotVersion> pending;  // slot updates of the active turn, not yet part of anything
  std::vector<EntryRun> runs;
  NumberedLog messages;  // of the head's generation
  NumberedLog events;
  NumberedLog audits;
  NumberedLog entries;
  NumberedLog request_log;
  std::vector<LinkedUpload> uploads;
  std::vector<FormerHistory> former;  // oldest first
  size_t changes = 0;                 // since the journal began

  // Takes in one change of a frame whose payload stands at `offset` of the journal.
  void Absorb(const StoredChange& change, std::string_view payload, uint64_t offset);

  // The messages of a generation that is kept; nullptr of any other.
  [[nodiscard]] const NumberedLog* MessagesOf(Generation generation) const;

  // The journal number of an entry that is still kept.
  [[nodiscard]] std::optional<JournalNumber> FindEntry(TurnNumber turn, EntryNumber number) const;

  // Drops what no kept snapshot names.
  void Prune();

 private:
  [[nodiscard]] bool IsNamed(Generation generation) const;
  [[nodiscard]] bool IsNamed(const LinkedUpload& upload) const;
};

// The contents as head.<g> holds them: no bytes, nothing of the journal.
std::string EncodeContents(const Contents& contents);
std::optional<Contents> DecodeContents(std::string_view bytes);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_CONTENTS_H_
