#include "store-postgres/uploads.h"

#include "platform/status_macros.h"
#include "session/kept.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-postgres/stored_head.h"

#include <algorithm>

namespace holdfast::pg {
namespace {

// Uploads whose digest runs along; others are read again when they are linked.
constexpr size_t kRunningMost = 1024;
constexpr int64_t kChunksPerRead = 4;

constexpr Statement kStage = {
    "stage", "SELECT kept, bytes FROM holdfast.stage($1, $2, $3::text::uuid, $4, $5, $6)"};
constexpr Statement kDrop = {"drop_upload",
                             "SELECT holdfast.drop_upload($1, $2, $3::text::uuid)::text"};
// The time is asked for once, so that the index leads to what is older.
constexpr Statement kDropOld = {
    "drop_old_uploads",
    "SELECT holdfast.drop_upload(u.tenant, u.session_id, u.upload_id)::text FROM holdfast.upload u"
    " WHERE NOT u.linked AND u.touched_at <= (SELECT holdfast.clock() - $1::interval)"
    " LIMIT 4 FOR UPDATE SKIP LOCKED"};
// A bounded part in one sweep; the next one goes on.
constexpr int kDropsMost = 64;
constexpr Statement kUnlinked = {"unlinked_upload",
                                 "SELECT bytes FROM holdfast.upload WHERE tenant = $1"
                                 " AND session_id = $2 AND upload_id = $3::text::uuid"
                                 " AND NOT linked"};
constexpr Statement kChunksFrom = {"chunks_from",
                                   "SELECT start, sum, bytes FROM holdfast.blob_chunk"
                                   " WHERE tenant = $1 AND session_id = $2"
                                   " AND upload_id = $3::text::uuid AND start >= $4"
                                   " ORDER BY start LIMIT $5"};
// No chunk is longer than kChunkBytes, which bounds where the first one can begin.
constexpr Statement kReadStaged = {
    "read_staged",
    "SELECT s.version, s.store_id, s.deleted, CASE WHEN coalesce(c.n, 1) = 1 THEN s.head END,"
    " s.head_sum, s.lease_left, u.linked, c.start, c.sum, c.bytes"
    " FROM holdfast.current_session s"
    " LEFT JOIN holdfast.upload u ON u.tenant = s.tenant AND u.session_id = s.session_id"
    "  AND u.upload_id = $3::text::uuid AND u.linked"
    " LEFT JOIN LATERAL ("
    "  SELECT b.start, b.sum, b.bytes, row_number() OVER (ORDER BY b.start) AS n"
    "  FROM holdfast.blob_chunk b WHERE b.tenant = $1 AND b.session_id = $2"
    "   AND b.upload_id = $3::text::uuid AND b.start > $4::bigint - $6::bigint"
    "   AND b.start < $5 ORDER BY b.start) c ON u.linked"
    " WHERE s.tenant = $1 AND s.session_id = $2"};
enum StagedColumn : size_t { kLinked = kStoredHeadColumns, kStart, kSum, kBytes };

Params NameOf(const SessionKey& key, const UploadId& upload) {
  Params params;
  params.Text(key.tenant.value()).Text(key.session.value()).Text(upload.value());
  return params;
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): swapped, nothing is ever whole
bool IsWhole(std::string_view bytes, std::string_view sum) {
  const Digest digest = Sha256(bytes);
  return View(digest) == sum;
}

}  // namespace

absl::Status Uploads::Stage(const SessionKey& key, const UploadId& upload, uint64_t offset,
                            std::string_view bytes) {
  do {
    const std::string_view chunk = bytes.substr(0, kChunkBytes);
    RETURN_IF_ERROR(StageChunk(key, upload, offset, chunk));
    offset += chunk.size();
    bytes.remove_prefix(chunk.size());
  } while (!bytes.empty());
  return absl::OkStatus();
}

// Doing it twice is doing it once, so a broken connection is no question.
absl::Status Uploads::StageChunk(const SessionKey& key, const UploadId& upload, uint64_t offset,
                                 std::string_view bytes) {
  const Digest sum = Sha256(bytes);
  Params params = NameOf(key, upload);
  params.Int(static_cast<int64_t>(offset)).Bytes(View(sum)).Bytes(bytes);
  ASSIGN_OR_RETURN(const Rows rows, database_.AskFlushed(kStage, params));
  if (!rows.Bool(0, 0)) {
    return InvalidField("offset", "must be where the upload ends")
        .With("expected", static_cast<uint64_t>(rows.Int(0, 1)));
  }
  NoteStaged({key, upload}, offset, bytes);
  return absl::OkStatus();
}

void Uploads::NoteStaged(const Name& name, uint64_t offset, std::string_view bytes) {
  const absl::MutexLock lock(&mutex_);
  auto found = running_.find(name);
  if (found == running_.end()) {
    if (offset != 0 || running_.size() >= kRunningMost) return;
    Running fresh{.bytes = 0, .digest = std::make_unique<Sha256Stream>()};
    found = running_.emplace(name, std::move(fresh)).first;
  }
  Running& running = found->second;
  if (offset > running.bytes) {  // another server has staged what is between
    running_.erase(found);
    return;
  }
  const uint64_t there = running.bytes - offset;
  if (there >= bytes.size()) return;
  running.digest->Add(bytes.substr(there));
  running.bytes += bytes.size() - there;
}

void Uploads::Forget(const SessionKey& key, const UploadId& upload) {
  const absl::MutexLock lock(&mutex_);
  running_.erase({key, upload});
}

std::optional<Digest> Uploads::Known(const Name& name, uint64_t bytes) {
  const absl::MutexLock lock(&mutex_);
  const auto found = running_.find(name);
  if (found == running_.end() || found->second.bytes != bytes) return std::nullopt;
  return found->second.digest->Sum();
}

absl::Status Uploads::Drop(const SessionKey& key, const UploadId& upload) {
  Forget(key, upload);
  return database_.AskFlushed(kDrop, NameOf(key, upload)).status();
}

absl::StatusOr<bool> Uploads::Holds(const SessionKey& key, const UploadLink& link) {
  if (const auto known = Known({key, link.id}, link.bytes)) return *known == link.sha256;
  ASSIGN_OR_RETURN(const Rows upload, database_.Ask(kUnlinked, NameOf(key, link.id)));
  if (upload.empty() || static_cast<uint64_t>(upload.Int(0, 0)) != link.bytes) return false;
  Sha256Stream digest;
  uint64_t at = 0;
  while (at < link.bytes) {
    Params params = NameOf(key, link.id);
    params.Int(static_cast<int64_t>(at)).Int(kChunksPerRead);
    ASSIGN_OR_RETURN(const Rows chunks, database_.Ask(kChunksFrom, params));
    if (chunks.empty()) return false;
    for (size_t row = 0; row < chunks.size(); ++row) {
      if (static_cast<uint64_t>(chunks.Int(row, 0)) != at) return false;
      digest.Add(chunks.Bytes(row, 2));
      at += chunks.Bytes(row, 2).size();
    }
  }
  return digest.Sum() == link.sha256;
}

absl::StatusOr<std::string> Uploads::Read(const SessionKey& key, const StagedBytes& bytes,
                                          uint64_t offset, size_t count) {
  const uint64_t begin = bytes.offset + std::min<uint64_t>(offset, bytes.size);
  const uint64_t end = begin + std::min<uint64_t>(count, bytes.offset + bytes.size - begin);
  Params params = NameOf(key, bytes.upload);
  params.Int(static_cast<int64_t>(begin)).Int(static_cast<int64_t>(end)).Int(kChunkBytes);
  ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kReadStaged, params));
  const StoredHead stored = ReadStoredHead(rows, 0, database_);
  RETURN_IF_ERROR(stored.refusal);
  if (rows.IsNull(0, kLinked)) {
    return Refusal(Reason::kRevisionPruned, "these bytes are no longer kept")
        .With("oldest", OldestKept(stored.head).revision.value());
  }
  std::string read;
  uint64_t at = begin;
  for (size_t row = 0; row < rows.size() && at < end; ++row) {
    if (rows.IsNull(row, kStart)) break;
    const std::string_view chunk = rows.Bytes(row, kBytes);
    const auto start = static_cast<uint64_t>(rows.Int(row, kStart));
    if (start + chunk.size() <= at) continue;
    if (start > at || !IsWhole(chunk, rows.Bytes(row, kSum))) return Damaged("upload", at);
    const std::string_view part = chunk.substr(at - start, end - at);
    read += part;
    at += part.size();
  }
  if (at < end) return Damaged("upload", at);
  return read;
}

absl::Status Uploads::Sweep() {
  for (int asked = 0; asked < kDropsMost; ++asked) {
    ASSIGN_OR_RETURN(const Rows rows,
                     database_.AskFlushed(kDropOld, Params().Interval(kUploadsKept)));
    if (rows.empty()) break;
  }
  return absl::OkStatus();
}

}  // namespace holdfast::pg
