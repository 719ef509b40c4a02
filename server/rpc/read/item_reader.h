// ReadItems without its transport: one page of items, in pieces, and how it ended.
#ifndef HOLDFAST_SERVER_RPC_READ_ITEM_READER_H_
#define HOLDFAST_SERVER_RPC_READ_ITEM_READER_H_

#include "holdfast/v1/item_service.pb.h"
#include "server/rpc/call/wire.h"
#include "session/sessions.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

namespace pb = ::holdfast::v1;

// Used by one thread at a time; Next blocks as the store does.
class ItemReader {
 public:
  // `sessions` must outlive this.
  ItemReader(Sessions& sessions, Caller caller, pb::ReadItemsRequest request);

  // The next responses, none at the end. INVALID_FIELD and TOO_LARGE for the request's fields;
  // otherwise as the store's reads.
  absl::StatusOr<std::vector<Bytes>> Next();

  // What it keeps between two calls, about.
  [[nodiscard]] size_t HeldBytes() const;

 private:
  enum class Phase : uint8_t { kPage, kItems, kEnd };

  absl::Status ReadPage();
  // The same of a group of sessions.
  absl::Status ReadGroupPage();
  // The keys of the request, up to the end of the page, that have no item.
  void FindMissing(const ItemQuery& query, const ItemPage& page);
  // Says in the first piece of the next item which session of a group has it.
  void NameSession(pb::ItemPiece& piece) const;
  // Adds the next part of the next item.
  size_t AddPiece(pb::ReadItemsResponse& out);
  [[nodiscard]] bool AllTaken() const { return next_ == items_.size(); }

  Sessions& sessions_;
  const Caller caller_;
  const pb::ReadItemsRequest request_;
  Phase phase_ = Phase::kPage;
  std::vector<ItemView> items_;      // in the order in which they are sent
  std::vector<NamedSession> named_;  // the sessions of a group's page
  std::vector<size_t> session_of_;   // of each item, its place in `named_`; empty for one session
  size_t next_ = 0;                  // of its items
  uint64_t sent_ = 0;                // of that item's data
  pb::ReadItemsResponse end_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_READ_ITEM_READER_H_
