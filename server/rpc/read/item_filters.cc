#include "server/rpc/read/item_filters.h"

#include "platform/encoding.h"
#include "session/codec/item_facts.h"

namespace holdfast {

std::string FiltersOf(const RelatedQuery& related) {
  const ItemQuery& query = related.page;
  Encoder out;
  out.Text(related.ancestors_of.value_or("")).Number(related.refs ? 1 : 0).Text(related.attached);
  out.Text(query.collection).Text(query.range.start).Text(query.range.end);
  out.Number(query.descending ? 1 : 0).Number(query.data ? 1 : 0).Number(query.keys.size());
  for (const std::string& key : query.keys) out.Text(key);
  for (const auto& [name, value] : query.labels) out.Text(EncodeLabel(name, value));
  return out.Take();
}

}  // namespace holdfast
