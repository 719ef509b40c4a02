// Where the next page of a listing begins, as a text that is opaque to clients. It is bound to the
// question, to the store and to its incarnation.
#ifndef HOLDFAST_SERVER_RPC_PAGE_TOKEN_H_
#define HOLDFAST_SERVER_RPC_PAGE_TOKEN_H_

#include "session/store.h"

#include "absl/status/statusor.h"

#include <string>

namespace holdfast {

// The token that goes on with `query` behind `last`. The page's size is no part of the question.
std::string MakePageToken(const StoreDescription& store, const ListQuery& query,
                          const ListKey& last);

// The key behind which to go on. INVALID_FIELD page_token: damaged or made up; of another question;
// of another store; or from before the store was restored (why=restored).
absl::StatusOr<ListKey> ReadPageToken(const StoreDescription& store, const ListQuery& query,
                                      const std::string& token);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_PAGE_TOKEN_H_
