#include "store-fs/index.h"

#include "platform/encoding.h"
#include "platform/status_macros.h"
#include "session/codec/records.h"
#include "store-fs/bounds.h"
#include "store-fs/crc32c.h"
#include "store-fs/root.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::fs {
namespace {

constexpr char kIndexFile[] = "index";
constexpr size_t kChecksumMost = 10;  // bytes of a number
constexpr uint64_t kIndexVersion = 5;

std::string EncodeRow(const IndexRow& entry) {
  const SessionRow& row = entry.row;
  Encoder out;
  out.Text(entry.tenant.value()).Text(row.id.value());
  out.Number(static_cast<uint64_t>(row.lifecycle)).Number(row.revision.value());
  out.Text(row.project_root).Text(row.title).Number(row.messages.value());
  out.Time(row.created_at).Time(row.updated_at).Number(row.cancelling ? 1 : 0);
  out.Number(static_cast<uint64_t>(row.kind)).Text(row.group).Text(row.uid.value());
  out.Number(row.last_event.value()).Number(row.items_version.value());
  return out.Take();
}

std::optional<IndexRow> DecodeRow(std::string_view bytes) {
  Decoder in(bytes);
  const auto tenant = TenantId::Parse(in.Text());
  const auto id = SessionId::Parse(in.Text());
  const uint64_t lifecycle = in.Number();
  if (!tenant || !id || lifecycle >= kLifecycles) return std::nullopt;
  IndexRow entry{.tenant = *tenant, .row = {}};
  SessionRow& row = entry.row;
  row.id = *id;
  row.lifecycle = static_cast<Lifecycle>(lifecycle);
  row.revision = Revision(in.Number());
  row.project_root = in.Text();
  row.title = in.Text();
  row.messages = MessageSeq(in.Number());
  row.created_at = in.Time();
  row.updated_at = in.Time();
  row.cancelling = in.Number() == 1;
  const uint64_t kind = in.Number();
  if (kind < 1 || kind > static_cast<uint64_t>(SessionKind::kOpen)) return std::nullopt;
  row.kind = static_cast<SessionKind>(kind);
  row.group = in.Text();
  const auto uid = SessionUid::Parse(in.Text());
  row.last_event = EventSeq(in.Number());
  row.items_version = ItemVersion(in.Number());
  if (!uid || !in.Done()) return std::nullopt;
  row.uid = *uid;
  return entry;
}

// The rows behind their checksum.
std::optional<std::vector<IndexRow>> DecodeIndex(std::string_view bytes) {
  Decoder in(bytes);
  const uint64_t checksum = in.Number();
  if (!in.ok() || Crc32c(bytes.substr(in.position())) != checksum) return std::nullopt;
  if (in.Number() != kIndexVersion) return std::nullopt;
  std::vector<IndexRow> rows;
  for (size_t left = in.Count(); left > 0; --left) {
    std::optional<IndexRow> row = DecodeRow(in.Text());
    if (!row) return std::nullopt;
    rows.push_back(*std::move(row));
  }
  if (!in.Done()) return std::nullopt;
  return rows;
}

}  // namespace

absl::Status WriteIndex(Files& files, const std::vector<IndexRow>& rows, size_t most) {
  const auto known = [](const IndexRow& entry) {
    return entry.row.condition == SessionRow::Condition::kOk;
  };
  Encoder body;
  body.Number(kIndexVersion).Number(static_cast<uint64_t>(std::ranges::count_if(rows, known)));
  for (const IndexRow& entry : rows) {
    if (known(entry)) body.Text(EncodeRow(entry));
    if (body.size() + kChecksumMost > most) return absl::OkStatus();
  }
  Encoder whole;
  whole.Number(Crc32c(body.bytes())).Raw(body.bytes());
  return ReplaceRootFile(files, kIndexFile, whole.bytes());
}

absl::StatusOr<std::optional<StoredIndex>> TakeIndex(Files& files) {
  const absl::StatusOr<FileInfo> info = files.Stat(kIndexFile);
  const absl::StatusOr<std::string> bytes = ReadWhole(files, kIndexFile, kIndexFileBytes);
  RETURN_IF_ERROR(RemoveTree(files, kIndexFile));
  if (!info.ok() || !bytes.ok()) return std::nullopt;
  std::optional<std::vector<IndexRow>> rows = DecodeIndex(*bytes);
  if (!rows) return std::nullopt;
  return StoredIndex{.rows = *std::move(rows), .written_ns = info->changed_ns};
}

}  // namespace holdfast::fs
