// Mutants of items: conditions, deletes, counters and bounds, and reading them.
#include "session/limits.h"
#include "tests/contract/mutants.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <variant>

namespace holdfast::test {
namespace {

const std::vector<Mutant> kItemMutants = {
    {"puts-items-whatever-their-version",
     {.change =
          [](Stage&, Change& change) {
            for (ItemPut& put : change.items.puts) {
              if (put.condition == PutCondition::kIfVersion) put.condition = PutCondition::kAny;
            }
          }}},
    {"compares-no-last-key",
     {.change = [](Stage&, Change& change) { change.items.expected_last.reset(); }}},
    {"takes-any-number-of-items",
     {.change = [](Stage& stage, Change&) { stage.disk.item_bounds.items = kItemsPerSession; }}},
    {"takes-any-size-of-items",
     {.change = [](Stage& stage,
                   Change&) { stage.disk.item_bounds.bytes = kItemBytesPerSession; }}},
    {"deletes-any-number-of-items",
     {.change = [](Stage& stage, Change&) { stage.disk.item_bounds.deletes = kItemsPerDelete; }}},
    {"moves-the-revision-with-items",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || change.items.empty() || change.create) return;
            session->head.revision = session->head.revision.Next();
            answer->receipt.revision = session->head.revision;
          }}},
    {"gives-the-number-of-a-delete-again",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || change.items.deletes.empty() || !change.items.puts.empty())
              return;
            session->head.items_version = ItemVersion(session->head.items_version.value() - 1);
            answer->receipt.items_version = session->head.items_version;
          }}},
    {"appends-under-one-key",
     {.change =
          [](Stage&, Change& change) {
            for (ItemPut& put : change.items.puts) {
              if (put.item.name.key.empty()) put.item.name.key = "append";
            }
          }}},
    {"puts-where-there-is-an-item-already",
     {.change =
          [](Stage&, Change& change) {
            for (ItemPut& put : change.items.puts) {
              if (put.condition == PutCondition::kIfAbsent) put.condition = PutCondition::kAny;
            }
          }}},
    {"expects-an-item-for-its-version",
     {.change =
          [](Stage&, Change& change) {
            for (ItemPut& put : change.items.puts) {
              if (put.condition == PutCondition::kIfVersion && put.expected == ItemVersion())
                put.expected = ItemVersion(1);
            }
          }}},
    {"creates-items-anew-with-each-put",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr) return;
            for (auto& [name, item] : session->items) item.created_at = item.updated_at;
          }}},
    {"deletes-behind-the-puts",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr) return;
            for (const ItemDelete& wanted : change.items.deletes) {
              if (const auto* key = std::get_if<std::string>(&wanted.keys))
                session->items.erase({.collection = wanted.collection, .key = *key});
            }
          }}},
    {"deletes-what-begins-with-a-key",
     {.change =
          [](Stage&, Change& change) {
            for (ItemDelete& wanted : change.items.deletes) {
              if (const auto* key = std::get_if<std::string>(&wanted.keys))
                wanted.keys = KeysWithPrefix(std::string(*key));
            }
          }}},
    {"deletes-to-the-end",
     {.change =
          [](Stage&, Change& change) {
            for (ItemDelete& wanted : change.items.deletes) {
              if (auto* range = std::get_if<KeyRange>(&wanted.keys)) range->end.clear();
            }
          }}},
    {"counts-what-was-to-be-deleted",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            if (ChangedSession(stage, change, answer) == nullptr) return;
            answer->receipt.items_deleted = change.items.deletes.size();
          }}},
    {"a-repeat-forgets-the-puts",
     {.committed =
          [](Stage&, const Change&, CommitAnswer& answer) {
            if (!answer.ok() || answer->kind != CommitResult::Kind::kRepeated) return;
            answer->receipt.puts.clear();
          }}},
    {"a-new-history-takes-the-items",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session != nullptr && change.replaces_history) session->items.clear();
          }}},
    {"items-are-gone-when-opened-again",
     {.opened =
          [](Stage& stage) {
            if (stage.openings == 1) return;
            for (auto& [key, session] : stage.disk.sessions) session.items.clear();
          }}},
    {"deleted-items-are-back-when-opened-again",
     {.closing =
          [](Stage& stage) {
            for (auto& [key, session] : stage.disk.sessions) {
              const auto former = stage.before.sessions.find(key);
              if (former != stage.before.sessions.end())
                session.items.insert(former->second.items.begin(), former->second.items.end());
            }
          }}},
    {"creates-without-items",
     {.change =
          [](Stage&, Change& change) {
            if (change.create) change.items = {};
          }}},
    {"loses-every-fifth-append",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || change.items.puts.size() != 1) return;
            if (session->head.items_version.value() % 5 == 0 &&
                change.items.puts.front().item.name.key.empty())
              session->items.erase(std::prev(session->items.end()));
          }}},
    {"reads-the-items-of-another-session",
     {.items =
          [](Stage& stage, const SessionKey& key, const ItemQuery& query,
             absl::StatusOr<ItemPage>& page) {
            for (const auto& [other, session] : stage.disk.sessions) {
              if (other == key || !page.ok()) continue;
              for (const auto& [name, item] : session.items) {
                if (name.collection == query.collection) page->items.push_back({.item = item});
              }
            }
          }}},
    {"shows-items-from-the-last-one-on",
     {.items =
          [](Stage&, const SessionKey&, const ItemQuery& query, absl::StatusOr<ItemPage>& page) {
            if (page.ok() && !query.descending) std::ranges::reverse(page->items);
          }}},
    {"never-descends",
     {.ask_items = [](ItemQuery& query, PageLimit&) { query.descending = false; }}},
    {"reads-behind-the-range",
     {.ask_items = [](ItemQuery& query, PageLimit&) { query.range.end.clear(); }}},
    {"reads-whatever-keys-are-named",
     {.ask_items = [](ItemQuery& query, PageLimit&) { query.keys.clear(); }}},
    {"compares-labels-without-their-type",
     {.items =
          [](Stage& stage, const SessionKey& key, const ItemQuery& query,
             absl::StatusOr<ItemPage>& page) {
            if (!page.ok() || query.labels.empty()) return;
            ItemQuery all = query;
            all.labels.clear();
            const auto every =
                stage.store.ReadItems(key, all, {.items = kPageMost, .bytes = kPageBytes});
            if (!every.ok()) return;
            page->items.clear();
            for (const ItemView& view : every->items) {
              const bool named = std::ranges::all_of(query.labels, [&](const auto& label) {
                return view.item.labels.contains(label.first);
              });
              if (named) page->items.push_back(view);
            }
          }}},
    {"looks-at-every-item-for-labels",
     {.items =
          [](Stage&, const SessionKey&, const ItemQuery& query, absl::StatusOr<ItemPage>& page) {
            if (!page.ok() || query.labels.empty() || page->end) return;
            page->end = true;
          }}},
    {"cuts-data-at-a-zero",
     {.items =
          [](Stage&, const SessionKey&, const ItemQuery&, absl::StatusOr<ItemPage>& page) {
            if (!page.ok()) return;
            for (ItemView& view : page->items) {
              const std::string& data = view.item.data.str();
              view.item.data = data.substr(0, data.find('\0'));
            }
          }}},
    {"brings-the-data-unasked",
     {.ask_items = [](ItemQuery& query, PageLimit&) { query.data = true; }}},
    {"shows-the-last-item-as-it-was",
     {.items =
          [](Stage& stage, const SessionKey& key, const ItemQuery& query,
             absl::StatusOr<ItemPage>& page) {
            if (!page.ok() || page->items.empty()) return;
            const auto former = stage.before.sessions.find(key);
            if (former == stage.before.sessions.end()) return;
            Item& last = page->items.back().item;
            const auto found = former->second.items.find(last.name);
            if (found != former->second.items.end() && query.data) last.data = found->second.data;
          }}},
};

}  // namespace

const std::vector<Mutant>& ItemMutants() { return kItemMutants; }

}  // namespace holdfast::test
