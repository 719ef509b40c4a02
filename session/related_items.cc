#include "session/related_items.h"

#include "platform/status_macros.h"
#include "session/limits.h"
#include "session/refusal.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace holdfast {
namespace {

// A state that changes while it is read is read again so often.
constexpr int kItemReads = 64;
constexpr PageLimit kRelatedLimit{.items = kPageMost, .bytes = kRelatedItemBytes};

// The keys of items that are attached to the item of this key.
KeyRange AttachedTo(const std::string& key) { return KeysWithPrefix(key + '\0'); }

// Whether the items of the page are all of a range: what is attached to them is one range too.
bool IsOneRange(const RelatedQuery& query) {
  return !query.ancestors_of && query.page.keys.empty() && query.page.labels.empty();
}

// One attempt to read a page and what belongs to it.
class RelatedReading {
 public:
  // All outlive it.
  RelatedReading(SessionStore& store, const SessionKey& key, const RelatedQuery& query)
      : store_(store), key_(key), query_(query) {}

  // Nothing where the items changed meanwhile.
  absl::StatusOr<std::optional<RelatedPage>> Read(PageLimit limit) {
    RelatedPage read;
    if (query_.ancestors_of) {
      RETURN_IF_ERROR(ReadAncestors(limit, read.page));
    } else {
      ASSIGN_OR_RETURN(read.page, Ask(query_.page, limit));
    }
    for (const ItemView& view : read.page.items) shown_.insert(view.item.name);
    read.related.resize(read.page.items.size());
    if (query_.refs) {
      RETURN_IF_ERROR(ReadRefs(read));
    }
    if (!query_.attached.empty()) {
      RETURN_IF_ERROR(ReadAttached(read));
    }
    read.page.uid = uid_.value_or(SessionUid());
    read.page.items_version = version_.value_or(ItemVersion());
    return changed_ ? std::nullopt : std::optional(std::move(read));
  }

  // Of what was read because it belongs to the page.
  [[nodiscard]] size_t related_bytes() const { return related_bytes_; }
  [[nodiscard]] bool is_too_much() const { return related_bytes_ > kRelatedItemBytes; }

 private:
  absl::StatusOr<ItemPage> Ask(const ItemQuery& query, PageLimit limit) {
    ASSIGN_OR_RETURN(ItemPage page, store_.ReadItems(key_, query, limit));
    if (version_ && *version_ != page.items_version) changed_ = true;
    if (uid_ && *uid_ != page.uid) changed_ = true;
    version_ = page.items_version;
    uid_ = page.uid;
    return page;
  }

  absl::StatusOr<std::optional<ItemView>> Find(const std::string& key) {
    ASSIGN_OR_RETURN(
        ItemPage found,
        Ask({.collection = query_.page.collection, .keys = {key}, .data = query_.page.data},
            {.items = 1, .bytes = kPageBytes}));
    if (found.items.empty()) return std::nullopt;
    return std::move(found.items.front());
  }

  // The chain ends with an item without a parent, or with a parent that is not there.
  absl::Status ReadAncestors(PageLimit limit, ItemPage& page) {
    std::string next = *query_.ancestors_of;
    if (query_.page.after) {
      ASSIGN_OR_RETURN(const std::optional<ItemView> last, Find(*query_.page.after));
      next = last ? last->item.parent_key : "";
    }
    size_t bytes = 0;
    while (!next.empty()) {
      ASSIGN_OR_RETURN(std::optional<ItemView> found, Find(next));
      if (!found) break;
      bytes += ItemBytes(found->item);
      const bool full =
          page.items.size() == limit.items || (bytes > limit.bytes && !page.items.empty());
      if (full) return absl::OkStatus();
      page.last = next;
      next = found->item.parent_key;
      page.items.push_back(*std::move(found));
    }
    page.end = true;
    return absl::OkStatus();
  }

  void Add(ItemView view, std::vector<ItemView>& to) {
    if (!shown_.insert(view.item.name).second) return;
    to.push_back(std::move(view));
  }

