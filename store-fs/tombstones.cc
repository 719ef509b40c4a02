#include "store-fs/tombstones.h"

#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "session/encoding.h"
#include "session/refusal.h"
#include "session/status_macros.h"
#include "store-fs/crc32c.h"
#include "store-fs/records.h"

namespace holdfast::fs {
namespace {

constexpr char kLog[] = "tombstones.log";
constexpr uint64_t kVersion = 1;

struct RecordHead {
  uint32_t size;
  uint32_t crc;
};

std::string Encode(const Tombstone& tombstone) {
  Encoder out;
  out.Number(kVersion).Text(tombstone.key.tenant.value()).Text(tombstone.key.session.value());
  out.Text(tombstone.uid.value()).Number(tombstone.revision.value());
  out.Number(tombstone.last_event.value());
  out.Text(tombstone.request ? tombstone.request->value() : "").Number(tombstone.removed ? 1 : 0);
  const std::string body = out.Take();
  const RecordHead head{.size = static_cast<uint32_t>(body.size()), .crc = Crc32c(body)};
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + body;
}

std::optional<Tombstone> Decode(std::string_view bytes) {
  Decoder in(bytes);
  if (in.Number() != kVersion) in.Fail();
  Tombstone tombstone;
  tombstone.key.tenant = ReadId<TenantId>(in);
  tombstone.key.session = ReadId<SessionId>(in);
  tombstone.uid = ReadId<SessionUid>(in);
  tombstone.revision = Revision(in.Number());
  tombstone.last_event = EventSeq(in.Number());
  tombstone.request = RequestId::Parse(in.Text());
  tombstone.removed = in.Number() == 1;
  if (!in.Done()) return std::nullopt;
  return tombstone;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tombstones>> Tombstones::Open(Files& files) {
  absl::StatusOr<std::unique_ptr<File>> file = files.Open(kLog, OpenMode::kWrite);
  if (absl::IsNotFound(file.status())) {
    RETURN_IF_ERROR(WriteNew(files, kLog, ""));
    RETURN_IF_ERROR(files.SyncDirectory("."));
    file = files.Open(kLog, OpenMode::kWrite);
  }
  RETURN_IF_ERROR(file.status());
  std::unique_ptr<Tombstones> tombstones(new Tombstones(*std::move(file)));  // NOLINT(google-readability-casting): private constructor
  RETURN_IF_ERROR(tombstones->Load());
  return tombstones;
}

absl::Status Tombstones::Load() {
  const absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const uint64_t size, file_->Size());
  ASSIGN_OR_RETURN(const std::string bytes, file_->Read(0, size));
  std::string_view rest = bytes;
  while (rest.size() >= sizeof(RecordHead)) {
    RecordHead head{};
    std::memcpy(&head, rest.data(), sizeof head);
    if (head.size > rest.size() - sizeof head) break;  // unfinished
    const std::string_view body = rest.substr(sizeof head, head.size);
    const auto tombstone = Crc32c(body) == head.crc ? Decode(body) : std::nullopt;
    if (!tombstone) {
      if (rest.size() == sizeof head + head.size) break;  // the last one: unfinished
      return StoreUnavailable("tombstones.log is damaged: restore it from a backup", Fate::kNoEffect);
    }
    by_key_.insert_or_assign(tombstone->key, *tombstone);
    rest.remove_prefix(sizeof head + head.size);
  }
  end_ = bytes.size() - rest.size();
  if (rest.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(file_->Truncate(end_));
  return file_->Sync();
}

absl::Status Tombstones::Append(const Tombstone& tombstone, bool sync) {
  const std::string bytes = Encode(tombstone);
  RETURN_IF_ERROR(file_->Write(end_, bytes));
  if (sync) RETURN_IF_ERROR(file_->Sync());
  end_ += bytes.size();
  by_key_.insert_or_assign(tombstone.key, tombstone);
  return absl::OkStatus();
}

std::optional<Tombstone> Tombstones::Find(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  return found->second;
}

absl::Status Tombstones::Add(const Tombstone& tombstone) {
  const absl::MutexLock lock(&mutex_);
  return Append(tombstone, /*sync=*/true);
}

absl::Status Tombstones::NoteRemoved(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || found->second.removed) return absl::OkStatus();
  Tombstone noted = found->second;
  noted.removed = true;
  return Append(noted, /*sync=*/false);
}

std::vector<Tombstone> Tombstones::Unfinished() {
  const absl::MutexLock lock(&mutex_);
  std::vector<Tombstone> unfinished;
  for (const auto& [key, tombstone] : by_key_) {
    if (!tombstone.removed) unfinished.push_back(tombstone);
  }
  return unfinished;
}

}  // namespace holdfast::fs
