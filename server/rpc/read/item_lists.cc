#include "server/rpc/read/item_lists.h"

#include "platform/encoding.h"
#include "platform/status_macros.h"
#include "server/rpc/convert/checkpoints.h"
#include "server/rpc/convert/contents.h"
#include "server/rpc/convert/fields.h"
#include "server/rpc/convert/session.h"
#include "server/rpc/read/page_size.h"
#include "server/rpc/read/page_token.h"
#include "session/audit_reads.h"
#include "session/checkpoint_reads.h"
#include "session/codec/item_facts.h"
#include "session/guard.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/staged.h"
#include "session/validate.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

// Of the data in a reply. A client takes 4 MiB by default, and the rest of a reply needs room too;
// what is more is read by owner, or streamed.
constexpr size_t kReplyBytes = kUnaryRequestBytes - 64 * kKiB;

// A list of the items of one session: what is asked for, and behind which item the page begins.
struct ItemsPage {
  ItemsRequest request;
  PageLimit limit;
  std::optional<PageEnd> after;   // of the page before; nullopt for the first page
  std::optional<SessionUid> uid;  // of this session of the id, if the request says which

  // FENCED where a page is of another session than the request, or than the page before.
  [[nodiscard]] absl::Status CheckSession(const SessionUid& read) const {
    RETURN_IF_ERROR(CheckSameSession(read, uid));
    return after ? CheckSameSession(read, after->uid) : absl::OkStatus();
  }
};

template <typename Request>
absl::StatusOr<ItemsPage> ReadItemsPage(Sessions& sessions, const Call& call,
                                        const Request& request, std::string_view method,
                                        const Encoder& filters) {
  ASSIGN_OR_RETURN(SessionId session, ReadId<SessionId>("session_id", request.session_id()));
  ItemsPage page{.request = {.method = method,
                             .key = {.tenant = call.caller().tenant, .session = std::move(session)},
                             .filters = filters.bytes()},
                 .limit = {.items = ItemsOfPage(request.page_size()), .bytes = kPageBytes}};
  ASSIGN_OR_RETURN(page.uid, ReadSessionUid(request));
  if (request.page_token().empty()) return page;
  ASSIGN_OR_RETURN(page.after,
                   ReadItemsToken(sessions.store().Describe(), page.request, request.page_token()));
  return page;
}

template <typename Page>
const SessionUid& UidOf(const Page& page) {
  return page.uid;
}
const SessionUid& UidOf(const SlotsRead& read) { return read.page.uid; }

// What was read for `items`. FENCED where that is of another session, and also where a position
// that the session does not have is of another one.
template <typename Page>
absl::StatusOr<Page> CheckRead(Sessions& sessions, const Call& call, const ItemsPage& items,
                               absl::StatusOr<Page> page) {
  if (page.ok()) {
    RETURN_IF_ERROR(items.CheckSession(UidOf(*page)));
    return page;
  }
  if (!items.after && !items.uid) return page.status();
  const absl::StatusOr<Head> head = sessions.Get(call.caller(), items.request.key.session);
  if (head.ok()) {
    RETURN_IF_ERROR(items.CheckSession(head->uid));
  }
  return page.status();
}

// The number behind which a page begins: that of the page before, or `first` of the request.
uint64_t After(const ItemsPage& page, int64_t first) {
  return page.after ? page.after->number : static_cast<uint64_t>(first);
}

// Where the next page begins: behind the last of the items that are shown, whose number `number`
// names, in the session and at the revision that `read` says. Nothing for a list that ends with
// them.
template <typename Item, typename Number>
std::optional<PageEnd> EndOf(const PageEnd& read, bool end, const std::vector<Item>& shown,
                             Number number) {
  if (end || shown.empty()) return std::nullopt;
  PageEnd last = read;
  last.number = std::invoke(number, shown.back()).value();
  return last;
}

template <typename Response>
void SetNextPage(Sessions& sessions, const ItemsRequest& request, const std::optional<PageEnd>& end,
                 Response& response) {
  if (!end) return;
  response.set_next_page_token(MakeItemsToken(sessions.store().Describe(), request, *end));
}

// Brings the bytes of staged messages into a page, which ends before the first one that has no
// room: true then. TOO_LARGE when that is the first one of all.
absl::StatusOr<bool> FillIn(SessionStore& store, const SessionKey& key,
                            std::vector<Message>& messages) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    const uint64_t size = DataSize(messages[i]);
    if (i == 0 && messages[i].staged && size > kReplyBytes) {
      return TooLarge("messages", kReplyBytes, size);
    }
    bytes += size;
    if (i > 0 && bytes > kPageBytes) {
      messages.resize(i);
      return true;
    }
    RETURN_IF_ERROR(ResolveUpload(store, key, messages[i]));
  }
  return false;
}

// What was staged counts too: it is brought in from its place.
uint64_t SizeOf(const SlotView& view) {
  return view.data_left_out ? view.size : DataSize(view.slot);
}

