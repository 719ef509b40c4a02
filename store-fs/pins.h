// The snapshots of a session that checkpoints pin, while the session is open. Its items have the
// same; a change and a rotation must not read them.
#ifndef HOLDFAST_STORE_FS_PINS_H_
#define HOLDFAST_STORE_FS_PINS_H_

#include "platform/encoding.h"
#include "session/checkpoint.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/item.h"

#include <cstdint>
#include <map>
#include <string_view>

namespace holdfast::fs {

// Revisions from the first to the last one: none where the first is behind the last.
struct RevisionSpan {
  Revision first;
  Revision last;
  auto operator<=>(const RevisionSpan&) const = default;
};

// Used by one thread at a time.
class Pins {
 public:
  // The item of a checkpoint was put. Any other item changes nothing.
  void Put(const ItemName& name, std::string_view data);
  // An item was deleted. True when a snapshot is pinned no more.
  bool Delete(const ItemName& name);

  [[nodiscard]] bool empty() const { return pins_.empty(); }
  // The pinned snapshot of this revision, or nullptr.
  [[nodiscard]] const PinnedSnapshot* Find(Revision revision) const;
  // Whether one of these revisions is pinned.
  [[nodiscard]] bool HaveAnyIn(const RevisionSpan& span) const;
  // Whether one of them shows what counts from `from` on and before `until`.
  [[nodiscard]] bool ShowAnyOf(Position from, Position until) const;
  // Of the snapshots that are kept, pinned or among the newest ones of `head`, those that show what
  // counts from `from` on and before `until`. A snapshot that is pinned later is one of them.
  [[nodiscard]] RevisionSpan Showing(Position from, Position until, const Head& head) const;
  // The last message of each generation that a pinned snapshot names.
  [[nodiscard]] const std::map<Generation, MessageSeq>& named() const { return named_; }

  void Put(Encoder& out) const;
  static Pins Read(Decoder& in);

 private:
  // One snapshot, pinned by checkpoints of one kind or of several.
  struct Pin {
    PinnedSnapshot snapshot;
    uint64_t kinds = 0;  // a bit for each
  };

  void NameAgain();

  std::map<Revision, Pin> pins_;
  std::map<Generation, MessageSeq> named_;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_PINS_H_
