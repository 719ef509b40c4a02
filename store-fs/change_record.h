// A frame's payload: one or more whole changes, each with everything it made (docs/formats.md).
//
// A session applies the same bytes after a commit's sync and after a restart, so that both paths
// lead to the same state.
#ifndef HOLDFAST_STORE_FS_CHANGE_RECORD_H_
#define HOLDFAST_STORE_FS_CHANGE_RECORD_H_

#include "platform/encoding.h"
#include "session/apply.h"
#include "session/change.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/item.h"
#include "session/item_writes.h"
#include "session/model.h"

#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fs {

// An item's record inside a payload.
struct Span {
  size_t offset = 0;
  size_t size = 0;
};

// An upload that a session has taken over.
struct LinkedUpload {
  UploadId id;
  uint64_t bytes = 0;
  Generation messages;  // of the history that it holds messages of; 0: slots alone

  bool operator==(const LinkedUpload&) const = default;
};

void PutUpload(const LinkedUpload& upload, Encoder& out);
LinkedUpload ReadUpload(Decoder& in);

template <typename T>
struct Placed {
  T item;
  Span span;
};

// An item that a change has put, without its data.
struct PlacedItem {
  ItemName name;
  ItemVersion version;
  absl::Time created_at;
  absl::Time updated_at;
  uint64_t bytes = 0;  // by ItemBytes
  Span facts;          // as EncodeItemFacts makes them
  Span data;
};

// What a change does to the items of a session.
struct StoredItems {
  ItemTotals totals;  // behind it
  std::vector<ItemName> deleted;
  std::vector<PlacedItem> written;  // behind the deletes
};

// What a payload says of one change. Messages and audit records are not decoded: only their place
// counts.
struct StoredChange {
  Head head;
  std::optional<Placed<RequestRow>> request;
  std::optional<TurnNumber> applied_turn;
  std::optional<TurnNumber> dropped;
  std::optional<Span> audit;
  std::vector<Placed<Slot>> slots;
  std::vector<std::string> deleted_slots;
  std::vector<Span> messages;
  std::vector<Placed<JournalEntry>> entries;
  std::vector<Span> events;
  std::optional<LinkedUpload> upload;
  std::optional<StoredItems> items;
};

// A change as a payload contains it, behind `begun`.
std::string EncodeChange(const Applied& change, std::string begun);
// What the payload of one change begins with, behind `begun`.
std::string BeginOnlyChange(std::string begun);
// The payload of changes that are encoded already, behind `begun`: longer than they are together by
// kPayloadHeadBytes at most.
std::string JoinChanges(std::string begun, const std::vector<std::string_view>& changes);
std::optional<std::vector<StoredChange>> DecodeChanges(std::string_view payload);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_CHANGE_RECORD_H_
