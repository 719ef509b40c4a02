#include "store-fs/readers.h"

#include "platform/status_macros.h"
#include "session/codec/records.h"
#include "session/kept.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/layout.h"
#include "store-fs/slot_lookup.h"
#include "store-fs/stored_request.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::fs {
namespace {

// A rotation may replace a segment between looking and reading; then a second look finds the new
// one.
constexpr int kReadAttempts = 3;

// What is needed of a log to read it without the session's lock.
struct LogLook {
  NumberedLog log;
  std::shared_ptr<File> journal;
  uint64_t from = 1;  // the first item to show
  uint64_t next = 0;  // behind the last one
};

template <typename T, typename Decode>
absl::StatusOr<std::vector<T>> DecodeAll(const std::vector<std::string>& items, Decode decode,
                                         std::string_view what, uint64_t first) {
  std::vector<T> decoded;
  for (const std::string& item : items) {
    std::optional<T> one = decode(item);
    if (!one) return Damaged(what, first + decoded.size());
    decoded.push_back(*std::move(one));
  }
  return decoded;
}

// Reads a page of a log as `look` shows it; looks again when a segment was replaced meanwhile.
template <typename Look>
absl::StatusOr<std::vector<std::string>> ReadPage(Environment& environment, const SessionKey& key,
                                                  std::string_view what, PageLimit limit,
                                                  Look look) {
  LogLook seen;
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    RETURN_IF_ERROR(look(seen));
    const uint64_t from = seen.from;
    if (from >= seen.next) return std::vector<std::string>();
    const LogFiles where{.files = &environment.files, .journal = seen.journal.get(), .key = &key};
    const size_t most = std::min<size_t>(limit.items, seen.next - from);
    absl::StatusOr<std::vector<std::string>> items =
        ReadLog(where, seen.log, from, most, limit.bytes);
    if (items.ok()) return items;
    if (!absl::IsNotFound(items.status()) && !absl::IsDataLoss(items.status())) {
      return environment.fail_stop.FailUnwritten(items.status());
    }
  }
  return Damaged(what, seen.from);
}

// Leaves out the entries before the first and behind the last one of `turn`.
void NarrowTo(TurnNumber turn, const SessionState& state, LogLook& seen) {
  uint64_t first = seen.next;
  uint64_t end = 0;
  for (const EntryRun& run : state.runs) {
    if (run.turn != turn) continue;
    first = std::min(first, run.journal.value());
    end = std::max(end, run.journal.value() + run.count);
  }
  seen.from = std::max(seen.from, first);
  seen.next = std::min(seen.next, end);
}

}  // namespace

absl::StatusOr<LoadedSession> Readers::Load(const std::optional<RequestId>& request) {
  LoadedSession loaded;
  RequestView view;
  const auto is_current = [&] {
    bool same = false;
    const absl::Status looked = session_.Look(
        [&](const SessionState& state, const auto&) { same = ViewOf(state).HasFilesOf(view); });
    return same && looked.ok();
  };
  for (int look = 0; look < kReadAttempts; ++look) {
    RETURN_IF_ERROR(session_.Look([&](const SessionState& state, const auto&) {
      loaded.head = state.head;
      if (request) view = ViewOf(state);
    }));
    if (!request) return loaded;
    const RequestSource source{
        .files = environment_.files, .key = key_, .view = view, .is_current = is_current};
    auto row = ReadRequest(source, *request, environment_.time.Now() - kRequestsKept);
    // A change or a rotation came between the look and the read.
    if (absl::IsAborted(row.status())) continue;
    RETURN_IF_ERROR(row.status());
    loaded.request = *std::move(row);
    const bool passed = loaded.request && loaded.request->receipt.epoch != loaded.head.lease.epoch;
    if (passed) loaded.request->receipt.token.clear();
    return loaded;
  }
  return StoreUnavailable("a stored reply could not be read: try again", Fate::kUnknown);
}

absl::StatusOr<MessagePage> Readers::Messages(std::optional<Revision> revision, MessageSeq after,
                                              PageLimit limit) {
  MessagePage page;
  const uint64_t from = after.value() + 1;
  const auto look = [&](LogLook& seen) -> absl::Status {
    absl::Status checked;
    RETURN_IF_ERROR(session_.Look([&](const SessionState& state, const auto& journal) {
      const Head& head = state.head;
      checked = CheckKept(head, revision);
      if (!checked.ok()) return;
      page.at = PositionOf(head);
      page.newest = head.messages;
      page.generation = head.generation;
      if (revision && *revision < head.revision) {
        const SnapshotRecord& snapshot = SnapshotAt(head, *revision);
        page.at = {.revision = *revision, .journal = snapshot.at.journal};
        page.newest = snapshot.messages;
        page.generation = snapshot.generation;
      }
      // A generation is kept as long as a snapshot that is kept names it.
      seen = {.log = *state.MessagesOf(page.generation),
              .journal = journal,
              .from = from,
              .next = page.newest.value() + 1};
    }));
    return checked;
  };
  ASSIGN_OR_RETURN(const auto items, ReadPage(environment_, key_, "message", limit, look));
  ASSIGN_OR_RETURN(page.messages, DecodeAll<Message>(items, DecodeMessage, "message", from));
  page.end = from + items.size() > page.newest.value();
  return page;
}

