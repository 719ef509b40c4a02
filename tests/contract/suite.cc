#include "tests/contract/suite.h"

#include "session/names.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <sstream>
#include <utility>

namespace holdfast::test {
namespace {

// A store that never says "end" must fail a case and not hang it.
constexpr int kPagesMost = 2000;

std::string Hex(const Digest& digest) {
  return absl::BytesToHexString(std::string(View(digest).substr(0, 8)));
}

std::string Flat(const std::map<std::string, std::string>& data) {
  std::string text;
  for (const auto& [name, value] : data) absl::StrAppend(&text, name, "=", value, " ");
  return text;
}

std::string Flat(const Slot& slot) {
  return slot.owner + ' ' + slot.version + ' ' + std::to_string(static_cast<int>(slot.policy)) +
         " r" + std::to_string(slot.revision.value()) + ' ' + slot.data.str();
}

void Print(const Head& head, std::ostream& out) {
  out << "head " << Name(head.lifecycle) << " close=" << static_cast<int>(head.close_reason)
      << " revision=" << head.revision.value() << " epoch=" << head.lease.epoch.value()
      << " held=" << head.lease.held << " holder=" << head.lease.holder
      << " turn=" << (head.turn ? head.turn->number.value() : 0)
      << " last_turn=" << head.last_turn.value() << " committed=" << head.committed_turns
      << " messages=" << head.messages.value() << " history=" << Hex(head.history)
      << " journal=" << head.journal.value() << " event=" << head.last_event.value()
      << " audit=" << head.last_audit.value() << " chain=" << Hex(head.audit_chain)
      << " root=" << head.project_root << " mode=" << static_cast<int>(head.mode)
      << " sm=" << (head.sm ? head.sm->ext_id + '/' + head.sm->slot_ref : "none")
      << " created=" << head.created_at << " updated=" << head.updated_at
      << " store=" << head.store.value() << " uid=" << head.uid.value() << '\n';
  for (const SnapshotRecord& snapshot : head.snapshots) {
    out << "snapshot " << snapshot.at.revision.value() << '/' << snapshot.at.journal.value()
        << " messages=" << snapshot.messages.value() << '\n';
  }
  out << "attributes " << Flat(head.attributes) << '\n';
}

}  // namespace

absl::Status RefusalIn(const absl::StatusOr<CommitResult>& result) {
  if (!result.ok()) return result.status();
  return result->kind == CommitResult::Kind::kRefused ? result->refusal : absl::OkStatus();
}

std::string ReasonIn(const absl::Status& status) {
  return status.ok() ? "OK" : std::string(RowOf(RefusalOf(status).reason()).name);
}

std::string ReasonIn(const absl::StatusOr<CommitResult>& result) {
  return ReasonIn(RefusalIn(result));
}

std::string FactIn(const absl::Status& status, const std::string& name) {
  if (status.ok()) return "";
  const Refusal refusal = RefusalOf(status);
  const auto found = refusal.facts().find(name);
  return found == refusal.facts().end() ? "" : found->second;
}

LeaseToken TokenIn(const Receipt& receipt) {
  return LeaseToken::Parse(receipt.token).value_or(LeaseToken());
}

CommitResult Contract::ApplyWhole(const Change& change) {
  const absl::StatusOr<CommitResult> result = store().Commit(change);
  EXPECT_EQ(ReasonIn(result), "OK") << RefusalIn(result);
  if (!result.ok()) return {};
  EXPECT_EQ(result->kind, CommitResult::Kind::kApplied);
  return *result;
}

Receipt Contract::Apply(const Change& change) { return ApplyWhole(change).receipt; }

Receipt Contract::Create() {
  Receipt receipt = Apply(changes_.Create());
  TakeToken(receipt);
  return receipt;
}

TurnNumber Contract::Begin() { return Apply(changes_.Begin(token_)).turn; }

Receipt Contract::CommitTurn(TurnNumber turn, std::vector<Message> messages,
                             std::vector<Slot> slots) {
  Change change = changes_.CommitTurn(token_, turn);
  change.messages = std::move(messages);
  change.slots = std::move(slots);
  return Apply(change);
}

Receipt Contract::RunTurn(std::vector<Message> messages, std::vector<Slot> slots) {
  return CommitTurn(Begin(), std::move(messages), std::move(slots));
}

Receipt Contract::Append(TurnNumber turn, std::vector<JournalEntry> entries) {
  return Apply(changes_.Append(token_, turn, std::move(entries)));
}

SessionUid Contract::Delete() {
  const SessionUid uid = LoadHead().uid;
  Change gone = changes().Delete();
  gone.guard.lease = LeaseRule::kForce;
  gone.guard.uid = uid;
  Apply(gone);
  return uid;
}

SessionUid Contract::CreateAndDelete() {
  Create();
  RunTurn({Text("of the deleted one")}, {MakeSlot("app", "of the deleted one")});
  PutItems({Put("k", "of the deleted one")});
  Apply(changes().Update({{"title", "of the deleted one"}}));
  Apply(changes().RequestCancel(CancelScope::kSession));
  return Delete();
}

SessionUid Contract::Recreate(const SessionUid& former) {
  Change change = changes().Create();
  change.create->replaces = former;
  TakeToken(Apply(change));
  return change.create->uid;
}

Receipt Contract::TakeOver() {
  const Change change =
      LoadHead().turn ? changes_.ResumeActive() : changes_.Resume(LeaseRule::kForce);
  Receipt receipt = Apply(change);
  TakeToken(receipt);
  return receipt;
}

Head Contract::LoadHead(const SessionKey& key) {
  const absl::StatusOr<LoadedSession> loaded = store().LoadForDecision(key, std::nullopt);
  EXPECT_EQ(ReasonIn(loaded), "OK");
  return loaded.ok() ? loaded->head : Head();
}

std::optional<RequestRow> Contract::LoadRequest(const RequestId& id) {
  const absl::StatusOr<LoadedSession> loaded = store().LoadForDecision(key(), id);
  EXPECT_EQ(ReasonIn(loaded), "OK");
  return loaded.ok() ? loaded->request : std::nullopt;
}

std::vector<Message> Contract::Messages(std::optional<Revision> revision) {
  std::vector<Message> all;
  for (int pages = 0; pages < kPagesMost; ++pages) {
    const MessageSeq after = all.empty() ? MessageSeq() : all.back().seq;
    const auto page = store().ReadMessages(key(), revision, after, kWholePage);
    EXPECT_EQ(ReasonIn(page), "OK");
    if (!page.ok()) return all;
    all.insert(all.end(), page->messages.begin(), page->messages.end());
    if (page->end || page->messages.empty()) return all;
  }
  ADD_FAILURE() << "the history has no end";
  return all;
}

std::vector<std::string> Contract::MessageTexts(std::optional<Revision> revision) {
  std::vector<std::string> texts;
  for (const Message& message : Messages(revision)) texts.push_back(message.data.str());
  return texts;
}

std::vector<SlotView> Contract::Slots(const SlotQuery& query) {
  const auto page = store().ReadSlots(key(), query);
  EXPECT_EQ(ReasonIn(page), "OK");
  return page.ok() ? page->slots : std::vector<SlotView>();
}

Receipt Contract::PutItems(std::vector<ItemPut> puts, std::vector<ItemDelete> deletes) {
  return Apply(changes_.PutItems({.deletes = std::move(deletes), .puts = std::move(puts)}));
}

absl::Status Contract::RefusedItems(ItemWrites writes) {
  return RefusalIn(store().Commit(changes_.PutItems(std::move(writes))));
}

ItemPage Contract::Items(ItemQuery query, PageLimit limit) {
  if (query.collection.empty()) query.collection = "notes";
  query.data = true;
  const auto page = store().ReadItems(key(), query, limit);
  EXPECT_TRUE(page.ok()) << page.status();
  return page.ok() ? *page : ItemPage();
}

std::vector<std::string> Contract::ItemTexts() {
  std::vector<std::string> texts;
  for (const ItemView& view : Items().items) {
    texts.push_back(view.item.name.key + "=" + view.item.data.str());
  }
  return texts;
}

std::optional<std::string> Contract::SlotData(const std::string& owner,
                                              std::optional<Revision> revision) {
  const auto slots = Slots({.revision = revision, .owners = {owner}});
  EXPECT_LE(slots.size(), 1U);
  if (slots.empty()) return std::nullopt;
  return slots.front().slot.data.str();
}

std::vector<JournalEntry> Contract::Journal(std::optional<TurnNumber> turn) {
  std::vector<JournalEntry> all;
  for (int pages = 0; pages < kPagesMost; ++pages) {
    const JournalNumber after = all.empty() ? JournalNumber() : all.back().journal_number;
    const auto page = store().ReadJournal(key(), {.after = after, .turn = turn}, kWholePage);
    EXPECT_EQ(ReasonIn(page), "OK");
    if (!page.ok()) return all;
    all.insert(all.end(), page->entries.begin(), page->entries.end());
    if (page->end || page->entries.empty()) return all;
  }
  ADD_FAILURE() << "the journal has no end";
  return all;
}

std::vector<Event> Contract::Events() {
  std::vector<Event> all;
  for (int pages = 0; pages < kPagesMost; ++pages) {
    const EventSeq after = all.empty() ? EventSeq() : all.back().seq;
    const auto page = store().ReadEvents(key(), after, kWholePage);
    EXPECT_EQ(ReasonIn(page), "OK");
    if (!page.ok()) return all;
    all.insert(all.end(), page->events.begin(), page->events.end());
    if (page->end || page->events.empty()) return all;
  }
  ADD_FAILURE() << "the events have no end";
  return all;
}

std::vector<std::string> Contract::EventNames() {
  std::vector<std::string> names;
  for (const Event& event : Events()) names.push_back(event.name);
  return names;
}

std::vector<AuditRecord> Contract::Audit() {
  std::vector<AuditRecord> all;
  for (int pages = 0; pages < kPagesMost; ++pages) {
    const AuditSeq after = all.empty() ? AuditSeq() : all.back().seq;
    const auto page = store().ReadAudit(key(), after, kWholePage);
    EXPECT_EQ(ReasonIn(page), "OK");
    if (!page.ok()) return all;
    all.insert(all.end(), page->records.begin(), page->records.end());
    if (page->end || page->records.empty()) return all;
  }
  ADD_FAILURE() << "the audit chain has no end";
  return all;
}

std::vector<SessionRow> Contract::Rows(ListQuery query) {
  std::vector<SessionRow> all;
  if (query.limit == 0) query.limit = 1000;
  for (int pages = 0; pages < kPagesMost; ++pages) {
    const auto page = store().List(query);
    EXPECT_EQ(ReasonIn(page), "OK");
    if (!page.ok()) return all;
    all.insert(all.end(), page->rows.begin(), page->rows.end());
    if (page->end || page->rows.empty()) return all;
    const SessionRow& last = all.back();
    query.after =
        ListKey{.created_at = last.created_at, .id = last.id.value(), .group = last.group};
  }
  ADD_FAILURE() << "the listing has no end";
  return all;
}

std::vector<std::string> Contract::Ids(const ListQuery& query) {
  std::vector<std::string> ids;
  for (const SessionRow& row : Rows(query)) ids.push_back(row.id.value());
  return ids;
}

std::string Contract::Picture() {
  std::ostringstream out;
  Print(LoadHead(), out);
  for (const Message& message : Messages()) {
    out << "message " << message.seq.value() << ' ' << message.role << ' ' << message.content_type
        << ' ' << message.data.str() << '\n';
  }
  for (const SlotView& view : Slots()) out << "slot " << Flat(view.slot) << '\n';
  for (const JournalEntry& entry : Journal()) {
    out << "entry " << entry.journal_number.value() << ' ' << entry.turn.value() << '/'
        << entry.number.value() << ' ' << static_cast<int>(entry.kind) << ' ' << entry.ref << ' '
        << entry.data.str() << (entry.slot ? ' ' + Flat(*entry.slot) : "") << '\n';
  }
  for (const Event& event : Events()) {
    out << "event " << event.seq.value() << ' ' << event.name << ' ' << event.revision.value()
        << ' ' << event.correlation_id << ' ' << event.trace_id << ' ' << event.time << ' '
        << Flat(event.payload) << '\n';
  }
  for (const AuditRecord& record : Audit()) {
    out << "audit " << record.seq.value() << ' ' << record.audit_class << ' ' << record.code << ' '
        << record.revision.value() << ' ' << record.epoch.value() << ' ' << Flat(record.data)
        << Hex(record.previous) << ' ' << Hex(record.hash) << '\n';
  }
  return out.str();
}

}  // namespace holdfast::test
