#include "store-fs/stored_request.h"

#include "session/codec/records.h"
#include "session/kept.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/status_macros.h"
#include "store-fs/layout.h"
#include "store-fs/numbered_log.h"

namespace holdfast::fs {

absl::StatusOr<std::optional<RequestRow>> ReadRequest(Files& files, const SessionKey& key,
                                                      const Contents& contents, const RequestId& id,
                                                      absl::Time oldest) {
  const auto known = contents.requests->Find(id, oldest);
  if (!known) return std::nullopt;
  if (known->row != nullptr) return *known->row;
  // Its segment has gone when the clock was set back behind the end of its time.
  if (known->number < contents.request_log.first()) return std::nullopt;
  const LogFiles where{
      .files = &files, .journal = nullptr, .prefix = PrefixOf(key, FileKind::kRequests)};
  const auto items = ReadLog(where, contents.request_log, known->number, 1, kPageBytes);
  const absl::Status& read = items.status();
  if (!read.ok() && !absl::IsDataLoss(read) && !absl::IsNotFound(read)) {
    return StoreUnavailable("a stored reply could not be read: try again", Fate::kUnknown);
  }
  std::optional<RequestRow> row;
  if (items.ok() && !items->empty()) row = DecodeRequest(items->front());
  // A reply that belongs to another request must never be handed out.
  if (!row || row->stamp.id != id) return Damaged("request", known->number);
  return row;
}

}  // namespace holdfast::fs