absl::StatusOr<SlotPage> Readers::Slots(const SlotQuery& query) {
  for (int attempt = 1;; ++attempt) {
    ASSIGN_OR_RETURN(std::optional<SlotPage> page, SlotsOnce(query));
    const bool damaged = !page || std::ranges::any_of(page->slots, &SlotView::damaged);
    if (damaged && attempt < kReadAttempts) continue;
    if (!page) return Damaged("slots", 0);
    return *std::move(page);
  }
}

absl::StatusOr<std::optional<SlotPage>> Readers::SlotsOnce(const SlotQuery& query) {
  SlotPage page;
  IndexView index;
  std::shared_ptr<File> journal;
  absl::Status checked;
  RETURN_IF_ERROR(session_.Look([&](const SessionState& state, const auto& file) {
    checked = CheckKept(state.head, query.revision);
    page.at = PositionOf(state.head);
    if (query.revision && *query.revision < state.head.revision) {
      page.at = {.revision = *query.revision,
                 .journal = JournalNumber(std::numeric_limits<uint64_t>::max())};
    }
    index = state.slots.ViewOf(query.owners);
    journal = file;
  }));
  RETURN_IF_ERROR(checked);
  ASSIGN_OR_RETURN(const std::optional<std::vector<FoundSlot>> found,
                   FindSlots(index, query.owners, page.at));
  if (!found) return std::nullopt;
  uint64_t bytes = 0;
  for (const auto& [owner, version] : *found) {
    SlotView& view = page.slots.emplace_back();
    view.slot.owner = owner;
    view.damaged = !version;
    if (!version) continue;
    view.slot = version->meta;
    view.size = version->size;
    if (!version->meta.staged) bytes += version->size;
    view.data_left_out = bytes > query.most_bytes && !version->meta.staged && version->size > 0;
    if (!view.data_left_out) {
      RETURN_IF_ERROR(ReadSlotData(*version, *journal, view));
    }
  }
  return page;
}

absl::StatusOr<std::optional<std::vector<Readers::FoundSlot>>> Readers::FindSlots(
    const IndexView& index, const std::vector<std::string>& owners, Position at) const {
  const RunFiles where{.files = environment_.files, .key = key_};
  std::vector<FoundSlot> found;
  if (owners.empty()) {
    absl::StatusOr<std::vector<SlotVersion>> all = SlotsAt(where, index, at);
    if (IsUnreadable(all.status())) return std::nullopt;
    if (!all.ok()) return environment_.fail_stop.FailUnwritten(all.status());
    for (SlotVersion& version : *all) {
      std::string owner = version.meta.owner;
      found.push_back({.owner = std::move(owner), .version = std::move(version)});
    }
    return found;
  }
  for (const std::string& owner : std::set<std::string>(owners.begin(), owners.end())) {
    absl::StatusOr<std::optional<SlotEntry>> one = FindSlot(where, index, SlotKey(owner, at));
    if (IsUnreadable(one.status())) {
      found.push_back({.owner = owner, .version = std::nullopt});
      continue;
    }
    if (!one.ok()) return environment_.fail_stop.FailUnwritten(one.status());
    if (*one && (*one)->version) found.push_back({.owner = owner, .version = (*one)->version});
  }
  return found;
}

// Leaves `view` marked as damaged when the bytes cannot be read: only this slot is lost.
absl::Status Readers::ReadSlotData(const SlotVersion& version, File& journal, SlotView& view) {
  absl::StatusOr<std::string> bytes = absl::UnknownError("not read");
  if (version.where.file == 0) {
    bytes = ReadExtent(journal, version.where);
  } else {
    const auto log =
        environment_.files.Open(PathOf(key_, FileKind::kLog, version.where.file), OpenMode::kRead);
    bytes = log.ok() ? ReadExtent(**log, version.where) : log.status();
  }
  // A shortage is no damage.
  if (IsShortage(bytes.status())) return FailStop::Short();
  std::optional<Slot> slot = bytes.ok() ? DecodeSlot(*bytes) : std::nullopt;
  view.damaged = !slot.has_value();
  if (slot) view.slot.data = std::move(slot->data);  // empty when it is staged
  return absl::OkStatus();
}

