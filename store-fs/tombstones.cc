#include "store-fs/tombstones.h"

#include "platform/encoding.h"
#include "platform/exceptions.h"
#include "platform/scoped_blocking_call.h"
#include "platform/status_macros.h"
#include "session/codec/records.h"
#include "session/refusal.h"
#include "store-fs/frame.h"

#include <cstddef>
#include <string_view>
#include <utility>

namespace holdfast::fs {
namespace {

constexpr uint64_t kTombstoneVersion = 3;
constexpr uint64_t kSalt = 0;  // the file is never replaced, so that no stale frame can be in it

absl::Status Damage() {
  return StoreUnavailable("tombstones.log is damaged: restore it from a backup", Fate::kNoEffect);
}

std::string Encode(const Tombstone& tombstone) {
  Encoder out;
  out.Number(kTombstoneVersion)
      .Text(tombstone.key.tenant.value())
      .Text(tombstone.key.session.value());
  out.Text(tombstone.uid.value()).Number(tombstone.revision.value());
  out.Text(EncodeEvent(tombstone.last_event));
  out.Text(tombstone.request ? tombstone.request->value() : "").Number(tombstone.removed ? 1 : 0);
  out.Number(tombstone.generation.value()).Text(tombstone.next ? tombstone.next->value() : "");
  return out.Take();
}

Event ReadLastEvent(Decoder& in) {
  std::optional<Event> event = DecodeEvent(in.Text());
  if (!event) in.Fail();
  return event.value_or(Event());
}

std::optional<Tombstone> DecodeTombstone(std::string_view bytes) {
  Decoder in(bytes);
  if (in.Number() != kTombstoneVersion) in.Fail();
  Tombstone tombstone;
  tombstone.key.tenant = ReadId<TenantId>(in);
  tombstone.key.session = ReadId<SessionId>(in);
  tombstone.uid = ReadId<SessionUid>(in);
  tombstone.revision = Revision(in.Number());
  tombstone.last_event = ReadLastEvent(in);
  tombstone.request = RequestId::Parse(in.Text());
  tombstone.removed = in.Number() == 1;
  tombstone.generation = Generation(in.Number());
  tombstone.next = SessionUid::Parse(in.Text());
  if (!in.Done()) return std::nullopt;
  return tombstone;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tombstones>> Tombstones::Open(Files& files, Watermarks& watermarks,
                                                             const StoreTime& time) {
  absl::StatusOr<std::unique_ptr<File>> file = files.Open(kTombstonesFile, OpenMode::kWrite);
  if (absl::IsNotFound(file.status())) {
    RETURN_IF_ERROR(WriteNew(files, kTombstonesFile, ""));
    RETURN_IF_ERROR(files.SyncDirectory("."));
    file = files.Open(kTombstonesFile, OpenMode::kWrite);
  }
  RETURN_IF_ERROR(file.status());
  auto tombstones = std::make_unique<Tombstones>(*std::move(file), watermarks, time);
  RETURN_IF_ERROR(tombstones->Load());
  return tombstones;
}

absl::Status Tombstones::Load() {
  const absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const uint64_t size, file_->Size());
  ASSIGN_OR_RETURN(const std::string bytes, file_->Read(0, size));
  FrameRead read = ReadFrame(bytes, end_, kSalt);
  for (; read.state == FrameState::kValid; read = ReadFrame(bytes, end_, kSalt)) {
    const auto tombstone = DecodeTombstone(read.frame.payload);
    if (!tombstone || read.frame.head.previous != last_checksum_) return Damage();
    by_key_.insert_or_assign(tombstone->key, *tombstone);
    end_ += read.frame.size;
    last_checksum_ = read.frame.checksum;
  }
  if (read.state == FrameState::kDamaged || ValidFrameFollows(bytes, end_, kSalt)) return Damage();
  const std::optional<Watermark> mark = watermarks_.FindTombstones();
  if (mark && end_ < mark->end) return Damage();
  if (end_ == size) return absl::OkStatus();
  cut_ = size - end_;
  RETURN_IF_ERROR(file_->Truncate(end_));
  return file_->Sync();
}

absl::Status Tombstones::Append(const Tombstone& tombstone) {
  FrameHead head;
  head.type = FrameType::kTombstone;
  head.salt = kSalt;
  head.revision = tombstone.revision;
  head.previous = last_checksum_;
  ASSIGN_OR_RETURN(const EncodedFrame frame, EncodeFrame(head, Encode(tombstone), end_));
  const absl::Status written = file_->Write(end_, frame.bytes);
  if (absl::IsResourceExhausted(written)) {
    // A part of it behind a shorter one would be taken for damage.
    RETURN_IF_ERROR(AfterWriting(file_->Truncate(end_)));
  }
  RETURN_IF_ERROR(written);
  // Also for a mere note: an unsynced frame must never have another one behind it.
  RETURN_IF_ERROR(AfterWriting(file_->Sync()));
  end_ += frame.bytes.size();
  last_checksum_ = frame.checksum;
  watermarks_.NoteTombstones(end_, time_.Now());
  return absl::OkStatus();
}

void Tombstones::BeginAppend() {
  AwaitBlocking(mutex_, absl::Condition(this, &Tombstones::IsFree));
  appending_ = true;
}

absl::Status Tombstones::FinishAppend(const Tombstone& tombstone) {
  mutex_.Unlock();
  absl::Status appended;
  const auto what = CatchException([&] { appended = Append(tombstone); });
  if (what) appended = absl::InternalError(*what);
  mutex_.Lock();
  appending_ = false;
  if (appended.ok()) by_key_.insert_or_assign(tombstone.key, tombstone);
  return appended;
}

std::optional<Tombstone> Tombstones::Find(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  return found->second;
}

absl::Status Tombstones::Add(const Tombstone& tombstone) {
  const absl::MutexLock lock(&mutex_);
  BeginAppend();
  return FinishAppend(tombstone);
}

absl::Status Tombstones::NoteRemoved(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  BeginAppend();
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || found->second.removed) {
    appending_ = false;
    return absl::OkStatus();
  }
  Tombstone noted = found->second;
  noted.removed = true;
  return FinishAppend(noted);
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
