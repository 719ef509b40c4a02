#include "store-fs/readers.h"

#include "platform/status_macros.h"
#include "session/codec/records.h"
#include "session/history_spans.h"
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

// A page of items that lie in several logs one behind the other.
class PageOfLogs {
 public:
  PageOfLogs(Files& files, const SessionKey& key, PageLimit limit)
      : files_(files), key_(key), limit_(limit) {}

  // Adds what has room of `part`: the first item of the page in any case. True if that was all of
  // it.
  absl::StatusOr<bool> Add(const LogLook& part) {
    from_ = part.from;
    if (part.from >= part.next) return true;
    const size_t most = std::min<size_t>(limit_.items - items_.size(), part.next - part.from);
    if (most == 0 || (bytes_ > 0 && bytes_ >= limit_.bytes)) return false;
    const LogFiles where{.files = &files_, .journal = part.journal.get(), .key = &key_};
    ASSIGN_OR_RETURN(
        std::vector<std::string> items,
        ReadLog(where, part.log, part.from, most, limit_.bytes - std::min(bytes_, limit_.bytes)));
    for (std::string& item : items) {
      if (!items_.empty() && bytes_ + item.size() > limit_.bytes) return false;
      bytes_ += item.size();
      items_.push_back(std::move(item));
    }
    return part.from + items.size() >= part.next;
  }

  // The first number of the part that was added last.
  [[nodiscard]] uint64_t from() const { return from_; }
  [[nodiscard]] std::vector<std::string> Take() { return std::move(items_); }

 private:
  Files& files_;
  const SessionKey& key_;
  PageLimit limit_;
  uint64_t from_ = 0;
  size_t bytes_ = 0;
  std::vector<std::string> items_;
};

// Reads a page of the logs that `look` shows; looks again when a segment was replaced meanwhile.
template <typename Look>
absl::StatusOr<std::vector<std::string>> ReadPage(Environment& environment, const SessionKey& key,
                                                  std::string_view what, PageLimit limit,
                                                  Look look) {
  uint64_t unreadable = 0;
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    std::vector<LogLook> parts;
    RETURN_IF_ERROR(look(parts));
    PageOfLogs page(environment.files, key, limit);
    absl::StatusOr<bool> more = true;
    for (auto part = parts.begin(); part != parts.end() && more.ok() && *more; ++part) {
      more = page.Add(*part);
    }
    if (more.ok()) return page.Take();
    if (!absl::IsNotFound(more.status()) && !absl::IsDataLoss(more.status())) {
      return environment.fail_stop.FailUnwritten(more.status());
    }
    unreadable = page.from();
  }
  return Damaged(what, unreadable);
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
  const auto look = [&](std::vector<LogLook>& parts) -> absl::Status {
    absl::Status checked;
    RETURN_IF_ERROR(session_.Look([&](const SessionState& state, const auto& journal) {
      const std::optional<Head> with_pin = state.HeadWithPin(revision);
      const Head& head = with_pin ? *with_pin : state.head;
      checked = CheckKept(head, revision);
      if (!checked.ok()) return;
      page.uid = head.uid;
      page.at = PositionOf(head);
      page.newest = head.messages;
      page.generation = head.generation;
      if (revision && *revision < head.revision) {
        const SnapshotRecord& snapshot = SnapshotAt(head, *revision);
        page.at = {.revision = *revision, .journal = snapshot.at.journal};
        page.newest = snapshot.messages;
        page.generation = snapshot.generation;
      }
      uint64_t begin = from;
      for (const HistorySpan& span : SpansOf(head, page.generation, page.newest)) {
        if (span.last.value() < begin) continue;
        if (begin - from >= limit.items) break;
        // A generation is kept as long as a snapshot that is kept names messages of it.
        const NumberedLog* const log = state.MessagesOf(span.generation);
        if (log == nullptr) {
          checked = Damaged("message", begin);
          return;
        }
        parts.push_back(
            {.log = *log, .journal = journal, .from = begin, .next = span.last.value() + 1});
        begin = span.last.value() + 1;
      }
    }));
    return checked;
  };
  ASSIGN_OR_RETURN(const auto items, ReadPage(environment_, key_, "message", limit, look));
  ASSIGN_OR_RETURN(page.messages, DecodeAll<Message>(items, DecodeMessage, "message", from));
  page.end = from + items.size() > page.newest.value();
  return page;
}

