// Reads of items.
#include "platform/status_macros.h"
#include "session/kept.h"
#include "session/limits.h"
#include "store-fs/item_page.h"
#include "store-fs/readers.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace holdfast::fs {
namespace {

// A compaction or a merge may replace a file between looking and reading; then a second look finds
// the new one.
constexpr int kItemReadAttempts = 3;
// Newer entries that a page without labels copies at first: of most pages all that it needs.
constexpr size_t kNewerAtFirst = 1024;

size_t NewerNeeded(const ItemQuery& query, PageLimit limit) {
  const size_t shown = std::max<size_t>(kNewerAtFirst, 2 * size_t{limit.items});
  return query.labels.empty() ? shown : size_t{query.look_most} + 1;
}

}  // namespace

absl::StatusOr<ItemPage> Readers::Items(const ItemQuery& query, PageLimit limit) {
  const RunFiles where{.files = environment_.files, .key = key_};
  size_t newer_most = NewerNeeded(query, limit);
  for (int attempt = 1;;) {
    ItemsLook look;
    RETURN_IF_ERROR(session_.Look([&](const SessionState& state, const auto& journal) {
      look = LookAtItems(state, journal, query, newer_most);
    }));
    absl::StatusOr<std::optional<ItemPage>> page = ItemPageReader(where, look, query, limit).Read();
    if (!page.ok() && !IsUnreadable(page.status())) {
      return environment_.fail_stop.FailUnwritten(page.status());
    }
    if (page.ok() && !*page) {
      newer_most = std::numeric_limits<size_t>::max();
      continue;
    }
    const bool is_whole = page.ok() && std::ranges::none_of((*page)->items, &ItemView::damaged);
    if (!is_whole && attempt++ < kItemReadAttempts) continue;
    if (!page.ok()) return Damaged("items", 0);
    return **std::move(page);
  }
}

}  // namespace holdfast::fs
