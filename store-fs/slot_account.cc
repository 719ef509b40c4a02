#include "store-fs/slot_account.h"

#include "session/kept.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace holdfast::fs {
namespace {

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

}  // namespace

void SlotAccount::Add(const SlotVersion& version) {
  bytes_.Add(version.where.file, version.where.size);
  if (const auto upload = StagedUpload(version)) ++uploads_[*upload];
}

void SlotAccount::End(const SlotVersion& version, Position until, const Head& head) {
  Share& share = endings_[{DroppedAt(until, head), version.where.file, StagedUpload(version)}];
  ++share.versions;
  share.bytes += version.where.size;
}

bool SlotAccount::Drop(const Ending& ending, const Share& share) {
  const auto& [at, file, upload] = ending;
  const bool had_bytes = bytes_.TakeOff(file, share.bytes);
  if (!upload) return had_bytes;
  const auto named = uploads_.find(*upload);
  if (named == uploads_.end() || named->second < share.versions) return false;
  named->second -= share.versions;
  if (named->second == 0) uploads_.erase(named);
  return had_bytes;
}

void SlotAccount::Prune(Position oldest) {
  while (!endings_.empty() && std::get<Position>(endings_.begin()->first) <= oldest) {
    Drop(endings_.begin()->first, endings_.begin()->second);
    endings_.erase(endings_.begin());
  }
}

void SlotAccount::Move(const std::set<uint64_t>& sources, uint64_t file) {
  bytes_.Move(sources, file);
  for (const auto& [ending, share] : std::exchange(endings_, {})) {
    Ending to = ending;
    if (sources.contains(std::get<uint64_t>(to))) std::get<uint64_t>(to) = file;
    Share& sum = endings_[to];
    sum.versions += share.versions;
    sum.bytes += share.bytes;
  }
}

void SlotAccount::Put(Encoder& out) const {
  bytes_.Put(out);
  out.Number(uploads_.size());
  for (const auto& [upload, versions] : uploads_) out.Text(upload.value()).Number(versions);
  out.Number(endings_.size());
  for (const auto& [ending, share] : endings_) {
    const auto& [at, file, upload] = ending;
    out.Number(at.revision.value()).Number(at.journal.value()).Number(file);
    out.Text(upload ? upload->value() : "").Number(share.versions).Number(share.bytes);
  }
}

SlotAccount SlotAccount::Read(Decoder& in) {
  SlotAccount account;
  const auto read_upload = [&](std::string_view text) {
    std::optional<UploadId> upload = UploadId::Parse(text);
    if (!upload) in.Fail();
    return upload;
  };
  account.bytes_ = LogBytes::Read(in);
  for (size_t left = in.Count(); left > 0; --left) {
    const std::optional<UploadId> upload = read_upload(in.Text());
    const uint64_t versions = in.Number();
    if (upload) account.uploads_[*upload] = versions;
  }
  for (size_t left = in.Count(); left > 0; --left) {
    const Revision revision(in.Number());
    const Position at{.revision = revision, .journal = JournalNumber(in.Number())};
    const uint64_t file = in.Number();
    const std::string_view upload = in.Text();
    Share share{.versions = in.Number()};
    share.bytes = in.Number();
    account.endings_[{at, file, upload.empty() ? std::nullopt : read_upload(upload)}] = share;
  }
  // No more may end than there is.
  SlotAccount rest = account;
  for (const auto& [ending, share] : account.endings_) {
    if (!rest.Drop(ending, share)) in.Fail();
  }
  return account;
}

}  // namespace holdfast::fs
