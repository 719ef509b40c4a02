#include "store-fs/item_page.h"

#include "platform/status_macros.h"
#include "session/codec/item_facts.h"
#include "store-fs/layout.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace holdfast::fs {
namespace {

constexpr char kLeastByte = '\0';
// Sealed logs that a page has open at once: each has a descriptor.
constexpr size_t kLogsAtOnce = 8;

Direction DirectionOf(const ItemQuery& query) {
  return query.descending ? Direction::kDescending : Direction::kAscending;
}

// Where a page of `query` begins and may end.
KeyRange KeysOf(const ItemQuery& query) {
  KeyRange keys = ItemKeysIn(query.collection, query.range);
  if (!query.after) return keys;
  std::string after = ItemKey({.collection = query.collection, .key = *query.after});
  if (query.descending) {
    keys.to = std::min(keys.to, after);
  } else {
    after.push_back(kLeastByte);  // the next key that there may be
    keys.from = std::max(keys.from, after);
  }
  return keys;
}

// Leaves out what lies behind the newer entries that were copied.
void Cut(const ItemQuery& query, ItemsLook& look) {
  look.is_cut = true;
  if (query.descending) {
    look.range.from = look.index.newer.front().key;
  } else {
    look.range.to = look.index.newer.back().key;
    look.range.to.push_back(kLeastByte);
  }
}

}  // namespace

ItemsLook LookAtItems(const SessionState& state, const std::shared_ptr<File>& journal,
                      const ItemQuery& query, size_t newer_most) {
  const IndexLayer& newer = state.items.newer();
  ItemsLook look{.index = {.newer = {}, .runs = state.items.runs()},
                 .range = KeysOf(query),
                 .is_cut = false,
                 .journal = journal,
                 .uid = state.head.uid,
                 .items_version = state.head.items_version};
  for (const std::string& key : query.keys) {
    std::string stored = ItemKey({.collection = query.collection, .key = key});
    const std::optional<std::string>* value = newer.Find(stored);
    if (value != nullptr) look.index.newer.push_back({.key = std::move(stored), .value = *value});
  }
  if (!query.keys.empty()) return look;
  look.index.newer = newer.SomeIn(look.range, DirectionOf(query), newer_most);
  if (!look.index.newer.empty() && look.index.newer.size() == newer_most) Cut(query, look);
  return look;
}

ItemPageReader::ItemPageReader(const RunFiles& where, const ItemsLook& look, const ItemQuery& query,
                               PageLimit limit)
    : where_(where), look_(look), query_(query), limit_(limit) {}

absl::StatusOr<std::optional<ItemPage>> ItemPageReader::Read() {
  return ReadFrom(query_.keys.empty() ? InRange() : OfKeys());
}

absl::StatusOr<std::optional<ItemPage>> ItemPageReader::ReadFrom(const NextCandidate& next) {
  const uint64_t look_at =
      query_.labels.empty() ? std::numeric_limits<uint64_t>::max() : query_.look_most;
  ItemPage page;
  page.uid = look_.uid;
  page.items_version = look_.items_version;
  uint64_t bytes = 0;
  for (uint64_t looked = 0;; ++looked) {
    page.looked_at = looked;
    ASSIGN_OR_RETURN(const std::optional<Candidate> candidate, next());
    if (!candidate) {
      page.end = !look_.is_cut;
      if (look_.is_cut) return std::nullopt;
      return page;
    }
    if (page.items.size() == limit_.items || looked == look_at) return page;
    ASSIGN_OR_RETURN(const bool has_room, Take(*candidate, bytes, page));
    if (!has_room) return page;
    page.last = candidate->name.key;
  }
}

absl::StatusOr<bool> ItemPageReader::Take(const Candidate& candidate, uint64_t& bytes,
                                          ItemPage& page) {
  ASSIGN_OR_RETURN(ItemView view, ViewOf(candidate));
  // One whose labels cannot be read may have them.
  if (!view.damaged && !HasLabels(view.item, query_.labels)) return true;
  bytes += BytesInPage(candidate, view);
  if (!page.items.empty() && bytes > limit_.bytes) return false;
  if (query_.data && !view.damaged) {
    RETURN_IF_ERROR(ReadData(*candidate.entry, view));
  }
  page.items.push_back(std::move(view));
  return true;
}

