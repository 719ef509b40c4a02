// A page of items with those that belong to them: what they refer to, what is attached to them, and
// their ancestors.
#ifndef HOLDFAST_SESSION_RELATED_ITEMS_H_
#define HOLDFAST_SESSION_RELATED_ITEMS_H_

#include "session/ids.h"
#include "session/item.h"
#include "session/item_query.h"
#include "session/store.h"

#include "absl/status/statusor.h"

#include <optional>
#include <string>
#include <vector>

namespace holdfast {

struct RelatedQuery {
  ItemQuery page;
  // The page is the item of this key, then that of its parent key, and so on; `page` has then no
  // keys, range and labels, and its `after` is the last item that was shown.
  std::optional<std::string> ancestors_of;
  bool refs = false;     // what the items refer to
  std::string attached;  // a collection; empty: nothing that is attached
};

// The items of a page, and behind each one those that belong to it and were not shown before it.
struct RelatedPage {
  ItemPage page;
  std::vector<std::vector<ItemView>> related;  // one list for each item of the page
};

// Reads them all in one state of the session: what was read before a change of its items is read
// again. The page is cut short where more than kRelatedItemBytes belong to it. TOO_LARGE where they
// belong to its first item; STORE_UNAVAILABLE while the items change too fast; otherwise as
// SessionStore::ReadItems.
absl::StatusOr<RelatedPage> ReadRelatedItems(SessionStore& store, const SessionKey& key,
                                             const RelatedQuery& query, PageLimit limit);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_RELATED_ITEMS_H_