// A turn's entries may lie between those of others: a page is empty only at the end.
absl::StatusOr<JournalPage> Readers::Entries(const JournalQuery& query, PageLimit limit) {
  JournalQuery rest = query;
  for (;;) {
    ASSIGN_OR_RETURN(JournalPage page, EntriesOnce(rest, limit));
    const JournalNumber last =
        page.entries.empty() ? rest.after : page.entries.back().journal_number;
    if (query.turn) {
      std::erase_if(page.entries,
                    [&](const JournalEntry& entry) { return entry.turn != *query.turn; });
    }
    if (page.end || !page.entries.empty()) return page;
    rest.after = last;
  }
}

absl::StatusOr<JournalPage> Readers::EntriesOnce(const JournalQuery& query, PageLimit limit) {
  JournalPage page;
  uint64_t from = query.after.value() + 1;
  uint64_t next = 0;
  const auto look = [&](LogLook& seen) -> absl::Status {
    absl::Status checked;
    RETURN_IF_ERROR(session_.Look([&](const SessionState& state, const auto& journal) {
      const Head& head = state.head;
      const uint64_t floor = JournalFloor(head).value();
      if (query.after > JournalNumber() && query.after.value() < floor) {
        checked = Refusal(Reason::kRevisionPruned, "these entries are no longer kept")
                      .With("oldest", floor + 1);
        return;
      }
      page.at = PositionOf(head);
      seen = {.log = state.entries,
              .journal = journal,
              .from = std::max(query.after.value(), floor) + 1,
              .next = state.entries.next};
      if (query.turn) NarrowTo(*query.turn, state, seen);
      from = seen.from;
      next = seen.next;
    }));
    return checked;
  };
  ASSIGN_OR_RETURN(const auto items, ReadPage(environment_, key_, "entry", limit, look));
  ASSIGN_OR_RETURN(page.entries, DecodeAll<JournalEntry>(items, DecodeEntry, "entry", from));
  page.end = from + items.size() >= next;
  return page;
}

absl::StatusOr<EventPage> Readers::Events(EventSeq after, PageLimit limit) {
  EventPage page;
  const uint64_t from = after.value() + 1;
  uint64_t next = 0;
  const auto look = [&](LogLook& seen) -> absl::Status {
    absl::Status checked;
    RETURN_IF_ERROR(session_.Look([&](const SessionState& state, const auto& journal) {
      page.revision = state.head.revision;
      next = state.events.next;
      if (from < state.events.first()) {
        checked = Refusal(Reason::kEventsCompacted, "these events are no longer kept")
                      .With("oldest", state.events.first());
        return;
      }
      seen = {.log = state.events, .journal = journal, .from = from, .next = next};
    }));
    return checked;
  };
  ASSIGN_OR_RETURN(const auto items, ReadPage(environment_, key_, "event", limit, look));
  ASSIGN_OR_RETURN(page.events, DecodeAll<Event>(items, DecodeEvent, "event", from));
  page.end = from + items.size() >= next;
  return page;
}

absl::StatusOr<AuditPage> Readers::Audits(AuditSeq after, PageLimit limit) {
  AuditPage page;
  const uint64_t from = after.value() + 1;
  uint64_t next = 0;
  const auto look = [&](LogLook& seen) {
    return session_.Look([&](const SessionState& state, const auto& journal) {
      next = state.audits.next;
      seen = {.log = state.audits, .journal = journal, .from = from, .next = next};
    });
  };
  ASSIGN_OR_RETURN(const auto items, ReadPage(environment_, key_, "audit record", limit, look));
  ASSIGN_OR_RETURN(page.records, DecodeAll<AuditRecord>(items, DecodeAudit, "audit record", from));
  page.end = from + items.size() >= next;
  return page;
}

absl::StatusOr<std::string> Readers::Staged(const StagedBytes& bytes, uint64_t offset,
                                            size_t count) {
  absl::Status kept;
  RETURN_IF_ERROR(session_.Look([&](const SessionState& state, const auto&) {
    if (std::ranges::find(state.uploads, bytes.upload, &LinkedUpload::id) != state.uploads.end()) {
      return;
    }
    kept = Refusal(Reason::kRevisionPruned, "these bytes are no longer kept")
               .With("oldest", OldestKept(state.head).revision.value());
  }));
  RETURN_IF_ERROR(kept);
  if (offset >= bytes.size) return std::string();
  const auto file = environment_.files.Open(UploadPathOf(key_, bytes.upload), OpenMode::kRead);
  if (absl::IsNotFound(file.status())) return Damaged("upload", bytes.offset + offset);
  if (!file.ok()) return environment_.fail_stop.FailUnwritten(file.status());
  const size_t wanted = std::min<uint64_t>(count, bytes.size - offset);
  absl::StatusOr<std::string> read = ReadBlocks(**file, bytes.offset + offset, wanted);
  if (read.ok()) return read;
  if (absl::IsDataLoss(read.status())) return Damaged("upload", bytes.offset + offset);
  return environment_.fail_stop.FailUnwritten(read.status());
}

}  // namespace holdfast::fs
