// Pages of items.
#include "platform/status_macros.h"
#include "session/codec/item_facts.h"
#include "session/limits.h"
#include "store-postgres/key_spans.h"
#include "store-postgres/read_params.h"
#include "store-postgres/reads.h"
#include "store-postgres/stored_head.h"

#include "absl/strings/str_replace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::pg {
namespace {

// Of the rows that `rows` gives in this order it looks at up to $5, and one more, which shows
// whether there is any behind them. It answers those with all of the labels $4, up to $6 of them:
// the first one, and others while they have room in $7 bytes together, their data included if it is
// asked for ($8). A row that ends the look is answered also without these labels, so that the next
// page begins behind it. The head comes first, as in log_reads.cc.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): swapped, it is no SQL
std::string SqlOf(const char* rows, const char* order) {
  const std::string sql = absl::StrReplaceAll(
      "SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum, s.lease_left, NULL::bytea,"
      " NULL::bigint, NULL::timestamptz, NULL::timestamptz, NULL::bigint, NULL::bytea, NULL::bytea,"
      " NULL::boolean, NULL::boolean, NULL::bigint"
      " FROM holdfast.current_session s WHERE s.tenant = $1 AND s.session_id = $2"
      " UNION ALL "
      "SELECT NULL, NULL, NULL, NULL, NULL, NULL, p.key, p.version, p.created_at, p.updated_at,"
      " p.size, p.facts, CASE WHEN $8 THEN p.data END, p.wanted, p.ends, p.n"
      " FROM (SELECT * FROM (SELECT v.*, row_number() OVER o AS n,"
      "   lead(v.version) OVER o IS NULL AS ends, count(*) FILTER (WHERE v.wanted) OVER o AS found,"
      "   coalesce(sum(v.bytes - CASE WHEN $8 THEN 0 ELSE v.size END)"
      "    FILTER (WHERE v.wanted) OVER o, 0) AS total"
      "   FROM ({rows} ORDER BY {order} LIMIT $5 + 1) v"
      "   WINDOW o AS (ORDER BY {order} ROWS UNBOUNDED PRECEDING)) w"
      "  WHERE w.n <= $5 AND (w.wanted OR w.ends OR w.n = $5) AND (w.found <= 1 OR w.total <= $7)"
      "  ORDER BY {order} LIMIT $6) p",
      {{"{rows}", rows}, {"{order}", order}});
  return absl::StrReplaceAll(
      sql, {{"{columns}",
             "x.key, x.version, x.created_at, x.updated_at, octet_length(x.data)::bigint AS size,"
             " x.bytes, x.facts, x.data, $4::bytea[] IS NULL OR coalesce(x.labels @> $4, false) AS "
             "wanted"},
            {"{of}", "x.tenant = $1 AND x.session_id = $2 AND x.collection = $3"}});
}

const Statement& ItemStatementFor(const ItemQuery& query) {
  static constexpr char kRange[] =
      "SELECT {columns} FROM holdfast.item x WHERE {of} AND x.key >= $9 AND x.key < $10";
  static constexpr char kNamed[] =
      "SELECT {columns}, u.place FROM unnest($9::bytea[]) WITH ORDINALITY AS u (key, place)"
      " CROSS JOIN LATERAL (SELECT * FROM holdfast.item x WHERE {of} AND x.key = u.key OFFSET 0) x";
  static const std::string kUpSql = SqlOf(kRange, "key");
  static const std::string kDownSql = SqlOf(kRange, "key DESC");
  static const std::string kNamedSql = SqlOf(kNamed, "place");
  static const Statement kUp = {"items_up", kUpSql.c_str()};
  static const Statement kDown = {"items_down", kDownSql.c_str()};
  static const Statement kOfKeys = {"items_of", kNamedSql.c_str()};
  if (!query.keys.empty()) return kOfKeys;
  return query.descending ? kDown : kUp;
}

enum ItemRowColumn : size_t {
  kItemKey = kStoredHeadColumns,
  kItemVersion,
  kItemCreated,
  kItemUpdated,
  kItemSize,
  kItemFacts,
  kItemData,
  kItemWanted,
  kItemEnds,
  kItemLookedAt
};
constexpr size_t kFirstItemRow = 1;  // behind the head's

// The keys that are asked for and behind the former page, in the order of the pages.
std::vector<std::string_view> KeysOf(const ItemQuery& query) {
  std::vector<std::string_view> keys;
  for (const std::string& key : query.keys) {
    const bool before =
        query.after && (query.descending ? key >= *query.after : key <= *query.after);
    if (!before) keys.emplace_back(key);
  }
  if (query.descending) std::ranges::reverse(keys);
  return keys;
}

void PutLabels(const ItemLabels& labels, Params& params) {
  std::vector<std::string> encoded;
  for (const auto& [name, value] : labels) encoded.push_back(EncodeLabel(name, value));
  if (encoded.empty()) {
    params.Null();
  } else {
    params.BytesArray({encoded.begin(), encoded.end()});
  }
}

void PutRange(const ItemQuery& query, Params& params) {
  std::string start = query.range.start;
  std::string end = EndOf(query.range);
  if (query.after && query.descending) end = std::min(end, *query.after);
  if (query.after && !query.descending) start = std::max(start, NextKey(*query.after));
  params.Bytes(start).Bytes(end);
}

Params ItemParams(const SessionKey& key, const ItemQuery& query, PageLimit limit) {
  Params params = KeyParams(key);
  params.Text(query.collection);
  PutLabels(query.labels, params);
  params.Int(query.labels.empty() ? Clamped(limit.items) : int64_t{query.look_most});
  params.Int(Clamped(limit.items)).Int(Clamped(limit.bytes)).Bool(query.data);
  if (query.keys.empty()) {
    PutRange(query, params);
  } else {
    params.BytesArray(KeysOf(query));
  }
  return params;
}

// Of one whose facts cannot be read, its name and what the columns say.
ItemView ReadItem(const Rows& rows, size_t row, const std::string& collection) {
  ItemView view{.item = {}, .size = static_cast<uint64_t>(rows.Int(row, kItemSize))};
  Item& item = view.item;
  view.damaged = !DecodeItemFacts(rows.Bytes(row, kItemFacts), item);
  if (view.damaged) item = Item();
  if (!view.damaged && !rows.IsNull(row, kItemData)) item.data = rows.Bytes(row, kItemData);
  item.name = {.collection = collection, .key = std::string(rows.Bytes(row, kItemKey))};
  item.version = ItemVersion(static_cast<uint64_t>(rows.Int(row, kItemVersion)));
  item.created_at = rows.Time(row, kItemCreated);
  item.updated_at = rows.Time(row, kItemUpdated);
  return view;
}

}  // namespace

absl::StatusOr<ItemPage> Reads::Items(const SessionKey& key, const ItemQuery& query,
                                      PageLimit limit) {
  ASSIGN_OR_RETURN(const Rows rows,
                   database_.Ask(ItemStatementFor(query), ItemParams(key, query, limit)));
  ASSIGN_OR_RETURN(const Head head, HeadIn(rows, key));
  ItemPage page;
  page.uid = head.uid;
  page.items_version = head.items_version;
  page.end = rows.size() == kFirstItemRow;
  for (size_t row = kFirstItemRow; row < rows.size(); ++row) {
    page.last = std::string(rows.Bytes(row, kItemKey));
    page.end = rows.Bool(row, kItemEnds);
    page.looked_at = static_cast<uint64_t>(rows.Int(row, kItemLookedAt));
    if (rows.Bool(row, kItemWanted)) page.items.push_back(ReadItem(rows, row, query.collection));
  }
  return page;
}

}  // namespace holdfast::pg
