#include "store-fs/session_state.h"

#include "platform/encoding.h"
#include "session/codec/records.h"
#include "session/history_spans.h"
#include "store-fs/bounds.h"
#include "store-fs/crc32c.h"

#include <algorithm>
#include <utility>

namespace holdfast::fs {
namespace {

constexpr uint64_t kStateVersion = 7;

Extent ExtentOf(const Span& span, std::string_view payload, uint64_t offset) {
  return {.file = 0,
          .offset = offset + span.offset,
          .size = span.size,
          .crc = Crc32c(payload.substr(span.offset, span.size))};
}

SlotVersion VersionOf(const Slot& slot) {
  SlotVersion version;
  version.size = DataSize(slot);
  version.meta = {.owner = slot.owner,
                  .version = slot.version,
                  .policy = slot.policy,
                  .data = {},
                  .revision = slot.revision,
                  .staged = slot.staged};
  return version;
}

void AddRun(const JournalEntry& entry, std::vector<EntryRun>& runs) {
  if (!runs.empty()) {
    EntryRun& last = runs.back();
    const bool follows = last.turn == entry.turn &&
                         last.first.value() + last.count == entry.number.value() &&
                         last.journal.value() + last.count == entry.journal_number.value();
    if (follows) {
      ++last.count;
      return;
    }
  }
  runs.push_back(
      {.turn = entry.turn, .first = entry.number, .journal = entry.journal_number, .count = 1});
}

// Where the slot record of an entry is, which is the last part of it.
Span SlotIn(const Span& entry, std::string_view payload) {
  const size_t size = SlotRecordIn(payload.substr(entry.offset, entry.size)).size();
  return {.offset = entry.offset + entry.size - size, .size = size};
}

void AbsorbEntry(const Placed<JournalEntry>& placed, const Extent& slot, SessionState& state) {
  const JournalEntry& entry = placed.item;
  AddRun(entry, state.runs);
  if (!entry.slot) return;
  SlotVersion version = VersionOf(*entry.slot);
  version.where = slot;
  if (entry.turn == TurnNumber()) {
    state.slots.Put(std::move(version),
                    {.revision = state.head.revision, .journal = entry.journal_number});
  } else {
    state.pending.insert_or_assign(entry.slot->owner, std::move(version));
  }
}

void AbsorbItems(const StoredItems& changed, std::string_view payload, uint64_t offset,
                 SessionState& state) {
  SessionItems& items = state.items;
  bool has_unpinned = false;
  for (const ItemName& name : changed.deleted) {
    items.Delete(name);
    has_unpinned = state.pins.Delete(name) || has_unpinned;
  }
  for (const PlacedItem& put : changed.written) {
    ItemEntry entry{.name = put.name,
                    .version = put.version,
                    .created_at = put.created_at,
                    .updated_at = put.updated_at,
                    .bytes = put.bytes,
                    .facts = {},
                    .facts_at = {},
                    .data = {}};
    if (put.data.size > 0) entry.data = ExtentOf(put.data, payload, offset);
    if (put.facts.size > kItemFactsInlineBytes) {
      entry.facts_at = ExtentOf(put.facts, payload, offset);
    } else {
      entry.facts = payload.substr(put.facts.offset, put.facts.size);
    }
    items.Put(entry);
    state.pins.Put(put.name, payload.substr(put.data.offset, put.data.size));
  }
  items.SetTotals(changed.totals);
  if (has_unpinned) state.slots.Unpin(OldestKept(state.head), state.pins);
}

// An update has no position yet.
void PutPending(const std::map<std::string, SlotVersion>& pending, Encoder& out) {
  out.Number(pending.size());
  for (const auto& [owner, version] : pending) {
    const IndexEntry entry =
        EncodeSlotEntry({.owner = owner, .from = Position(), .version = version});
    out.Text(entry.key).Text(entry.value.value_or(""));
  }
}

std::map<std::string, SlotVersion> ReadPending(Decoder& in) {
  std::map<std::string, SlotVersion> pending;
  for (size_t left = in.Count(); left > 0; --left) {
    const std::string key(in.Text());
    std::optional<SlotEntry> entry = DecodeSlotEntry({.key = key, .value = std::string(in.Text())});
    if (entry && entry->version) {
      pending.insert_or_assign(entry->owner, *std::move(entry->version));
    } else {
      in.Fail();
    }
  }
  return pending;
}

}  // namespace

void SessionState::Absorb(const StoredChange& change, std::string_view payload, uint64_t offset) {
  // The record does not hold the store's incarnation, nor the bytes that recovery cut, which stay
  // until the next grant reports them.
  const Incarnation incarnation = head.incarnation;
  const uint64_t cut = head.lease.epoch == change.head.lease.epoch ? head.tail_bytes_truncated : 0;
  if (head.generation != Generation() && head.generation != change.head.generation) {
    NumberedLog begun;
    begun.next = change.head.messages.value() - change.messages.size() + 1;
    former.push_back(
        {.generation = head.generation, .messages = std::exchange(messages, std::move(begun))});
  }
  head = change.head;
  head.incarnation = incarnation;
  head.tail_bytes_truncated = cut;
  ++changes;
  const Position now{.revision = head.revision, .journal = head.journal};
  if (change.request) {
    requests->Add(change.request->item);
    request_log.Add(ExtentOf(change.request->span, payload, offset));
  }
  if (change.audit) audits.Add(ExtentOf(*change.audit, payload, offset));
  if (change.applied_turn) {
    for (auto& [owner, version] : pending) {
      version.meta.revision = head.revision;
      slots.Put(std::move(version), now);
    }
  }
  if (change.applied_turn || change.dropped) pending.clear();
  for (const std::string& owner : change.deleted_slots) slots.Delete(owner, now);
  for (const Placed<Slot>& slot : change.slots) {
    SlotVersion version = VersionOf(slot.item);
    version.where = ExtentOf(slot.span, payload, offset);
    slots.Put(std::move(version), now);
  }
  if (change.upload) uploads.push_back(*change.upload);
  for (const Span& span : change.messages) messages.Add(ExtentOf(span, payload, offset));
  for (const Placed<JournalEntry>& entry : change.entries) {
    AbsorbEntry(entry, ExtentOf(SlotIn(entry.span, payload), payload, offset), *this);
    entries.Add(ExtentOf(entry.span, payload, offset));
  }
  if (change.items) AbsorbItems(*change.items, payload, offset, *this);
  for (const Span& span : change.events) events.Add(ExtentOf(span, payload, offset));
  Prune();
}

std::optional<JournalNumber> SessionState::FindEntry(TurnNumber turn, EntryNumber number) const {
  for (const EntryRun& run : runs) {
    if (run.turn != turn || number < run.first) continue;
    const uint64_t behind = number.value() - run.first.value();
    if (behind < run.count) return JournalNumber(run.journal.value() + behind);
  }
  return std::nullopt;
}

void SessionState::Prune() {
  slots.Prune(OldestKept(head), pins);
  std::erase_if(runs, [&](const EntryRun& run) {
    return run.journal.value() + run.count - 1 <= JournalFloor(head).value();
  });
  if (former.empty() && uploads.empty()) return;
  std::map<Generation, MessageSeq> named = NamedMessages(head);
  for (const auto& [generation, last] : pins.named()) {
    named[generation] = std::max(named[generation], last);
  }
  std::erase_if(former, [&](const FormerHistory& old) { return !named.contains(old.generation); });
  for (FormerHistory& old : former) old.messages.Cut(named.at(old.generation).value());
  std::erase_if(uploads, [&](const LinkedUpload& upload) {
    return !named.contains(upload.messages) && !slots.Names(upload.id);
  });
}

std::optional<Head> SessionState::HeadWithPin(std::optional<Revision> revision) const {
  const bool may_be_pinned = revision && *revision < OldestKept(head).revision;
  const PinnedSnapshot* const pinned = may_be_pinned ? pins.Find(*revision) : nullptr;
  if (pinned == nullptr) return std::nullopt;
  return WithPinned(head, {pinned, 1});
}

std::vector<const NumberedLog*> SessionState::Logs() const {
  std::vector<const NumberedLog*> logs = {&messages, &events, &audits, &entries, &request_log};
  for (const FormerHistory& old : former) logs.push_back(&old.messages);
  return logs;
}

std::vector<NumberedLog*> SessionState::Logs() {
  std::vector<NumberedLog*> logs = {&messages, &events, &audits, &entries, &request_log};
  for (FormerHistory& old : former) logs.push_back(&old.messages);
  return logs;
}

std::map<uint64_t, uint64_t> SessionState::LiveBytes() const {
  std::map<uint64_t, uint64_t> live;
  for (const NumberedLog* log : Logs()) {
    for (const SegmentInfo& info : log->segments) live[info.file] += info.bytes;
  }
  slots.AddLiveBytes(live);
  items.AddLiveBytes(live);
  for (const auto& [owner, version] : pending) {
    if (version.where.file > 0) live[version.where.file] += version.where.size;
  }
  return live;
}

void SessionState::ForgetEmptyLogs() {
  const std::map<uint64_t, uint64_t> live = LiveBytes();
  std::erase_if(sealed, [&](const SealedLog& log) { return !live.contains(log.file); });
}

const NumberedLog* SessionState::MessagesOf(Generation generation) const {
  if (generation == head.generation) return &messages;
  const auto found = std::ranges::find(former, generation, &FormerHistory::generation);
  return found == former.end() ? nullptr : &found->messages;
}

std::string EncodeSessionState(const SessionState& state) {
  Encoder out;
  out.Number(kStateVersion);
  out.Text(EncodeHead(state.head));
  state.slots.Put(out);
  state.items.Put(out);
  state.pins.Put(out);
  PutPending(state.pending, out);
  out.Number(state.runs.size());
  for (const EntryRun& run : state.runs) {
    out.Number(run.turn.value()).Number(run.first.value());
    out.Number(run.journal.value()).Number(run.count);
  }
  for (const NumberedLog* log :
       {&state.messages, &state.events, &state.audits, &state.entries, &state.request_log}) {
    PutLog(*log, out);
  }
  out.Number(state.uploads.size());
  for (const LinkedUpload& upload : state.uploads) PutUpload(upload, out);
  out.Number(state.former.size());
  for (const FormerHistory& old : state.former) {
    out.Number(old.generation.value());
    PutLog(old.messages, out);
  }
  out.Number(state.sealed.size());
  for (const SealedLog& log : state.sealed) out.Number(log.file).Number(log.bytes);
  return out.Take();
}

std::optional<SessionState> DecodeSessionState(std::string_view bytes) {
  Decoder in(bytes);
  if (in.Number() != kStateVersion) in.Fail();
  SessionState state;
  std::optional<Head> head = DecodeHead(in.Text());
  if (!head) return std::nullopt;
  state.head = *std::move(head);
  state.slots = SlotVersions::Read(in);
  state.items = SessionItems::Read(in);
  state.pins = Pins::Read(in);
  state.pending = ReadPending(in);
  for (size_t left = in.Count(); left > 0; --left) {
    EntryRun run;
    run.turn = TurnNumber(in.Number());
    run.first = EntryNumber(in.Number());
    run.journal = JournalNumber(in.Number());
    run.count = in.Number();
    state.runs.push_back(run);
  }
  for (NumberedLog* log :
       {&state.messages, &state.events, &state.audits, &state.entries, &state.request_log}) {
    *log = ReadLogRecord(in);
  }
  for (size_t left = in.Count(); left > 0; --left) state.uploads.push_back(ReadUpload(in));
  for (size_t left = in.Count(); left > 0; --left) {
    FormerHistory& old = state.former.emplace_back();
    old.generation = Generation(in.Number());
    old.messages = ReadLogRecord(in);
  }
  for (size_t left = in.Count(); left > 0; --left) {
    SealedLog& log = state.sealed.emplace_back();
    log.file = in.Number();
    log.bytes = in.Number();
  }
  if (!in.Done()) return std::nullopt;
  state.requests = std::make_shared<RequestTable>(state.request_log.next);
  return state;
}

}  // namespace holdfast::fs
