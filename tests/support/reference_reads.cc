// The reads of the reference store: pages, positions, listings.
#include "platform/status_macros.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "tests/support/reference_rules.h"
#include "tests/support/reference_store.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace holdfast::test {
namespace {

// Says when a page is full.
class PageMeter {
 public:
  explicit PageMeter(PageLimit limit) : limit_(limit) {}

  // True when an item of `bytes` still belongs to the page.
  bool Takes(size_t bytes) {
    const bool fits = items_ < limit_.items && (items_ == 0 || bytes_ + bytes <= limit_.bytes);
    ++items_;
    bytes_ += bytes;
    return fits;
  }

 private:
  PageLimit limit_;
  size_t items_ = 0;
  size_t bytes_ = 0;
};

size_t BytesOf(const Message& message) { return message.data.size(); }
size_t BytesOf(const JournalEntry& entry) {
  return entry.data.size() + (entry.slot ? entry.slot->data.size() : 0);
}
size_t BytesOf(const std::map<std::string, std::string>& data) {
  size_t bytes = 0;
  for (const auto& [name, value] : data) bytes += name.size() + value.size();
  return bytes;
}
size_t BytesOf(const Event& event) { return BytesOf(event.payload); }
size_t BytesOf(const AuditRecord& record) { return BytesOf(record.data); }

// The items of `all` that `wanted` takes, up to the limit; true when none was left.
template <typename Item, typename Wanted>
bool FillPage(const std::vector<Item>& all, PageLimit limit, const Wanted& wanted,
              std::vector<Item>& page) {
  PageMeter meter(limit);
  for (const Item& item : all) {
    if (!wanted(item)) continue;
    if (!meter.Takes(BytesOf(item))) return false;
    page.push_back(item);
  }
  return true;
}

// Returns OK when the state after `revision` is still kept.
absl::Status CheckKept(const Head& head, Revision revision) {
  if (revision > head.revision) {
    return Refusal(Reason::kRevisionAhead, "this revision has not been written here")
        .With("what", "revision")
        .With("known", revision.value())
        .With("stored", head.revision.value());
  }
  if (revision < OldestKept(head).revision) {
    return Refusal(Reason::kRevisionPruned, "this revision is no longer kept")
        .With("oldest", OldestKept(head).revision.value());
  }
  return absl::OkStatus();
}

// The head with the snapshot of this revision that a checkpoint pins, if one does.
Head HeadAt(const StoredSession& session, Revision revision) {
  Head head = session.head;
  if (revision >= OldestKept(head).revision) return head;
  for (const auto& [name, item] : session.items) {
    if (name.collection != kCheckpointCollection) continue;
    const std::optional<Checkpoint> checkpoint = DecodeCheckpoint(item);
    if (!checkpoint || checkpoint->revision() != revision) continue;
    head.snapshots.insert(head.snapshots.begin(), checkpoint->snapshot.record);
    return head;
  }
  return head;
}

// The last snapshot at or before `revision`, which is kept.
const SnapshotRecord& SnapshotAt(const Head& head, Revision revision) {
  const auto later = std::ranges::find_if(head.snapshots, [&](const SnapshotRecord& snapshot) {
    return snapshot.at.revision > revision;
  });
  return *std::prev(later);
}

// What the slot was after `revision`; nullptr when it was not there.
const Slot* SlotAt(const std::vector<SlotVersion>& versions, Revision revision) {
  const Slot* slot = nullptr;
  for (const SlotVersion& version : versions) {
    if (version.from <= revision) slot = version.slot ? &*version.slot : nullptr;
  }
  return slot;
}

ListKey KeyOf(const SessionRow& row) {
  return {.created_at = row.created_at, .id = row.id.value(), .group = row.group};
}

bool IsBefore(const ListKey& a, const ListKey& b) {
  return std::pair(a.created_at, a.id) < std::pair(b.created_at, b.id);
}

// C247.
bool BeforeByGroup(const ListKey& a, const ListKey& b) {
  return a.group == b.group ? IsBefore(a, b) : a.group < b.group;
}

SessionRow RowWithCondition(const SessionId& id, SessionRow::Condition condition,
                            const StoredSession& session) {
  SessionRow row{.id = id, .condition = condition, .created_at = absl::UnixEpoch()};
  if (condition == SessionRow::Condition::kForeign) row.foreign_store = session.head.store.value();
  return row;
}

// C342, C343: the slot as a row of a listing has it.
SlotView InRow(const Slot& slot) {
  const bool is_whole = !slot.staged && slot.data.size() <= kSlotBytesInRow;
  SlotView view{.slot = slot, .size = DataSize(slot), .data_left_out = !is_whole};
  if (!is_whole) view.slot.data.clear();
  return view;
}

SessionRow RowOf(const SessionId& id, const StoreId& store, const StoredSession& session) {
  const Head& head = session.head;
  if (head.store != store) return RowWithCondition(id, SessionRow::Condition::kForeign, session);
  if (session.damaged) return RowWithCondition(id, SessionRow::Condition::kDamaged, session);
  const auto title = head.attributes.find("title");
  return {.id = id,
          .lifecycle = head.lifecycle,
          .revision = head.revision,
          .kind = head.kind,
          .group = head.group,
          .project_root = head.project_root,
          .title = title == head.attributes.end() ? "" : title->second,
          .messages = head.messages,
          .cancelling = EndIsRequested(head),
          .created_at = head.created_at,
          .updated_at = head.updated_at,
          .uid = head.uid,
          .last_event = head.last_event,
          .items_version = head.items_version};
}

// C341, C342.
void Bring(const ListQuery& query, const StoredSession& session, SessionRow& row) {
  for (const auto& [name, value] : session.head.attributes) {
    if (std::ranges::count(query.attributes, name) > 0) row.attributes[name] = value;
  }
  for (const auto& [owner, versions] : session.slots) {
    const Slot* slot = SlotAt(versions, session.head.revision);
    const bool named = std::ranges::count(query.owners, owner) > 0;
    if (slot != nullptr && named) row.slots.push_back(InRow(*slot));
  }
}

bool Matches(const SessionRow& row, const ListQuery& query) {
  if (!query.project_root.empty() && row.project_root != query.project_root) return false;
  const bool in_group =
      query.group_is_prefix ? row.group.starts_with(query.group) : row.group == query.group;
  if (!query.group.empty() && !in_group) return false;
  const bool readable = row.condition == SessionRow::Condition::kOk;
  if (!query.kinds.empty() && (!readable || std::ranges::count(query.kinds, row.kind) == 0)) {
    return false;
  }
  return query.lifecycles.empty() || (row.condition == SessionRow::Condition::kOk &&
                                      std::ranges::count(query.lifecycles, row.lifecycle) > 0);
}

}  // namespace