// Cuts a page of slots down to what it may hold; false where slots are left for the next page. The
// first slot has its place whatever it takes.
bool CutSlots(const PageLimit& limit, bool with_data, std::vector<SlotView>& slots) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (with_data) bytes += SizeOf(slots[i]);
    const bool full = i == limit.items || i == kOwnersPerRead || bytes > limit.bytes;
    if (i == 0 || !full) continue;
    slots.resize(i);
    return false;
  }
  return true;
}

// Brings in the data that slots of a page were read without, in one read, and what was staged.
// TOO_LARGE where no reply has room for a slot: that one is streamed.
absl::Status FillIn(SessionStore& store, const SessionKey& key, SlotPage& page) {
  std::vector<SlotView>& slots = page.slots;
  std::vector<std::string> owners;
  for (const SlotView& view : slots) {
    if (SizeOf(view) > kReplyBytes) return TooLarge("slots", kReplyBytes, SizeOf(view));
    if (view.data_left_out) owners.push_back(view.slot.owner);
  }
  if (!owners.empty()) {
    ASSIGN_OR_RETURN(SlotPage read,
                     store.ReadSlots(key, {.revision = page.at.revision, .owners = owners}));
    RETURN_IF_ERROR(CheckSameSession(read.uid, page.uid));
    for (SlotView& found : read.slots) {
      const auto place = std::ranges::find(slots, found.slot.owner,
                                           [](const SlotView& view) { return view.slot.owner; });
      if (place != slots.end()) *place = std::move(found);
    }
  }
  for (SlotView& view : slots) {
    RETURN_IF_ERROR(ResolveUpload(store, key, view.slot));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ServeListMessages(Sessions& sessions, Call& call,
                               const pb::ListMessagesRequest& request,
                               pb::ListMessagesResponse& response) {
  Encoder filters;
  filters.Number(request.revision()).Number(request.after_seq());
  ASSIGN_OR_RETURN(const ItemsPage items,
                   ReadItemsPage(sessions, call, request, "ListMessages", filters));
  const auto revision = items.after ? std::optional(items.after->revision)
                                    : ReadOptionalNumber<Revision>(request.revision());
  const MessageSeq after(After(items, request.after_seq()));
  SessionStore& store = sessions.store();
  ASSIGN_OR_RETURN(MessagePage page,
                   CheckRead(sessions, call, items,
                             store.ReadMessages(items.request.key, revision, after, items.limit)));
  ASSIGN_OR_RETURN(const bool cut, FillIn(store, items.request.key, page.messages));
  for (const Message& message : page.messages) Write(message, *response.add_messages());
  response.set_revision(page.at.revision.value());
  response.set_message_count(page.newest.value());
  SetNextPage(sessions, items.request,
              EndOf({.uid = page.uid, .revision = page.at.revision}, page.end && !cut,
                    page.messages, &Message::seq),
              response);
  return absl::OkStatus();
}

absl::Status ServeListSlots(Sessions& sessions, Call& call, const pb::ListSlotsRequest& request,
                            pb::ListSlotsResponse& response) {
  Encoder filters;
  filters.Number(request.revision()).Text(request.acting_owner());
  filters.Number(request.without_data() ? 1 : 0);
  for (const std::string& owner : request.owners()) filters.Text(owner);
  ASSIGN_OR_RETURN(const ItemsPage items,
                   ReadItemsPage(sessions, call, request, "ListSlots", filters));
  ASSIGN_OR_RETURN(const auto expected, ReadExpectedSlots(request.expected_slots()));
  const auto owners = static_cast<size_t>(request.owners_size());
  if (owners > kOwnersPerRead) return TooLarge("owners", kOwnersPerRead, owners);
  // The first page is read with its data. A later one first learns which slots are left.
  const bool with_data = !request.without_data();
  const SlotQuery query{.revision = items.after ? std::optional(items.after->revision)
                                                : ReadOptionalNumber<Revision>(request.revision()),
                        .owners = ReadTexts(request.owners()),
                        .most_bytes = with_data && !items.after ? kReplyBytes : 0};
  const SessionKey& key = items.request.key;
  ASSIGN_OR_RETURN(SlotsRead read, CheckRead(sessions, call, items,
                                             sessions.ReadSlots(call.caller(), key.session, query,
                                                                request.acting_owner(), expected)));
  std::vector<SlotView>& slots = read.page.slots;
  if (items.after) {
    std::erase_if(slots,
                  [&](const SlotView& view) { return view.slot.owner <= items.after->owner; });
  }
  const bool end = CutSlots(items.limit, with_data, slots);
  const Revision revision = read.page.at.revision;
  if (with_data) {
    RETURN_IF_ERROR(FillIn(sessions.store(), key, read.page));
  }
  for (const SlotView& view : slots) {
    Write(view.slot, *response.add_slots());
    response.add_sizes(static_cast<int64_t>(view.size));
  }
  response.set_revision(revision.value());
  if (!items.after) {
    for (const SlotReport& report : read.reports) Write(report, *response.add_reports());
  }
  if (end || slots.empty()) return absl::OkStatus();
  response.set_next_page_token(MakeItemsToken(
      sessions.store().Describe(), items.request,
      {.uid = read.page.uid, .revision = revision, .number = 0, .owner = slots.back().slot.owner}));
  return absl::OkStatus();
}

absl::Status ServeListCheckpoints(Sessions& sessions, Call& call,
                                  const pb::ListCheckpointsRequest& request,
                                  pb::ListCheckpointsResponse& response) {
  Encoder filters;
  ASSIGN_OR_RETURN(CheckpointQuery query, ReadCheckpointQuery(request));
  filters.Number(query.only_valid ? 1 : 0).Number(query.include_window ? 1 : 0);
  filters.Number(query.kinds.size());
  for (const CheckpointKind kind : query.kinds) filters.Number(static_cast<uint64_t>(kind));
  for (const auto& [name, value] : query.labels) filters.Text(EncodeLabel(name, value));
  ASSIGN_OR_RETURN(const ItemsPage items,
                   ReadItemsPage(sessions, call, request, "ListCheckpoints", filters));
  query.limit = items.limit.items;
  if (items.after) {
    query.after = CheckpointPlace{.revision = items.after->revision,
                                  .kind = static_cast<uint8_t>(items.after->number)};
  }
  RETURN_IF_ERROR(ValidateLabels("labels", query.labels));
  ASSIGN_OR_RETURN(const CheckpointPage page,
                   CheckRead(sessions, call, items,
                             ReadCheckpoints(sessions.store(), items.request.key, query)));
  for (const ListedCheckpoint& listed : page.checkpoints) {
    Write(listed, *response.add_checkpoints());
  }
  if (page.end || page.checkpoints.empty()) return absl::OkStatus();
  const CheckpointPlace last = page.checkpoints.back().place();
  SetNextPage(sessions, items.request,
              PageEnd{.uid = page.uid, .revision = last.revision, .number = last.kind}, response);
  return absl::OkStatus();
}

absl::Status ServeListJournalEntries(Sessions& sessions, Call& call,
                                     const pb::ListJournalEntriesRequest& request,
                                     pb::ListJournalEntriesResponse& response) {
  Encoder filters;
  filters.Number(request.after_journal_number());
  filters.Number(request.has_turn() ? 1 : 0).Number(request.turn());
  ASSIGN_OR_RETURN(const ItemsPage items,
                   ReadItemsPage(sessions, call, request, "ListJournalEntries", filters));
  JournalQuery query{.after = JournalNumber(After(items, request.after_journal_number()))};
  if (request.has_turn()) query.turn = TurnNumber(request.turn());
  ASSIGN_OR_RETURN(const JournalPage page,
                   CheckRead(sessions, call, items,
                             sessions.store().ReadJournal(items.request.key, query, items.limit)));
  for (const JournalEntry& entry : page.entries) Write(entry, *response.add_entries());
  response.set_revision(page.at.revision.value());
  response.set_journal_number(page.at.journal.value());
  SetNextPage(sessions, items.request,
              EndOf({.uid = page.uid, .revision = page.at.revision}, page.end, page.entries,
                    &JournalEntry::journal_number),
              response);
  return absl::OkStatus();
}

absl::Status ServeListEvents(Sessions& sessions, Call& call, const pb::ListEventsRequest& request,
                             pb::ListEventsResponse& response) {
  Encoder filters;
  filters.Number(request.after_seq());
  ASSIGN_OR_RETURN(const ItemsPage items,
                   ReadItemsPage(sessions, call, request, "ListEvents", filters));
  ASSIGN_OR_RETURN(
      const EventPage page,
      CheckRead(sessions, call, items,
                sessions.store().ReadEvents(
                    items.request.key, EventSeq(After(items, request.after_seq())), items.limit)));
  for (const Event& event : page.events) Write(event, *response.add_events());
  response.set_revision(page.revision.value());
  SetNextPage(
      sessions, items.request,
      EndOf({.uid = page.uid, .revision = page.revision}, page.end, page.events, &Event::seq),
      response);
  return absl::OkStatus();
}

absl::Status ServeListAuditRecords(Sessions& sessions, Call& call,
                                   const pb::ListAuditRecordsRequest& request,
                                   pb::ListAuditRecordsResponse& response) {
  Encoder filters;
  filters.Number(request.after_seq()).Text(request.audit_class());
  ASSIGN_OR_RETURN(const ItemsPage items,
                   ReadItemsPage(sessions, call, request, "ListAuditRecords", filters));
  const AuditQuery query{.after = AuditSeq(After(items, request.after_seq())),
                         .audit_class = request.audit_class()};
  ASSIGN_OR_RETURN(const FoundAudit found,
                   CheckRead(sessions, call, items,
                             FindAudit(sessions.store(), items.request.key, query, items.limit)));
  for (const AuditRecord& record : found.records) Write(record, *response.add_records());
  if (found.end) return absl::OkStatus();
  SetNextPage(sessions, items.request, PageEnd{.uid = found.uid, .number = found.last.value()},
              response);
  return absl::OkStatus();
}

}  // namespace holdfast
