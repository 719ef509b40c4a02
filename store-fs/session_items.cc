#include "store-fs/session_items.h"

#include "platform/status_macros.h"
#include "store-fs/run_block.h"

#include <utility>
#include <vector>

namespace holdfast::fs {
namespace {

// What is in memory was encoded here, or decoded when the head was read. Nothing of a deletion.
std::optional<ItemEntry> ItemInMemory(const IndexLayer::Entries::value_type& entry) {
  if (!entry.second) return std::nullopt;
  return DecodeItemEntry({.key = entry.first, .value = entry.second});
}

enum HasItems : uint8_t { kNoItems = 0, kItems = 1 };

}  // namespace

void SessionItems::NoteChanged(const std::string& key) {
  if (runs().empty() || newer().Find(key) != nullptr) return;
  unsettled_.insert(key);
}

void SessionItems::Put(const ItemEntry& entry) {
  IndexEntry encoded = EncodeItemEntry(entry);
  NoteChanged(encoded.key);
  space_.newer().Put(std::move(encoded));
}

void SessionItems::Delete(const ItemName& name) {
  std::string key = ItemKey(name);
  // It would hide nothing.
  if (runs().empty()) return space_.newer().Remove(key);
  NoteChanged(key);
  space_.newer().Put({.key = std::move(key), .value = std::nullopt});
}

void SessionItems::Add(const Extent& place) { bytes_.Add(place.file, place.size); }

void SessionItems::TakeOff(const Extent& place) {
  if (place.size > 0) bytes_.TakeOff(place.file, place.size);
}

void SessionItems::AddLiveBytes(std::map<uint64_t, uint64_t>& live) const {
  bytes_.AddTo(live);
  for (const auto& entry : newer().entries()) {
    const std::optional<ItemEntry> item = ItemInMemory(entry);
    if (!item) continue;
    for (const Extent& place : {item->data, item->facts_at}) {
      if (place.size > 0 && place.file > 0) live[place.file] += place.size;
    }
  }
}

uint64_t SessionItems::BytesInRuns(uint64_t file) const { return bytes_.In(file); }

void SessionItems::Move(absl::FunctionRef<std::optional<Extent>(const Extent& from)> place) {
  std::vector<IndexEntry> moved;
  for (const auto& entry : newer().entries()) {
    std::optional<ItemEntry> item = ItemInMemory(entry);
    if (!item) continue;
    bool has_moved = false;
    for (Extent* extent : {&item->data, &item->facts_at}) {
      const std::optional<Extent> to = extent->size > 0 ? place(*extent) : std::optional<Extent>();
      if (!to) continue;
      *extent = *to;
      has_moved = true;
    }
    if (has_moved) moved.push_back(EncodeItemEntry(*item));
  }
  for (IndexEntry& entry : moved) space_.newer().Put(std::move(entry));
}

void SessionItems::Seal(uint64_t file) {
  Move([&](const Extent& from) -> std::optional<Extent> {
    if (from.file > 0) return std::nullopt;
    Extent to = from;
    to.file = file;
    return to;
  });
}

void SessionItems::MoveLogs(const std::set<uint64_t>& sources, uint64_t file) {
  bytes_.Move(sources, file);
}

absl::Status SessionItems::Settle(const RunFiles& where) {
  RunLookup lookup(where, runs());
  for (const std::string& key : unsettled_) {
    const absl::StatusOr<std::optional<IndexEntry>> had = lookup.Find(key);
    if (!had.ok() && !IsUnreadable(had.status())) return had.status();
    if (!had.ok() || !*had) continue;
    const std::optional<ItemEntry> item = DecodeItemEntry(**had);
    if (!item) continue;
    TakeOff(item->data);
    TakeOff(item->facts_at);
  }
  unsettled_.clear();
  if (runs().empty()) DropDeletions();
  return absl::OkStatus();
}

void SessionItems::DropDeletions() {
  std::vector<std::string> deleted;
  for (const auto& [key, value] : newer().entries()) {
    if (!value) deleted.push_back(key);
  }
  for (const std::string& key : deleted) space_.newer().Remove(key);
}

absl::Status SessionItems::WriteRun(const RunFiles& where, uint64_t file) {
  ASSIGN_OR_RETURN(const std::optional<RunInfo> info, space_.WriteNewer(where, file));
  if (!info) return absl::OkStatus();
  for (const auto& entry : newer().entries()) {
    const std::optional<ItemEntry> item = ItemInMemory(entry);
    if (!item) continue;
    Add(item->data);
    Add(item->facts_at);
  }
  space_.AddRun(*info);
  space_.newer().Clear();
  return absl::OkStatus();
}

void SessionItems::Put(Encoder& out) const {
  const bool has_none = totals_ == ItemTotals() && runs().empty() && newer().entries().empty();
  out.Number(has_none ? kNoItems : kItems);
  if (has_none) return;
  out.Number(totals_.items).Number(totals_.bytes);
  bytes_.Put(out);
  space_.PutRuns(out);
  Encoder entries;
  for (const auto& [key, value] : newer().entries()) {
    PutEntry({.key = key, .value = value}, entries);
  }
  out.Text(entries.bytes());
}

SessionItems SessionItems::Read(Decoder& in) {
  SessionItems items;
  const uint64_t has = in.Number();
  if (has > kItems) in.Fail();
  if (has != kItems) return items;
  items.totals_.items = in.Number();
  items.totals_.bytes = in.Number();
  items.bytes_ = LogBytes::Read(in);
  items.space_.ReadRuns(in);
  BlockReader entries(in.Text());
  for (;;) {
    const absl::StatusOr<std::optional<BlockReader::Entry>> entry = entries.Next();
    const bool is_item =
        entry.ok() && (!*entry || !(*entry)->value || DecodeItemEntry((*entry)->Copy()));
    if (!is_item) in.Fail();
    if (!is_item || !*entry) return items;
    items.space_.newer().Put((*entry)->Copy());
  }
}

bool IsItemKept(const IndexEntry& entry, bool has_oldest_run) {
  return entry.value.has_value() || !has_oldest_run;
}

}  // namespace holdfast::fs
