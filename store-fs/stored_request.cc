#include "store-fs/stored_request.h"

#include "platform/status_macros.h"
#include "session/codec/records.h"
#include "session/kept.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/fail_stop.h"
#include "store-fs/layout.h"
#include "store-fs/numbered_log.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::fs {
namespace {

// Damage of a file fails only the requests whose replies it holds.
bool IsDamage(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status) || absl::IsFailedPrecondition(status);
}

absl::Status UnreadableReply(const absl::Status& why) {
  if (IsShortage(why)) return FailStop::Short();
  return StoreUnavailable("a stored reply could not be read: try again", Fate::kUnknown);
}

// A rotation has replaced files, or written rows, since the view was made.
absl::Status IsOutdated() { return absl::AbortedError("the view of stored replies is outdated"); }

class RequestLog {
 public:
  explicit RequestLog(const RequestSource& source) : source_(source) {}

  // nullopt: it is not what was written.
  absl::StatusOr<std::optional<RequestRow>> Row(uint64_t number) const {
    // It was in the journal when the view was made.
    if (number >= log().next) return IsOutdated();
    const LogFiles where{.files = &source_.files, .journal = nullptr, .key = &source_.key};
    const auto items = ReadLog(where, log(), number, 1, kPageBytes);
    if (!items.ok() && !IsDamage(items.status())) return UnreadableReply(items.status());
    if (!items.ok()) {
      RETURN_IF_ERROR(CheckCurrent());
    }
    if (!items.ok() || items->empty()) return std::nullopt;
    return DecodeRequest(items->front());
  }

  // The ids of all rows before the one of number `end`.
  absl::StatusOr<RequestTable::Ids> IdsBefore(uint64_t end) const {
    if (log().next < end) return IsOutdated();
    RequestTable::Ids ids;
    for (const SegmentInfo& info : log().segments) {
      RETURN_IF_ERROR(AddIdsOf(info, ids));
    }
    const uint64_t first = log().first();
    if (end < first + ids.size()) ids.resize(end - std::min(end, first));
    return ids;
  }

  // By when the rows of the segment that holds this one are forgotten.
  [[nodiscard]] absl::Time NewestBeside(uint64_t number) const {
    for (const SegmentInfo& info : log().segments) {
      if (number < info.first + info.count) return absl::FromUnixMicros(info.newest_us);
    }
    return absl::InfiniteFuture();
  }

 private:
  absl::Status AddIdsOf(const SegmentInfo& info, RequestTable::Ids& ids) const {
    auto keys = ReadKeys(source_.files, source_.key, info);
    if (!keys.ok()) {
      if (!IsDamage(keys.status())) return UnreadableReply(keys.status());
      RETURN_IF_ERROR(CheckCurrent());
      keys.emplace(info.count);
    }
    // Where the index is damaged, each reply still has its own id.
    for (uint64_t at = 0; at < info.count; ++at) {
      std::optional<RequestKey>& key = (*keys)[at];
      if (key) continue;
      ASSIGN_OR_RETURN(const std::optional<RequestRow> row, Row(info.first + at));
      if (row) key = KeyOf(row->stamp.id);
    }
    ids.insert(ids.end(), keys->begin(), keys->end());
    return absl::OkStatus();
  }

  // Whether what is missing or changed is damage: a rotation may have replaced the file.
  [[nodiscard]] absl::Status CheckCurrent() const {
    return source_.is_current && !source_.is_current() ? IsOutdated() : absl::OkStatus();
  }
  [[nodiscard]] const NumberedLog& log() const { return source_.view.log; }

  const RequestSource& source_;
};

}  // namespace

bool RequestView::HasFilesOf(const RequestView& other) const {
  return std::ranges::equal(log.segments, other.log.segments, {}, &SegmentInfo::file,
                            &SegmentInfo::file);
}

RequestView ViewOf(const SessionState& state) {
  const NumberedLog& log = state.request_log;
  return {.requests = state.requests,
          .log = {.segments = log.segments, .tail = {}, .next = log.tail_first()},
          .end = state.requests->next()};
}

absl::StatusOr<std::optional<RequestRow>> ReadRequest(const RequestSource& source,
                                                      const RequestId& id, absl::Time oldest) {
  const RequestLog log(source);
  ASSIGN_OR_RETURN(
      std::optional<RequestTable::Known> known,
      source.view.requests->Find(id, [&](uint64_t end) { return log.IdsBefore(end); }));
  if (!known) return std::nullopt;
  // A reply that is newer than the head beside the view does not belong to it.
  if (known->number >= source.view.end) return IsOutdated();
  std::optional<RequestRow> row = std::move(known->row);
  if (!row) {
    // The newest row of its segment is too old, and so is it.
    if (log.NewestBeside(known->number) < oldest) return std::nullopt;
    if (!known->lost) {
      ASSIGN_OR_RETURN(row, log.Row(known->number));
    }
    // A reply that belongs to another request must never be handed out.
    if (!row || row->stamp.id != id) return Damaged("request", known->number);
  }
  if (row->at < oldest) return std::nullopt;
  return row;
}

}  // namespace holdfast::fs