absl::StatusOr<MessagePage> ReferenceStore::ReadMessages(const SessionKey& key,
                                                         std::optional<Revision> revision,
                                                         MessageSeq after, PageLimit limit) {
  const absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const StoredSession* session, Find(key));
  const Revision at = revision.value_or(session->head.revision);
  const Head head = HeadAt(*session, at);
  RETURN_IF_ERROR(CheckKept(head, at));
  const SnapshotRecord& snapshot = SnapshotAt(head, at);
  const bool now = at == head.revision;
  MessagePage page{.uid = head.uid,
                   .at = {.revision = at, .journal = now ? head.journal : snapshot.at.journal},
                   .newest = snapshot.messages,
                   .generation = snapshot.generation};
  page.end = FillPage(
      session->MessagesOf(snapshot.generation), limit,
      [&](const Message& message) { return message.seq > after && message.seq <= page.newest; },
      page.messages);
  return page;
}

absl::StatusOr<SlotPage> ReferenceStore::ReadSlots(const SessionKey& key, const SlotQuery& query) {
  const absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const StoredSession* session, Find(key));
  const Revision at = query.revision.value_or(session->head.revision);
  const Head head = HeadAt(*session, at);
  RETURN_IF_ERROR(CheckKept(head, at));
  const bool now = at == head.revision;
  SlotPage page{
      .uid = head.uid,
      .at = {.revision = at, .journal = now ? head.journal : SnapshotAt(head, at).at.journal}};
  size_t bytes = 0;
  for (const auto& [owner, versions] : session->slots) {
    const Slot* slot = SlotAt(versions, at);
    const bool named = query.owners.empty() || std::ranges::count(query.owners, owner) > 0;
    if (slot == nullptr || !named) continue;
    bytes += slot->data.size();
    const bool fits = bytes <= query.most_bytes;
    page.slots.push_back(
        {.slot = *slot, .size = DataSize(*slot), .data_left_out = !fits && !slot->data.empty()});
    if (!fits) page.slots.back().slot.data.clear();
  }
  return page;
}

