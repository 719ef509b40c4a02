// ReadItems over the sessions of a group: one page, session by session in the order of a listing.
#ifndef HOLDFAST_SERVER_RPC_READ_GROUP_ITEMS_H_
#define HOLDFAST_SERVER_RPC_READ_GROUP_ITEMS_H_

#include "holdfast/v1/items.pb.h"
#include "session/item_query.h"
#include "session/sessions.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace holdfast {

namespace pb = ::holdfast::v1;

// What a page has of one session.
struct SessionItems {
  NamedSession session;         // with its uid
  std::vector<ItemView> items;  // in the order in which they are sent; at least one
};

struct GroupItems {
  std::vector<SessionItems> sessions;
  std::vector<std::string> unreadable;  // ids of sessions that were skipped
  std::string next_page_token;          // empty at the end
};

// Whether a request is for a group of sessions rather than for one.
bool IsOfGroup(const pb::ReadItemsRequest& request);

// The page that a request of a group asks for. Its limits of items, bytes, related bytes and items
// looked at hold for all sessions together, and it reads at most kSessionsPerItemPage of them. Each
// session is read in one state of its own.
//
// Skips sessions that are deleted or replaced between the listing and their read, and those that
// are damaged or of another store. INVALID_FIELD and TOO_LARGE for the request's fields;
// STORE_UNAVAILABLE while the listing is not complete; otherwise as Sessions::ReadItems.
absl::StatusOr<GroupItems> ReadGroupItems(Sessions& sessions, const Caller& caller,
                                          const pb::ReadItemsRequest& request);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_READ_GROUP_ITEMS_H_
