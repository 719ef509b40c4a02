#include "store-fs/watermarks.h"

#include "platform/digest.h"
#include "platform/encoding.h"
#include "platform/status_macros.h"
#include "store-fs/crc32c.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

namespace holdfast::fs {
namespace {

constexpr char kFile[] = "watermarks";
constexpr uint32_t kSlotMagic = 0x314d5748;  // "HWM1": the version is its last letter

static_assert(std::endian::native == std::endian::little,
              "watermarks are written as they lie in memory");

// A watermark as it lies on disk; it never straddles a sector. A slot of zeros is free.
struct Slot {
  uint32_t magic;
  uint32_t crc;  // of everything behind it
  std::array<char, 16> name;
  uint64_t inode;
  int64_t birth_ns;
  uint64_t end;
  uint64_t revision;
  int64_t time_us;
};
static_assert(sizeof(Slot) == 64);

constexpr size_t kSummed = offsetof(Slot, name);

uint32_t SumOf(const Slot& slot) {
  const auto* const bytes = reinterpret_cast<const char*>(&slot);
  return Crc32c(std::string_view(bytes, sizeof slot).substr(kSummed));
}

std::string BytesOfSlot(const Slot& slot) {
  return {reinterpret_cast<const char*>(&slot), sizeof slot};
}

}  // namespace

Watermarks::Name Watermarks::NameOf(const SessionKey& key) {
  Encoder out;
  out.Text(key.tenant.value()).Text(key.session.value());
  const Digest digest = Sha256(out.bytes());
  Name name{};
  std::memcpy(name.data(), digest.data(), name.size());
  return name;
}

absl::StatusOr<std::unique_ptr<Watermarks>> Watermarks::Open(Files& files, WatermarkUse use) {
  absl::StatusOr<std::unique_ptr<File>> file = files.Open(kFile, OpenMode::kWrite);
  if (absl::IsNotFound(file.status())) file = files.Open(kFile, OpenMode::kCreate);
  if (absl::IsResourceExhausted(file.status())) return std::make_unique<Watermarks>(nullptr);
  RETURN_IF_ERROR(file.status());
  auto watermarks = std::make_unique<Watermarks>(*std::move(file));
  RETURN_IF_ERROR(watermarks->Load(use));
  return watermarks;
}

absl::Status Watermarks::Load(WatermarkUse use) {
  const absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const uint64_t size, file_->Size());
  ASSIGN_OR_RETURN(const std::string bytes, file_->Read(0, size));
  slots_ = bytes.size() / sizeof(Slot);
  for (uint64_t at = 0; at < slots_; ++at) {
    Slot slot{};
    std::memcpy(&slot, bytes.data() + at * sizeof slot, sizeof slot);
    if (slot.magic != kSlotMagic || slot.crc != SumOf(slot)) {
      free_.push_back(at);  // free, or not what was written: then nothing is known
      continue;
    }
    const FileIdentity file{.inode = slot.inode, .birth_ns = slot.birth_ns};
    const bool any = use == WatermarkUse::kOfCopies;
    rows_[slot.name] = {.slot = at,
                        .mark = {.file = any ? FileIdentity() : file,
                                 .end = slot.end,
                                 .revision = Revision(slot.revision)}};
    recorded_ = std::max(recorded_, absl::FromUnixMicros(slot.time_us));
  }
  if (use != WatermarkUse::kOfNothing) return absl::OkStatus();
  rows_.clear();
  free_.clear();
  slots_ = 0;
  return file_->Truncate(0);
}

std::optional<Watermark> Watermarks::FindNamed(const Name& name) {
  const absl::MutexLock lock(&mutex_);
  const auto found = rows_.find(name);
  if (found == rows_.end()) return std::nullopt;
  return found->second.mark;
}

void Watermarks::NoteNamed(const Name& name, const Watermark& mark, absl::Time now) {
  uint64_t at = 0;
  {
    const absl::MutexLock lock(&mutex_);
    const auto [row, is_new] = rows_.try_emplace(name);
    if (is_new && free_.empty()) row->second.slot = slots_++;
    if (is_new && !free_.empty()) {
      row->second.slot = free_.back();
      free_.pop_back();
    }
    row->second.mark = mark;
    at = row->second.slot;
  }
  Slot slot{.magic = kSlotMagic,
            .crc = 0,
            .name = name,
            .inode = mark.file.inode,
            .birth_ns = mark.file.birth_ns,
            .end = mark.end,
            .revision = mark.revision.value(),
            .time_us = absl::ToUnixMicros(now)};
  slot.crc = SumOf(slot);
  Write(at, BytesOfSlot(slot));
}

// An older watermark, or none, is true too: a failure costs what could have been known, and nothing
// that was acknowledged.
void Watermarks::Write(uint64_t slot, const std::string& bytes) {
  if (file_ != nullptr) file_->Write(slot * sizeof(Slot), bytes).IgnoreError();
}

std::optional<Watermark> Watermarks::Find(const SessionKey& key) { return FindNamed(NameOf(key)); }

void Watermarks::Note(const SessionKey& key, const Watermark& mark, absl::Time now) {
  NoteNamed(NameOf(key), mark, now);
}

void Watermarks::Forget(const SessionKey& key) {
  uint64_t at = 0;
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = rows_.find(NameOf(key));
    if (found == rows_.end()) return;
    at = found->second.slot;
    rows_.erase(found);
  }
  Write(at, std::string(sizeof(Slot), '\0'));
  // Only now may another session take it.
  const absl::MutexLock lock(&mutex_);
  free_.push_back(at);
}

std::optional<Watermark> Watermarks::FindTombstones() { return FindNamed(NameOfTombstones()); }

void Watermarks::NoteTombstones(uint64_t end, absl::Time now) {
  NoteNamed(NameOfTombstones(), {.file = {}, .end = end, .revision = Revision()}, now);
}

absl::Status Watermarks::Sync() { return file_ == nullptr ? absl::OkStatus() : file_->Sync(); }

}  // namespace holdfast::fs