absl::StatusOr<SlotPage> Readers::Slots(const SlotQuery& query, size_t most_of_each) {
  for (int attempt = 1;; ++attempt) {
    ASSIGN_OR_RETURN(std::optional<SlotPage> page, SlotsOnce(query, most_of_each));
    const bool damaged = !page || std::ranges::any_of(page->slots, &SlotView::damaged);
    if (damaged && attempt < kReadAttempts) continue;
    if (!page) return Damaged("slots", 0);
    return *std::move(page);
  }
}

absl::Status Readers::Complete(const ListQuery& query, SessionRow& row) {
  row.attributes.clear();
  row.slots.clear();
  bool is_shown = false;
  RETURN_IF_ERROR(session_.Look([&](const SessionState& state, const auto&) {
    const Head& head = state.head;
    is_shown = head.uid == row.uid;
    if (!is_shown) return;
    for (const std::string& name : query.attributes) {
      const auto found = head.attributes.find(name);
      if (found != head.attributes.end()) row.attributes.insert(*found);
    }
  }));
  if (!is_shown || query.owners.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(SlotPage page, Slots({.owners = query.owners}, kSlotBytesInRow));
  if (page.uid != row.uid) return absl::OkStatus();
  row.slots = std::move(page.slots);
  for (SlotView& view : row.slots) {
    if (view.slot.staged) view.data_left_out = true;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<SlotPage>> Readers::SlotsOnce(const SlotQuery& query,
                                                           size_t most_of_each) {
  SlotPage page;
  IndexView index;
  std::shared_ptr<File> journal;
  absl::Status checked;
  RETURN_IF_ERROR(session_.Look([&](const SessionState& state, const auto& file) {
    const std::optional<Head> with_pin = state.HeadWithPin(query.revision);
    checked = CheckKept(with_pin ? *with_pin : state.head, query.revision);
    page.uid = state.head.uid;
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
    const bool fits = bytes <= query.most_bytes && version->size <= most_of_each;
    view.data_left_out = !fits && !version->meta.staged && version->size > 0;
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
  const auto look = [&](std::vector<LogLook>& parts) -> absl::Status {
    absl::Status checked;
    RETURN_IF_ERROR(session_.Look([&](const SessionState& state, const auto& journal) {
      const Head& head = state.head;
      const uint64_t floor = JournalFloor(head).value();
      if (query.after > JournalNumber() && query.after.value() < floor) {
        checked = Refusal(Reason::kRevisionPruned, "these entries are no longer kept")
                      .With("oldest", floor + 1);
        return;
      }
      page.uid = head.uid;
      page.at = PositionOf(head);
      LogLook& seen = parts.emplace_back();
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
  const auto look = [&](std::vector<LogLook>& parts) -> absl::Status {
    absl::Status checked;
    RETURN_IF_ERROR(session_.Look([&](const SessionState& state, const auto& journal) {
      page.uid = state.head.uid;
      page.revision = state.head.revision;
      next = state.events.next;
      if (from < state.events.first()) {
        checked = Refusal(Reason::kEventsCompacted, "these events are no longer kept")
                      .With("oldest", state.events.first());
        return;
      }
      parts.push_back({.log = state.events, .journal = journal, .from = from, .next = next});
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
  const auto look = [&](std::vector<LogLook>& parts) {
    return session_.Look([&](const SessionState& state, const auto& journal) {
      page.uid = state.head.uid;
      next = state.audits.next;
      parts.push_back({.log = state.audits, .journal = journal, .from = from, .next = next});
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