absl::StatusOr<JournalPage> ReferenceStore::ReadJournal(const SessionKey& key,
                                                        const JournalQuery& query,
                                                        PageLimit limit) {
  const absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const StoredSession* session, Find(key));
  const Head& head = session->head;
  const JournalNumber floor = JournalFloor(head);
  if (query.after != JournalNumber() && query.after < floor) {
    return Refusal(Reason::kRevisionPruned, "these entries are no longer kept")
        .With("oldest", floor.value());
  }
  JournalPage page{.uid = head.uid, .at = {.revision = head.revision, .journal = head.journal}};
  page.end = FillPage(
      session->entries, limit,
      [&](const JournalEntry& entry) {
        return entry.journal_number > std::max(query.after, floor) &&
               (!query.turn || entry.turn == *query.turn);
      },
      page.entries);
  return page;
}

absl::StatusOr<ItemPage> ReferenceStore::ReadItems(const SessionKey& key, const ItemQuery& query,
                                                   PageLimit limit) {
  const absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const StoredSession* session, Find(key));
  ItemPage page = PageOfItems(session->items, query, limit);
  page.uid = session->head.uid;
  page.items_version = session->head.items_version;
  return page;
}

absl::StatusOr<EventPage> ReferenceStore::ReadEvents(const SessionKey& key, EventSeq after,
                                                     PageLimit limit) {
  const absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const StoredSession* session, Find(key));
  EventPage page{.uid = session->head.uid, .revision = session->head.revision};
  page.end = FillPage(
      session->events, limit, [&](const Event& event) { return event.seq > after; }, page.events);
  return page;
}

absl::StatusOr<Event> ReferenceStore::ReadLastEvent(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Serving());
  const auto found = disk_->sessions.find(key);
  if (found == disk_->sessions.end() || !found->second.tombstone || found->second.events.empty()) {
    return Refusal(Reason::kSessionNotFound, "no deleted session has this id");
  }
  return found->second.events.back();
}

absl::StatusOr<AuditPage> ReferenceStore::ReadAudit(const SessionKey& key, AuditSeq after,
                                                    PageLimit limit) {
  const absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const StoredSession* session, Find(key));
  AuditPage page;
  page.uid = session->head.uid;
  page.end = FillPage(
      session->audit, limit, [&](const AuditRecord& record) { return record.seq > after; },
      page.records);
  return page;
}

absl::StatusOr<ListPage> ReferenceStore::List(const ListQuery& query) {
  const absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Serving());
  std::vector<SessionRow> rows;
  for (const auto& [key, session] : disk_->sessions) {
    if (key.tenant != query.tenant || session.tombstone) continue;
    SessionRow row = RowOf(key.session, disk_->store, session);
    if (row.condition == SessionRow::Condition::kOk) Bring(query, session, row);
    if (Matches(row, query)) rows.push_back(std::move(row));
  }
  const auto order = [&](const ListKey& a, const ListKey& b) {
    const auto before = query.group_is_prefix ? BeforeByGroup : IsBefore;
    return query.descending ? before(b, a) : before(a, b);
  };
  std::ranges::sort(rows, order, KeyOf);
  ListPage page{.end = true};
  size_t bytes = 0;
  for (SessionRow& row : rows) {
    if (query.after && !order(*query.after, KeyOf(row))) continue;
    bytes += RowBytes(row);
    const bool has_room = page.rows.empty() || bytes <= query.most_bytes;
    page.end = page.rows.size() < query.limit && has_room;
    if (!page.end) break;
    page.rows.push_back(std::move(row));
  }
  return page;
}

absl::StatusOr<std::vector<SessionKey>> ReferenceStore::ListDue(
    DueKind kind, absl::Duration quiet, const std::optional<SessionKey>& after, size_t limit) {
  const absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Serving());
  std::erase_if(disk_->staged, [&](const auto& upload) {
    return upload.second.touched <= clock_.SinceBoot() - kUploadsKept;
  });
  std::vector<SessionKey> due;
  for (const auto& [key, session] : disk_->sessions) {
    if (due.size() == limit) break;
    if (after && key <= *after) continue;
    if (session.tombstone || session.damaged || session.head.store != disk_->store) continue;
    const Head head = HeadNow(key, session);
    const Live& live = LiveOf(key, session);
    const absl::Duration now = clock_.SinceBoot();
    if (kind == DueKind::kCancelled) {
      if (EndIsOverdue(head, now - live.cancel_seen_at.value_or(opened_at_), quiet))
        due.push_back(key);
      continue;
    }
    const bool held = head.lease.state == LeaseState::kLive;
    const bool still = now - live.active_at >= quiet;
    if (head.lifecycle == Lifecycle::kActive && !held && still) due.push_back(key);
  }
  return due;
}

}  // namespace holdfast::test
