// Items between the wire and the domain.
#ifndef HOLDFAST_SERVER_RPC_CONVERT_ITEMS_H_
#define HOLDFAST_SERVER_RPC_CONVERT_ITEMS_H_

#include "holdfast/v1/item_service.pb.h"
#include "session/item.h"
#include "session/item_query.h"
#include "session/item_writes.h"
#include "session/related_items.h"

#include "absl/status/statusor.h"
#include <google/protobuf/map.h>

#include <string>

namespace holdfast {

namespace pb = ::holdfast::v1;

// Texts and bytes are moved out of the request. INVALID_FIELD for a put without an item, a delete
// without keys, a label without a value, and a condition that this server does not know.
absl::StatusOr<ItemWrites> ReadItemWrites(pb::PutItemsRequest& request);

// The page that is asked for, without where it begins. INVALID_FIELD for keys or an item's
// ancestors beside a range; TOO_LARGE for a key of the range over kItemKeyBytes; as above for
// labels.
absl::StatusOr<RelatedQuery> ReadItemQuery(const pb::ReadItemsRequest& request);

// INVALID_FIELD for a label without a value.
absl::StatusOr<ItemLabels> ReadLabels(const std::string& path,
                                      const google::protobuf::Map<std::string, pb::Label>& labels);
void Write(const ItemLabels& labels, google::protobuf::Map<std::string, pb::Label>& out);

// All but the data.
void Write(const Item& item, pb::Item& out);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONVERT_ITEMS_H_
