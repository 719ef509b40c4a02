#include "store-fs/slot_versions.h"

#include "platform/status_macros.h"
#include "store-fs/slot_lookup.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace holdfast::fs {
namespace {

SlotEntry DecodedInMemory(const IndexLayer::Entries::value_type& entry) {
  std::optional<SlotEntry> slot = DecodeSlotEntry({.key = entry.first, .value = entry.second});
  // What is in memory was encoded here, or decoded when the head was read.
  return slot ? *std::move(slot) : SlotEntry();
}

}  // namespace

std::optional<SlotEntry> SlotVersions::NewestOf(const std::string& owner) const {
  const auto* found = space_.newer().FindAtOrBelow(LastSlotKey(owner), SlotKeyPart(owner));
  if (found == nullptr) return std::nullopt;
  return DecodedInMemory(*found);
}

void SlotVersions::CountUpload(const SlotEntry& entry, bool is_there) {
  if (!entry.version || !entry.version->meta.staged) return;
  const UploadId& upload = entry.version->meta.staged->upload;
  uint64_t& versions = uploads_[upload];
  is_there ? ++versions : --versions;
  if (versions == 0) uploads_.erase(upload);
}

void SlotVersions::Insert(const SlotEntry& entry) {
  IndexEntry encoded = EncodeSlotEntry(entry);
  Erase(encoded.key);
  space_.newer().Put(std::move(encoded));
  CountUpload(entry, true);
}

void SlotVersions::Erase(const std::string& key) {
  const auto found = space_.newer().entries().find(key);
  if (found == space_.newer().entries().end()) return;
  CountUpload(DecodedInMemory(*found), false);
  space_.newer().Remove(key);
}

void SlotVersions::NoteChanged(const std::string& owner, bool had, bool has) {
  if (owner == kStoreSlotOwner || had == has) return;
  if (has) {
    ++count_;
  } else if (count_ > 0) {
    --count_;
  }
}

void SlotVersions::Put(SlotVersion version, Position at) {
  SlotEntry entry{.owner = version.meta.owner, .from = at, .version = std::move(version)};
  const std::optional<SlotEntry> before = NewestOf(entry.owner);
  if (!before && !space_.runs().empty()) unsettled_.insert(entry.owner);
  if (before && before->from != at) {
    ended_.push_back({.at = at, .key = SlotKey(entry.owner, before->from)});
  }
  Insert(entry);
  NoteChanged(entry.owner, before && before->version, true);
}

void SlotVersions::Delete(const std::string& owner, Position at) {
  const std::optional<SlotEntry> before = NewestOf(owner);
  const bool has = before ? before->version.has_value() : !space_.runs().empty();
  if (!has) return;
  if (!before) unsettled_.insert(owner);
  if (before && before->from != at) {
    ended_.push_back({.at = at, .key = SlotKey(owner, before->from)});
  }
  const SlotEntry entry{.owner = owner, .from = at, .version = std::nullopt};
  Insert(entry);
  ended_.push_back({.at = at, .key = SlotKey(owner, at)});
  NoteChanged(owner, before && before->version, false);
}

void SlotVersions::Prune(Position oldest, const Pins& pins) {
  for (; !ended_.empty() && ended_.front().at <= oldest; ended_.pop_front()) {
    const Ended& ended = ended_.front();
    const auto found = space_.newer().entries().find(ended.key);
    if (found == space_.newer().entries().end()) continue;
    const SlotEntry entry = DecodedInMemory(*found);
    const bool has_ended = entry.from < ended.at;
    // A deletion hides what runs and pinned snapshots have of the owner, and is needed as long as
    // there are any.
    const bool is_deletion = !entry.version && !has_ended;
    if (is_deletion ? !pins.empty() : pins.ShowAnyOf(entry.from, ended.at)) {
      pinned_.push_back(ended);
    } else if (has_ended || space_.runs().empty()) {
      Erase(ended.key);
    }
  }
  account_.Prune(oldest, pins);
}

void SlotVersions::Unpin(Position oldest, const Pins& pins) {
  ended_.insert(ended_.begin(), pinned_.begin(), pinned_.end());
  pinned_.clear();
  Prune(oldest, pins);
  account_.Unpin(pins);
}

absl::StatusOr<bool> SlotVersions::HasInRuns(const RunFiles& where,
                                             const std::string& owner) const {
  const auto known = in_runs_->find(owner);
  if (known != in_runs_->end()) return known->second;
  const auto found = FindSlot(where, {.newer = {}, .runs = space_.runs()}, LastSlotKey(owner));
  if (!found.ok() && !IsUnreadable(found.status())) return found.status();
  const bool has = !found.ok() || (*found && (*found)->version);
  in_runs_->emplace(owner, has);
  return has;
}

absl::StatusOr<size_t> SlotVersions::Count(const RunFiles& where) const {
  size_t count = count_;
  for (const std::string& owner : unsettled_) {
    if (owner == kStoreSlotOwner || count == 0) continue;
    ASSIGN_OR_RETURN(const bool has, HasInRuns(where, owner));
    if (has) --count;
  }
  return count;
}

absl::StatusOr<bool> SlotVersions::Has(const RunFiles& where, const std::string& owner) const {
  const std::optional<SlotEntry> newest = NewestOf(owner);
  if (newest) return newest->version.has_value();
  if (space_.runs().empty()) return false;
  return HasInRuns(where, owner);
}

