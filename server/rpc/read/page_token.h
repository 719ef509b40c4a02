// Where the next page of a list begins, as a text that is opaque to clients. It is bound to the
// request, to the store and to its incarnation.
#ifndef HOLDFAST_SERVER_RPC_READ_PAGE_TOKEN_H_
#define HOLDFAST_SERVER_RPC_READ_PAGE_TOKEN_H_

#include "session/store.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// The token that goes on with `query` behind `last`. The page's size is no part of the question.
std::string MakePageToken(const StoreDescription& store, const ListQuery& query,
                          const ListKey& last);

// The key behind which to go on. INVALID_FIELD page_token: damaged or made up; of another question;
// of another store; or from before the store was restored (why=restored).
absl::StatusOr<ListKey> ReadPageToken(const StoreDescription& store, const ListQuery& query,
                                      const std::string& token);

// A request for the items of one session, or of a group of them, without its page.
struct ItemsRequest {
  std::string_view method;
  SessionKey key;       // without a session for a group
  std::string filters;  // its other fields, as bytes that are the same for the same fields
};

// Where a page of items ended.
struct PageEnd {
  SessionUid uid;       // of the session that it was read of
  Revision revision;    // that it was read at
  uint64_t number = 0;  // of its last item, where items have numbers
  std::string owner;    // of its last slot
};

// The token that goes on with `request` behind `end`.
std::string MakeItemsToken(const StoreDescription& store, const ItemsRequest& request,
                           const PageEnd& end);

// The end behind which to go on. INVALID_FIELD page_token as ReadPageToken.
absl::StatusOr<PageEnd> ReadItemsToken(const StoreDescription& store, const ItemsRequest& request,
                                       const std::string& token);

// Where a page of the items of a group ended.
struct GroupEnd {
  ListKey session;  // the last one that was read; its id is a valid one
  // Of that session, where something of it is left behind `key`.
  std::optional<SessionUid> uid;
  std::string key;
};

// The token that goes on with `request` behind `end`.
std::string MakeGroupToken(const StoreDescription& store, const ItemsRequest& request,
                           const GroupEnd& end);

// The end behind which to go on. INVALID_FIELD page_token as ReadPageToken.
absl::StatusOr<GroupEnd> ReadGroupToken(const StoreDescription& store, const ItemsRequest& request,
                                        const std::string& token);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_READ_PAGE_TOKEN_H_
