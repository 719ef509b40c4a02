#include "store-fs/listing.h"

#include "session/cancel_requests.h"
#include "session/refusal.h"

#include <algorithm>
#include <iterator>

namespace holdfast::fs {
namespace {

// Whether a filter, which is empty for any value, takes `value`.
template <typename Value>
bool Wants(const std::vector<Value>& filter, Value value) {
  return filter.empty() || std::ranges::find(filter, value) != filter.end();
}

bool Matches(const ListQuery& query, const SessionRow& row) {
  const bool filtered = !query.project_root.empty() || !query.lifecycles.empty() ||
                        !query.kinds.empty() || !query.group.empty();
  if (row.condition != SessionRow::Condition::kOk) return !filtered;
  if (!query.project_root.empty() && row.project_root != query.project_root) return false;
  return Wants(query.lifecycles, row.lifecycle) && Wants(query.kinds, row.kind);
}

// Takes rows from `it` on until the page is full; true when the end was reached.
template <typename Iterator, typename RowAt>
bool Fill(Iterator it, const Iterator& end, const ListQuery& query, RowAt row_at, ListPage& page) {
  for (; it != end; ++it) {
    const SessionRow& row = row_at(it);
    if (!Matches(query, row)) continue;
    if (page.rows.size() == query.limit) return false;
    page.rows.push_back(row);
  }
  return true;
}

// The part of an ordered container that the query asks for, forwards or backwards.
template <typename Container, typename RowAt, typename Key>
void FillFrom(const Container& container, const ListQuery& query, const std::optional<Key>& after,
              RowAt row_at, ListPage& page) {
  if (query.descending) {
    auto from = container.rbegin();
    if (after) from = std::make_reverse_iterator(container.lower_bound(*after));
    page.end = Fill(from, container.rend(), query, row_at, page);
  } else {
    auto from = after ? container.upper_bound(*after) : container.begin();
    page.end = Fill(from, container.end(), query, row_at, page);
  }
}

// Behind every group that begins with `prefix`: no letter of a group is as large.
std::string EndOfGroups(const std::string& prefix) { return prefix + '\x7f'; }

// Removes `key` from the set of `name`, and the set when nothing else is in it.
template <typename Key>
void EraseFrom(std::map<std::string, std::set<Key>>& sets, const std::string& name,
               const Key& key) {
  const auto found = sets.find(name);
  if (found == sets.end()) return;
  found->second.erase(key);
  if (found->second.empty()) sets.erase(found);
}

// Has `id` in the set or not.
void Keep(bool wanted, const std::string& id, std::set<std::string>& ids) {
  if (wanted) {
    ids.insert(id);
  } else {
    ids.erase(id);
  }
}

}  // namespace

SessionRow RowOf(const SessionId& id, const Head& head) {
  SessionRow row;
  row.id = id;
  row.uid = head.uid;
  row.lifecycle = head.lifecycle;
  row.revision = head.revision;
  row.kind = head.kind;
  row.group = head.group;
  row.project_root = head.project_root;
  const auto title = head.attributes.find("title");
  if (title != head.attributes.end()) row.title = title->second;
  row.messages = head.messages;
  row.cancelling = EndingCancelRequest(head) != nullptr;
  row.created_at = head.created_at;
  row.updated_at = head.updated_at;
  row.last_event = head.last_event;
  row.items_version = head.items_version;
  return row;
}

SessionRow UnreadableRow(const SessionId& id, const absl::Status& refusal) {
  SessionRow row;
  row.id = id;
  const Refusal why = RefusalOf(refusal);
  row.condition = SessionRow::Condition::kDamaged;
  if (why.reason() == Reason::kResumeMismatch) {
    row.condition = SessionRow::Condition::kForeign;
    row.foreign_store = why.facts().at("stored");
  }
  return row;
}

void Listing::Count(Tenant& tenant, const SessionRow& row, bool in) {
  if (row.condition != SessionRow::Condition::kOk) return;
  size_t& count = tenant.counts.at(static_cast<size_t>(row.lifecycle));
  in ? ++count : --count;
}

SessionCounts Listing::Counts() const {
  SessionCounts sum{};
  const absl::MutexLock lock(&mutex_);
  for (const auto& [id, tenant] : tenants_) {
    for (size_t i = 0; i < sum.size(); ++i) sum.at(i) += tenant.counts.at(i);
  }
  return sum;
}

void Listing::Take(Tenant& tenant, const std::string& id) {
  const auto found = tenant.by_id.find(id);
  if (found == tenant.by_id.end()) return;
  const auto row = tenant.rows.find(found->second);
  EraseFrom(tenant.by_project, row->second.project_root, found->second);
  EraseFrom(tenant.by_group, row->second.group, found->second);
  Count(tenant, row->second, false);
  tenant.rows.erase(row);
  tenant.active.erase(id);
  tenant.cancelling.erase(id);
  tenant.by_id.erase(found);
}

void Listing::Place(Tenant& tenant, const SessionRow& row) {
  const std::string& id = row.id.value();
  const Key key(row.created_at, id);
  const auto known = tenant.by_id.find(id);
  if (known != tenant.by_id.end()) {
    SessionRow& stored = tenant.rows.find(known->second)->second;
    // They are fixed for the life of a session, but a damaged one that was mended gets new ones.
    if (known->second != key || stored.project_root != row.project_root ||
        stored.group != row.group) {
      Take(tenant, id);
    } else {
      Count(tenant, stored, false);
    }
  }
  Count(tenant, row, true);
  tenant.rows.insert_or_assign(key, row);
  tenant.by_id.insert_or_assign(id, key);
  tenant.by_project[row.project_root].insert(key);
  if (!row.group.empty()) tenant.by_group[row.group].insert(key);
  const bool readable = row.condition == SessionRow::Condition::kOk;
  Keep(readable && row.lifecycle == Lifecycle::kActive, id, tenant.active);
  Keep(readable && row.cancelling, id, tenant.cancelling);
}

void Listing::Put(const TenantId& tenant, const SessionRow& row) {
  const absl::MutexLock lock(&mutex_);
  Place(tenants_[tenant.value()], row);
}

void Listing::PutIfUnknown(const TenantId& tenant, const SessionRow& row) {
  const absl::MutexLock lock(&mutex_);
  Tenant& of = tenants_[tenant.value()];
  if (!of.by_id.contains(row.id.value())) Place(of, row);
}

void Listing::Remove(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  const auto tenant = tenants_.find(key.tenant.value());
  if (tenant != tenants_.end()) Take(tenant->second, key.session.value());
}

std::vector<std::string> Listing::Ids(const TenantId& tenant) const {
  const absl::MutexLock lock(&mutex_);
  std::vector<std::string> ids;
  const auto found = tenants_.find(tenant.value());
  if (found == tenants_.end()) return ids;
  for (const auto& [id, key] : found->second.by_id) ids.push_back(id);
  return ids;
}

ListPage Listing::Page(const ListQuery& query) const {
  ListPage page;
  page.complete = complete_;
  page.end = true;
  const std::optional<Key> after =
      query.after ? std::optional(Key(query.after->created_at, query.after->id)) : std::nullopt;
  const absl::MutexLock lock(&mutex_);
  const auto found = tenants_.find(query.tenant.value());
  if (found == tenants_.end()) return page;
  const Tenant& tenant = found->second;
  if (!query.group.empty()) {
    FillGroups(tenant, query, after, page);
    return page;
  }
  if (query.project_root.empty()) {
    FillFrom(
        tenant.rows, query, after, [](const auto& it) -> const SessionRow& { return it->second; },
        page);
    return page;
  }
  const auto project = tenant.by_project.find(query.project_root);
  if (project == tenant.by_project.end()) return page;
  FillFrom(
      project->second, query, after,
      [&](const auto& it) -> const SessionRow& { return tenant.rows.at(*it); }, page);
  return page;
}

void Listing::FillGroups(const Tenant& tenant, const ListQuery& query,
                         const std::optional<Key>& after, ListPage& page) {
  const auto& groups = tenant.by_group;
  // Adds what of one group follows the position; false when the page is full.
  const auto add = [&](const auto& group) {
    const bool within = after && (!query.group_is_prefix || group.first == query.after->group);
    FillFrom(
        group.second, query, within ? after : std::nullopt,
        [&](const auto& it) -> const SessionRow& { return tenant.rows.at(*it); }, page);
    return page.end;
  };
  if (!query.group_is_prefix) {
    const auto group = groups.find(query.group);
    if (group != groups.end()) add(*group);
  } else if (query.descending) {
    const auto first = groups.lower_bound(query.group);
    auto it = after ? groups.upper_bound(query.after->group)
                    : groups.lower_bound(EndOfGroups(query.group));
    while (it != first && add(*std::prev(it))) --it;
  } else {
    const auto end = groups.lower_bound(EndOfGroups(query.group));
    auto it = groups.lower_bound(after ? query.after->group : query.group);
    while (it != end && add(*it)) ++it;
  }
}

std::vector<IndexRow> Listing::All() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<IndexRow> all;
  for (const auto& [name, tenant] : tenants_) {
    for (const auto& [key, row] : tenant.rows) {
      all.push_back({.tenant = *TenantId::Parse(name), .row = row});
    }
  }
  return all;
}

std::vector<SessionKey> Listing::Active(const std::optional<SessionKey>& after) const {
  return KeysIn(&Tenant::active, after);
}

std::vector<SessionKey> Listing::Cancelling(const std::optional<SessionKey>& after) const {
  return KeysIn(&Tenant::cancelling, after);
}

std::vector<SessionKey> Listing::KeysIn(std::set<std::string> Tenant::*ids,
                                        const std::optional<SessionKey>& after) const {
  const absl::MutexLock lock(&mutex_);
  std::vector<SessionKey> keys;
  auto tenant = after ? tenants_.lower_bound(after->tenant.value()) : tenants_.begin();
  for (; tenant != tenants_.end(); ++tenant) {
    const auto& [name, of] = *tenant;
    const std::set<std::string>& names = of.*ids;
    const bool within = after && name == after->tenant.value();
    auto id = within ? names.upper_bound(after->session.value()) : names.begin();
    for (; id != names.end(); ++id) {
      keys.push_back({*TenantId::Parse(name), *SessionId::Parse(*id)});
    }
  }
  return keys;
}

}  // namespace holdfast::fs