bool SlotVersions::Names(const UploadId& upload) const {
  return uploads_.contains(upload) || account_.Names(upload);
}

void SlotVersions::AddLiveBytes(std::map<uint64_t, uint64_t>& live) const {
  account_.AddLiveBytes(live);
  for (const auto& entry : space_.newer().entries()) {
    const SlotEntry slot = DecodedInMemory(entry);
    if (slot.version && slot.version->where.file > 0) {
      live[slot.version->where.file] += slot.version->where.size;
    }
  }
}

IndexView SlotVersions::ViewOf(const std::vector<std::string>& owners) const {
  IndexView view{.newer = {}, .runs = space_.runs()};
  if (owners.empty()) view.newer = space_.newer().EntriesIn(KeyRange());
  for (const std::string& owner : owners) {
    auto found = space_.newer().EntriesIn({.from = SlotKeyPart(owner), .to = LastSlotKey(owner)});
    std::ranges::move(found, std::back_inserter(view.newer));
  }
  if (owners.size() > 1) std::ranges::sort(view.newer, {}, &IndexEntry::key);
  return view;
}

void SlotVersions::Move(absl::FunctionRef<std::optional<Extent>(const Extent& from)> place) {
  std::vector<SlotEntry> moved;
  for (const auto& entry : space_.newer().entries()) {
    SlotEntry slot = DecodedInMemory(entry);
    const std::optional<Extent> to =
        slot.version ? place(slot.version->where) : std::optional<Extent>();
    if (!to) continue;
    slot.version->where = *to;
    moved.push_back(std::move(slot));
  }
  for (const SlotEntry& slot : moved) space_.newer().Put(EncodeSlotEntry(slot));
}

void SlotVersions::Seal(uint64_t file) {
  Move([&](const Extent& from) -> std::optional<Extent> {
    if (from.file > 0) return std::nullopt;
    Extent to = from;
    to.file = file;
    return to;
  });
}

void SlotVersions::VisitNewer(
    absl::FunctionRef<void(const SlotEntry& entry, std::optional<Position> until)> visit) const {
  for (auto at = space_.newer().entries().begin(); at != space_.newer().entries().end(); ++at) {
    const SlotEntry entry = DecodedInMemory(*at);
    const auto next = std::next(at);
    std::optional<Position> until;
    if (next != space_.newer().entries().end() &&
        next->first.starts_with(SlotKeyPart(entry.owner))) {
      until = DecodedInMemory(*next).from;
    }
    visit(entry, until);
  }
}

absl::Status SlotVersions::Settle(const RunFiles& where, const Head& head, const Pins& pins) {
  const IndexView below{.newer = {}, .runs = space_.runs()};
  for (const std::string& owner : unsettled_) {
    const auto newest = NewestOf(owner);
    const auto first = space_.newer().entries().lower_bound(SlotKeyPart(owner));
    if (!newest || first == space_.newer().entries().end()) continue;
    auto had = FindSlot(where, below, LastSlotKey(owner));
    if (!had.ok() && !IsUnreadable(had.status())) return had.status();
    if (had.ok() && *had && (*had)->version) {
      account_.End(**had, DecodedInMemory(*first).from, head, pins);
      NoteChanged(owner, true, false);
    } else if (!had.ok() && newest->version) {
      NoteChanged(owner, true, false);
    }
  }
  unsettled_.clear();
  in_runs_ = std::make_shared<std::map<std::string, bool>>();
  account_.Prune(OldestKept(head), pins);
  return absl::OkStatus();
}

absl::Status SlotVersions::WriteRun(const RunFiles& where, uint64_t file, const Head& head,
                                    const Pins& pins) {
  ASSIGN_OR_RETURN(const std::optional<RunInfo> info, space_.WriteNewer(where, file));
  if (!info) return absl::OkStatus();
  VisitNewer([&](const SlotEntry& entry, std::optional<Position> until) {
    if (!entry.version) return;
    account_.Add(*entry.version);
    if (until) account_.End(entry, *until, head, pins);
  });
  space_.AddRun(*info);
  in_runs_ = std::make_shared<std::map<std::string, bool>>();
  space_.newer().Clear();
  ended_.clear();
  pinned_.clear();
  uploads_.clear();
  return absl::OkStatus();
}

void SlotVersions::Put(Encoder& out) const {
  out.Number(count_);
  account_.Put(out);
  space_.PutRuns(out);
  out.Number(space_.newer().entries().size());
  for (const auto& [key, value] : space_.newer().entries()) out.Text(key).Text(value.value_or(""));
}

SlotVersions SlotVersions::Read(Decoder& in) {
  SlotVersions slots;
  slots.count_ = in.Number();
  slots.account_ = SlotAccount::Read(in);
  slots.space_.ReadRuns(in);
  for (size_t left = in.Count(); left > 0; --left) {
    const std::string key(in.Text());
    const std::optional<SlotEntry> entry =
        DecodeSlotEntry({.key = key, .value = std::string(in.Text())});
    if (!entry) in.Fail();
    if (entry) slots.Insert(*entry);
  }
  slots.VisitNewer([&](const SlotEntry& entry, std::optional<Position> until) {
    const std::string key = SlotKey(entry.owner, entry.from);
    if (!entry.version) slots.ended_.push_back({.at = entry.from, .key = key});
    if (until) slots.ended_.push_back({.at = *until, .key = key});
  });
  std::ranges::stable_sort(slots.ended_, {}, &Ended::at);
  return slots;
}

}  // namespace holdfast::fs