ItemPageReader::NextCandidate ItemPageReader::InRange() {
  const auto cursor = std::make_shared<IndexCursor>(
      where_, look_.index,
      IndexScan{.range = look_.range, .deleted = Deleted::kHide, .direction = DirectionOf(query_)});
  return [this, cursor]() -> absl::StatusOr<std::optional<Candidate>> {
    const bool is_empty = look_.range.to <= look_.range.from;
    if (is_empty) return std::nullopt;
    ASSIGN_OR_RETURN(const std::optional<IndexEntry> entry, cursor->Next());
    if (!entry) return std::nullopt;
    std::optional<ItemName> name = NameOfItemKey(entry->key);
    if (!name) return absl::DataLossError("a key of the index is of no item");
    return Candidate{.name = *std::move(name), .entry = DecodeItemEntry(*entry)};
  };
}

ItemPageReader::NextCandidate ItemPageReader::OfKeys() {
  std::vector<std::string> keys;
  for (const std::string& key : query_.keys) {
    const bool is_behind =
        !query_.after || (query_.descending ? key < *query_.after : key > *query_.after);
    if (is_behind) keys.push_back(key);
  }
  // The next one is the last one.
  if (!query_.descending) std::ranges::reverse(keys);
  return [this, keys]() mutable -> absl::StatusOr<std::optional<Candidate>> {
    while (!keys.empty()) {
      Candidate candidate{.name = {.collection = query_.collection, .key = std::move(keys.back())},
                          .entry = std::nullopt};
      keys.pop_back();
      const auto found = FindEntry(where_, look_.index, ItemKey(candidate.name));
      if (IsUnreadable(found.status())) return candidate;
      RETURN_IF_ERROR(found.status());
      if (!*found) continue;
      candidate.entry = DecodeItemEntry(**found);
      return candidate;
    }
    return std::nullopt;
  };
}

absl::StatusOr<ItemView> ItemPageReader::ViewOf(const Candidate& candidate) {
  ItemView damaged{.item = {}, .size = 0, .damaged = true};
  damaged.item.name = candidate.name;
  if (!candidate.entry) return damaged;
  const ItemEntry& entry = *candidate.entry;
  absl::StatusOr<std::string> facts = entry.facts;
  if (entry.facts_at.size > 0) facts = ReadAt(entry.facts_at);
  if (IsShortage(facts.status())) return facts.status();
  ItemView view{.item = {}, .size = entry.data.size, .damaged = false};
  if (!facts.ok() || !DecodeItemFacts(*facts, view.item)) return damaged;
  view.item.name = candidate.name;
  view.item.version = entry.version;
  view.item.created_at = entry.created_at;
  view.item.updated_at = entry.updated_at;
  return view;
}

uint64_t ItemPageReader::BytesInPage(const Candidate& candidate, const ItemView& view) const {
  if (view.damaged) return ItemBytes(view.item);
  return candidate.entry->bytes - (query_.data ? 0 : view.size);
}

absl::Status ItemPageReader::ReadData(const ItemEntry& entry, ItemView& view) {
  if (entry.data.size == 0) return absl::OkStatus();
  absl::StatusOr<std::string> data = ReadAt(entry.data);
  if (IsShortage(data.status())) return data.status();
  view.damaged = !data.ok();
  if (data.ok()) view.item.data = *std::move(data);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ItemPageReader::ReadAt(const Extent& place) {
  if (place.file == 0) return ReadExtent(*look_.journal, place);
  auto log = logs_.find(place.file);
  if (log == logs_.end()) {
    if (logs_.size() == kLogsAtOnce) logs_.clear();
    ASSIGN_OR_RETURN(
        std::unique_ptr<File> file,
        where_.files.Open(PathOf(where_.key, FileKind::kLog, place.file), OpenMode::kRead));
    log = logs_.emplace(place.file, std::move(file)).first;
  }
  return ReadExtent(*log->second, place);
}

}  // namespace holdfast::fs
