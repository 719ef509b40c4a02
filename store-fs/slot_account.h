// What the slot versions in runs keep: bytes of sealed logs, and uploads. It is counted, so that
// no run is read for it.
#ifndef HOLDFAST_STORE_FS_SLOT_ACCOUNT_H_
#define HOLDFAST_STORE_FS_SLOT_ACCOUNT_H_

#include "platform/encoding.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/model.h"
#include "store-fs/log_bytes.h"
#include "store-fs/pins.h"
#include "store-fs/slot_version.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace holdfast::fs {

// Used by one thread at a time.
class SlotAccount {
 public:
  // A version that a run has.
  void Add(const SlotVersion& version);
  // One of those has ended at `until`: it is kept as long as a snapshot of `head`, or one to come,
  // shows it, or a pinned one.
  void End(const SlotEntry& entry, Position until, const Head& head, const Pins& pins);
  // Drops the versions that no position from `oldest` on shows, and no pinned snapshot.
  void Prune(Position oldest, const Pins& pins);
  // The same of those that are kept for pinned snapshots alone, where one is pinned no more.
  void Unpin(const Pins& pins);
  // The records in these sealed logs are in log.<file> now.
  void Move(const std::set<uint64_t>& sources, uint64_t file);

  [[nodiscard]] bool Names(const UploadId& upload) const { return uploads_.contains(upload); }
  // Adds the bytes of slot records to those of each sealed log.
  void AddLiveBytes(std::map<uint64_t, uint64_t>& live) const { bytes_.AddTo(live); }
  // Bytes of slot records in one of them.
  [[nodiscard]] uint64_t BytesIn(uint64_t file) const { return bytes_.In(file); }

  void Put(Encoder& out) const;
  // Fails `in` for counts that contradict each other.
  static SlotAccount Read(Decoder& in);

 private:
  struct Share {
    uint64_t versions = 0;
    uint64_t bytes = 0;
  };
  // Where versions have their bytes.
  struct Place {
    uint64_t file = 0;               // the sealed log that has their records
    std::optional<UploadId> upload;  // that has their bytes
    auto operator<=>(const Place&) const = default;
  };
  // What keeps versions that have ended.
  struct Ending {
    Position at;         // the position which is the oldest one kept when they go
    RevisionSpan shown;  // by snapshots that may be pinned
    Place place;
    auto operator<=>(const Ending&) const = default;
  };
  using Endings = std::map<Ending, Share>;

  // Takes the versions of an ending off.
  bool Drop(const Place& place, const Share& share);
  void KeepForPins(Ending ending, const Share& share);
  static void PutEndings(const Endings& endings, Encoder& out);
  static Endings ReadEndings(Decoder& in);

  LogBytes bytes_;                        // of slot records
  std::map<UploadId, uint64_t> uploads_;  // how many versions name each
  // Which part of both ends when. There are no more points of time than snapshots are kept, and one
  // to come.
  Endings endings_;
  // What of both is kept for pinned snapshots alone; `at` is zero.
  Endings pinned_;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_SLOT_ACCOUNT_H_