  absl::Status ReadRefs(RelatedPage& read) {
    std::map<std::string, std::set<std::string>> wanted;
    for (const ItemView& view : read.page.items) {
      for (const ItemName& ref : view.item.refs) {
        if (!shown_.contains(ref)) wanted[ref.collection].insert(ref.key);
      }
    }
    std::map<ItemName, ItemView> found;
    for (const auto& [collection, keys] : wanted) {
      for (auto key = keys.begin(); key != keys.end();) {
        ItemQuery query{.collection = collection, .data = query_.page.data};
        for (; key != keys.end() && query.keys.size() < kItemKeysPerRead; ++key) {
          query.keys.push_back(*key);
        }
        RETURN_IF_ERROR(ReadAll(query, [&](ItemView view) {
          found.insert_or_assign(view.item.name, std::move(view));
        }));
      }
    }
    for (size_t i = 0; i < read.page.items.size(); ++i) {
      for (const ItemName& ref : read.page.items[i].item.refs) {
        const auto there = found.find(ref);
        if (there != found.end()) Add(there->second, read.related[i]);
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadAttached(RelatedPage& read) {
    std::vector<ItemView>& items = read.page.items;
    if (items.empty()) return absl::OkStatus();
    std::map<std::string, size_t> places;
    for (size_t i = 0; i < items.size(); ++i) places[items[i].item.name.key] = i;
    const auto add = [&](ItemView view) {
      const std::optional<size_t> place = PlaceOf(view.item.name.key, places);
      if (place) Add(std::move(view), read.related[*place]);
    };
    if (IsOneRange(query_)) {
      const KeyRange whole{.start = AttachedTo(places.begin()->first).start,
                           .end = AttachedTo(places.rbegin()->first).end};
      return ReadAll({.collection = query_.attached, .range = whole, .data = query_.page.data},
                     add);
    }
    for (const auto& [key, place] : places) {
      RETURN_IF_ERROR(ReadAll(
          {.collection = query_.attached, .range = AttachedTo(key), .data = query_.page.data},
          [&](ItemView view) { Add(std::move(view), read.related[place]); }));
    }
    return absl::OkStatus();
  }

  // Of the first item that an item of this key is attached to. Its own key may have a byte 0 too.
  static std::optional<size_t> PlaceOf(const std::string& key,
                                       const std::map<std::string, size_t>& places) {
    for (size_t end = key.find('\0'); end != std::string::npos; end = key.find('\0', end + 1)) {
      const auto place = places.find(key.substr(0, end));
      if (place != places.end()) return place->second;
    }
    return std::nullopt;
  }

  // Every item, unless they take more than may belong to a page.
  template <typename Take>
  absl::Status ReadAll(ItemQuery query, Take take) {
    while (!changed_ && !is_too_much()) {
      ASSIGN_OR_RETURN(ItemPage page, Ask(query, kRelatedLimit));
      for (ItemView& view : page.items) {
        related_bytes_ += sizeof(ItemView) + ItemBytes(view.item);
        take(std::move(view));
      }
      if (page.end) break;
      query.after = std::move(page.last);
    }
    return absl::OkStatus();
  }

  SessionStore& store_;
  const SessionKey& key_;
  const RelatedQuery& query_;
  std::optional<ItemVersion> version_;
  std::optional<SessionUid> uid_;
  bool changed_ = false;
  std::set<ItemName> shown_;
  size_t related_bytes_ = 0;
};

}  // namespace

absl::StatusOr<RelatedPage> ReadRelatedItems(SessionStore& store, const SessionKey& key,
                                             const RelatedQuery& query, PageLimit limit) {
  if (!query.attached.empty() && !IsOneRange(query)) {
    limit.items = std::min(limit.items, kItemsWithAttached);
  }
  for (int attempt = 0; attempt < kItemReads; ++attempt) {
    RelatedReading reading(store, key, query);
    ASSIGN_OR_RETURN(std::optional<RelatedPage> read, reading.Read(limit));
    if (reading.is_too_much() && limit.items > 1) {
      limit.items = std::max<uint32_t>(1, limit.items / 2);
    } else if (reading.is_too_much()) {
      return TooLarge(query.refs ? "include_refs" : "include_attached", kRelatedItemBytes,
                      reading.related_bytes());
    } else if (read) {
      return *std::move(read);
    }
  }
  return StoreUnavailable("the items are changing too fast: read again", Fate::kNoEffect);
}

}  // namespace holdfast
