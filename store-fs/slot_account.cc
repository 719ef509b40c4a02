#include "store-fs/slot_account.h"

#include "session/kept.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

namespace holdfast::fs {
namespace {

// Parts of what is kept for pinned snapshots that are distinguished.
constexpr size_t kPinnedEndings = 4096;

// The position that must be the oldest kept one for a version that ended at `until` to be dropped:
// that of the next snapshot. One that is still to come is not before the present.
Position DroppedAt(Position until, const Head& head) {
  const auto next = std::ranges::lower_bound(head.snapshots, until, {}, &SnapshotRecord::at);
  return next == head.snapshots.end() ? PositionOf(head) : next->at;
}

std::optional<UploadId> StagedUpload(const SlotVersion& version) {
  if (!version.meta.staged) return std::nullopt;
  return version.meta.staged->upload;
}

std::optional<UploadId> ReadUploadId(std::string_view text, Decoder& in) {
  std::optional<UploadId> upload = UploadId::Parse(text);
  if (!upload) in.Fail();
  return upload;
}

}  // namespace

void SlotAccount::Add(const SlotVersion& version) {
  bytes_.Add(version.where.file, version.where.size);
  if (const auto upload = StagedUpload(version)) ++uploads_[*upload];
}

void SlotAccount::End(const SlotEntry& entry, Position until, const Head& head, const Pins& pins) {
  const SlotVersion& version = *entry.version;
  Share& share = endings_[{.at = DroppedAt(until, head),
                           .shown = pins.Showing(entry.from, until, head),
                           .place = {version.where.file, StagedUpload(version)}}];
  ++share.versions;
  share.bytes += version.where.size;
}

bool SlotAccount::Drop(const Place& place, const Share& share) {
  const bool had_bytes = bytes_.TakeOff(place.file, share.bytes);
  if (!place.upload) return had_bytes;
  const auto named = uploads_.find(*place.upload);
  if (named == uploads_.end() || named->second < share.versions) return false;
  named->second -= share.versions;
  if (named->second == 0) uploads_.erase(named);
  return had_bytes;
}

// Of more than are distinguished, some stay as long as any snapshot is pinned.
void SlotAccount::KeepForPins(Ending ending, const Share& share) {
  ending.at = Position();
  if (pinned_.size() >= kPinnedEndings && !pinned_.contains(ending)) {
    ending.shown = {.first = Revision(), .last = Revision(std::numeric_limits<uint64_t>::max())};
  }
  Share& sum = pinned_[ending];
  sum.versions += share.versions;
  sum.bytes += share.bytes;
}

void SlotAccount::Prune(Position oldest, const Pins& pins) {
  while (!endings_.empty() && endings_.begin()->first.at <= oldest) {
    const auto& [ending, share] = *endings_.begin();
    if (pins.HaveAnyIn(ending.shown)) {
      KeepForPins(ending, share);
    } else {
      Drop(ending.place, share);
    }
    endings_.erase(endings_.begin());
  }
}

void SlotAccount::Unpin(const Pins& pins) {
  std::erase_if(pinned_, [&](const auto& kept) {
    const bool goes = !pins.HaveAnyIn(kept.first.shown);
    if (goes) Drop(kept.first.place, kept.second);
    return goes;
  });
}

void SlotAccount::Move(const std::set<uint64_t>& sources, uint64_t file) {
  bytes_.Move(sources, file);
  for (Endings* const endings : {&endings_, &pinned_}) {
    for (const auto& [ending, share] : std::exchange(*endings, {})) {
      Ending to = ending;
      if (sources.contains(to.place.file)) to.place.file = file;
      Share& sum = (*endings)[to];
      sum.versions += share.versions;
      sum.bytes += share.bytes;
    }
  }
}

void SlotAccount::PutEndings(const Endings& endings, Encoder& out) {
  out.Number(endings.size());
  for (const auto& [ending, share] : endings) {
    const auto& [file, upload] = ending.place;
    out.Number(ending.at.revision.value()).Number(ending.at.journal.value());
    out.Number(ending.shown.first.value()).Number(ending.shown.last.value()).Number(file);
    out.Text(upload ? upload->value() : "").Number(share.versions).Number(share.bytes);
  }
}

SlotAccount::Endings SlotAccount::ReadEndings(Decoder& in) {
  Endings endings;
  for (size_t left = in.Count(); left > 0; --left) {
    Ending ending;
    ending.at.revision = Revision(in.Number());
    ending.at.journal = JournalNumber(in.Number());
    ending.shown.first = Revision(in.Number());
    ending.shown.last = Revision(in.Number());
    ending.place.file = in.Number();
    const std::string_view upload = in.Text();
    if (!upload.empty()) ending.place.upload = ReadUploadId(upload, in);
    Share& share = endings[ending];
    share.versions = in.Number();
    share.bytes = in.Number();
  }
  return endings;
}

void SlotAccount::Put(Encoder& out) const {
  bytes_.Put(out);
  out.Number(uploads_.size());
  for (const auto& [upload, versions] : uploads_) out.Text(upload.value()).Number(versions);
  PutEndings(endings_, out);
  PutEndings(pinned_, out);
}

SlotAccount SlotAccount::Read(Decoder& in) {
  SlotAccount account;
  account.bytes_ = LogBytes::Read(in);
  for (size_t left = in.Count(); left > 0; --left) {
    const std::optional<UploadId> upload = ReadUploadId(in.Text(), in);
    const uint64_t versions = in.Number();
    if (upload) account.uploads_[*upload] = versions;
  }
  account.endings_ = ReadEndings(in);
  account.pinned_ = ReadEndings(in);
  // No more may end than there is.
  SlotAccount rest = account;
  for (const Endings* const endings : {&account.endings_, &account.pinned_}) {
    for (const auto& [ending, share] : *endings) {
      if (!rest.Drop(ending.place, share)) in.Fail();
    }
  }
  return account;
}

}  // namespace holdfast::fs
