#include "store-fs/pins.h"

#include "session/history_spans.h"
#include "session/limits.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>

namespace holdfast::fs {
namespace {

constexpr size_t kPinsMost = kCheckpointsPerSession + (kCheckpointKinds - 1) * kOwnCheckpointsKept;

uint64_t BitOf(CheckpointKind kind) { return uint64_t{1} << static_cast<uint64_t>(kind); }

}  // namespace

void Pins::Put(const ItemName& name, std::string_view data) {
  const std::optional<CheckpointKind> kind = CheckpointKindOf(name);
  const std::optional<PinnedSnapshot> pinned = DecodePinned(name, data);
  if (!kind || !pinned) return;
  Pin& pin = pins_[pinned->record.at.revision];
  pin.kinds |= BitOf(*kind);
  pin.snapshot = *pinned;
  NamePinned(pin.snapshot, named_);
}

bool Pins::Delete(const ItemName& name) {
  const std::optional<CheckpointKind> kind = CheckpointKindOf(name);
  if (!kind) return false;
  const auto found = pins_.find(CheckpointRevisionOf(name));
  if (found == pins_.end()) return false;
  found->second.kinds &= ~BitOf(*kind);
  if (found->second.kinds != 0) return false;
  pins_.erase(found);
  NameAgain();
  return true;
}

void Pins::NameAgain() {
  named_.clear();
  for (const auto& [revision, pin] : pins_) NamePinned(pin.snapshot, named_);
}

const PinnedSnapshot* Pins::Find(Revision revision) const {
  const auto found = pins_.find(revision);
  return found == pins_.end() ? nullptr : &found->second.snapshot;
}

bool Pins::HaveAnyIn(const RevisionSpan& span) const {
  const auto first = pins_.lower_bound(span.first);
  return first != pins_.end() && first->first <= span.last;
}

bool Pins::ShowAnyOf(Position from, Position until) const {
  // A read at a revision sees all that counts from within it.
  return from.revision < until.revision &&
         HaveAnyIn({.first = from.revision, .last = Revision(until.revision.value() - 1)});
}

RevisionSpan Pins::Showing(Position from, Position until, const Head& head) const {
  RevisionSpan span{.first = Revision(std::numeric_limits<uint64_t>::max()), .last = Revision()};
  const auto take = [&](Revision kept) {
    if (kept >= from.revision) span.first = std::min(span.first, kept);
    if (kept < until.revision) span.last = std::max(span.last, kept);
  };
  for (const SnapshotRecord& record : head.snapshots) take(record.at.revision);
  const auto first = pins_.lower_bound(from.revision);
  if (first != pins_.end()) take(first->first);
  const auto behind = pins_.lower_bound(until.revision);
  if (behind != pins_.begin()) take(std::prev(behind)->first);
  return span;
}

void Pins::Put(Encoder& out) const {
  out.Number(pins_.size());
  for (const auto& [revision, pin] : pins_) {
    out.Number(revision.value()).Number(pin.kinds);
    PutPinned(pin.snapshot, out);
  }
}

Pins Pins::Read(Decoder& in) {
  Pins pins;
  const size_t count = in.Count();
  if (count > kPinsMost) in.Fail();
  for (size_t left = in.ok() ? count : 0; left > 0; --left) {
    const Revision revision(in.Number());
    Pin& pin = pins.pins_[revision];
    pin.kinds = in.Number();
    if (pin.kinds == 0) in.Fail();
    pin.snapshot = ReadPinned(revision, in);
  }
  pins.NameAgain();
  return pins;
}

}  // namespace holdfast::fs
