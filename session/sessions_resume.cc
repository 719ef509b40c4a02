// Taking a session up again: the grant, the recovery report, and the first bytes of its contents.
#include "platform/status_macros.h"
#include "session/check_command.h"
#include "session/fingerprint.h"
#include "session/guard.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/sessions.h"
#include "session/staged.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

SlotReport::Status StatusOf(const ExpectedSlot& expected, const SlotView* stored) {
  using Status = SlotReport::Status;
  if (stored == nullptr) return Status::kAbsent;
  if (stored->slot.version == expected.version) return Status::kMatch;
  switch (expected.policy) {
    case DriftPolicy::kMigrate:
      return Status::kMigrate;
    case DriftPolicy::kWarn:
      return Status::kWarn;
    case DriftPolicy::kReject:
      break;
  }
  return Status::kReject;
}

std::vector<SlotReport> ReportsOf(const std::vector<ExpectedSlot>& expected, const SlotPage& page) {
  std::vector<SlotReport> reports;
  for (const ExpectedSlot& want : expected) {
    const auto found = std::ranges::find_if(
        page.slots, [&](const SlotView& view) { return view.slot.owner == want.owner; });
    const SlotView* stored = found == page.slots.end() ? nullptr : &*found;
    reports.push_back({.owner = want.owner,
                       .status = StatusOf(want, stored),
                       .stored_version = stored == nullptr ? "" : stored->slot.version,
                       .expected_version = want.version});
  }
  return reports;
}

bool Rejected(const std::vector<SlotReport>& reports, const std::string& owner) {
  return std::ranges::any_of(reports, [&](const SlotReport& report) {
    return report.owner == owner && report.status == SlotReport::Status::kReject;
  });
}

// Finds the tool uses of an ended turn that have an intent and no outcome. Reads the turn's journal
// backwards, a block at a time and each block forwards, so that what it has read always reaches the
// turn's end: an intent without an outcome there is open for certain, however much is not read.
class OpenToolUses {
 public:
  OpenToolUses(SessionStore& store, const SessionKey& key, const EndedTurn& turn)
      : store_(store), key_(key), turn_(turn) {}

  // Reads at most kResumeJournalEntries and kResumeJournalBytes of what lies behind `floor`. A
  // block that has no room is halved; one that cannot be read, or an entry that has no room, ends
  // the search.
  void Search(JournalNumber floor) {
    const uint64_t end = turn_.last_journal.value();
    const uint64_t least = end > kResumeJournalEntries ? end - kResumeJournalEntries : 0;
    const uint64_t until = std::max(least, floor.value());
    uint64_t size = kFirstBlock;
    for (uint64_t last = end; last > until && !whole_ && !full_;) {
      const auto most = std::min<uint64_t>({size, kPageMost, last - until});
      const absl::StatusOr<std::vector<JournalEntry>> block = Block(last - most, last);
      if (absl::IsOutOfRange(block.status()) && most > 1) {
        size = std::max<uint64_t>(1, std::min<uint64_t>(most / 2, fitting_));
        continue;
      }
      if (!block.ok()) return;
      TakeBackwards(*block);
      last -= most;
      if (fitting_ == kUnknown) size *= 2;
    }
  }

  // In the order of their intents.
  [[nodiscard]] std::vector<std::string> Take() {
    std::ranges::reverse(open_);
    return std::move(open_);
  }
  // Whether there may be older ones than were found.
  [[nodiscard]] bool cut() const { return full_ || !whole_; }

 private:
  static constexpr uint64_t kFirstBlock = 64;
  static constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();

  // The turn's entries with journal numbers in (after, last]. OUT_OF_RANGE when they have no room.
  absl::StatusOr<std::vector<JournalEntry>> Block(uint64_t after, uint64_t last) {
    const auto items = static_cast<uint32_t>(last - after);
    absl::StatusOr<JournalPage> page =
        store_.ReadJournal(key_, {.after = JournalNumber(after), .turn = turn_.turn},
                           {.items = items, .bytes = room_});
    RETURN_IF_ERROR(page.status());
    std::vector<JournalEntry> block;
    bool whole = page->end || page->entries.empty();
    size_t bytes = 0;
    for (JournalEntry& entry : page->entries) {
      bytes += BytesOf(entry);
      whole |= entry.journal_number.value() >= last;
      if (entry.journal_number.value() <= last) block.push_back(std::move(entry));
    }
    if (!whole || bytes > room_) {
      fitting_ = page->entries.size();
      return absl::OutOfRangeError("more bytes than there is room for");
    }
    room_ -= bytes;
    return block;
  }

  void TakeBackwards(const std::vector<JournalEntry>& block) {
    for (auto entry = block.rbegin(); entry != block.rend(); ++entry) {
      if (entry->number == EntryNumber(1)) whole_ = true;
      if (entry->kind == JournalKind::kToolOutcome) ended_.insert(entry->ref);
      if (entry->kind != JournalKind::kToolIntent || ended_.contains(entry->ref)) continue;
      full_ = open_.size() == kOpenToolUsesShown;
      if (full_) return;
      open_.push_back(entry->ref);
    }
  }

  static size_t BytesOf(const JournalEntry& entry) {
    return entry.ref.size() + entry.data.size() + (entry.slot ? entry.slot->data.size() : 0) + 1;
  }

  SessionStore& store_;
  const SessionKey& key_;
  const EndedTurn& turn_;
  size_t room_ = kResumeJournalBytes;
  uint64_t fitting_ = kUnknown;    // how many entries had room, of a block that had none
  std::vector<std::string> open_;  // the newest first
  std::set<std::string> ended_;
  bool whole_ = false;  // the turn's first entry was read
  bool full_ = false;   // there are more than are shown
};

// What the journal of the turn that a resume abandoned says of open tool uses.
void ReportToolUses(SessionStore& store, const SessionKey& key, const Head& head, TurnNumber turn,
                    RecoveryReport& report) {
  const auto ended = std::ranges::find(head.ended, turn, &EndedTurn::turn);
  if (ended == head.ended.end()) {
    // It had no entries, or they are no longer kept.
    report.open_tool_uses_truncated = report.entries_after_snapshot > 0;
    return;
  }
  OpenToolUses uses(store, key, *ended);
  uses.Search(JournalFloor(head));
  report.open_tool_uses_truncated = uses.cut();
  report.open_tool_uses = uses.Take();
}

// Moves slots into the reply as far as they fit.
void Inline(SessionStore& store, const SessionKey& key, SlotPage page, size_t& room,
            ResumeResult& resumed) {
  for (SlotView& view : page.slots) {
    if (view.damaged || Rejected(resumed.report.slots, view.slot.owner)) continue;
    const bool fits = !view.data_left_out && view.size <= room;
    if (!fits || !ResolveUpload(store, key, view.slot).ok()) {
      resumed.inline_omitted = true;
      continue;
    }
    room -= view.size;
    resumed.slots.push_back(std::move(view.slot));
  }
}

// The newest messages as far as they fit: a reader goes on with ReadMessages from the first one.
absl::Status InlineTail(SessionStore& store, const SessionKey& key, uint32_t count, size_t room,
                        ResumeResult& resumed) {
  const uint64_t newest = resumed.result.head.messages.value();
  if (count == 0 || newest == 0) return absl::OkStatus();
  const MessageSeq after(newest > count ? newest - count : 0);
  absl::StatusOr<MessagePage> page =
      store.ReadMessages(key, std::nullopt, after, {.items = count, .bytes = room});
  // A damaged message fails its own read and no resume.
  if (!page.ok() || page->uid != resumed.result.head.uid) {
    resumed.inline_omitted = true;
    return absl::OkStatus();
  }
  for (Message& message : page->messages) {
    const uint64_t size = DataSize(message);
    if (size > room || !ResolveUpload(store, key, message).ok()) break;
    room -= size;
    resumed.messages.push_back(std::move(message));
  }
  const bool whole = !resumed.messages.empty() && resumed.messages.back().seq.value() == newest;
  if (!whole) resumed.inline_omitted = true;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ResumeResult> Sessions::Resume(const Caller& caller, const ResumeCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  const SessionKey key{caller.tenant, command.session};
  ASSIGN_OR_RETURN(MutationResult result, ResumeOrCreate(caller, command));
  ResumeResult resumed;
  resumed.token = result.receipt.token;
  resumed.result = std::move(result);
  const bool reconnect = resumed.token.empty() && !resumed.result.repeated;
  if (reconnect) {
    resumed.token = command.token->ToText();
    // A reconnect renews the lease; the grant stays valid when the renewal fails.
    store_.RenewLeases({{.key = key, .token = *command.token, .ttl = std::nullopt}}).clear();
  }
  RETURN_IF_ERROR(Report(key, command, resumed));
  return resumed;
}

absl::StatusOr<MutationResult> Sessions::ResumeOrCreate(const Caller& caller,
                                                        const ResumeCommand& command) {
  const SessionKey key{caller.tenant, command.session};
  const std::string secret = random_.Bytes(kSecretBytes);
  const Asked asked{.id = command.request, .stamp = [&] { return StampOf(command); }};
  const Decider decide = [&](const Head& head) { return Decide(head, caller, command, secret); };
  absl::StatusOr<MutationResult> result = Execute(key, asked, decide);
  if (result.ok()) CloseIfCancelled(key, *result);
  if (!CreatesMissing(command, result.status())) return result;
  CreateCommand create = *command.create_if_missing;
  create.holder = command.holder;
  create.lease_ttl = command.lease_ttl;
  result = CreateAs(caller, create, command.session, asked.stamp());
  // Another call created it meanwhile: resume that session.
  return Is(result.status(), Reason::kSessionExists) ? Execute(key, asked, decide) : result;
}

absl::Status Sessions::Report(const SessionKey& key, const ResumeCommand& command,
                              ResumeResult& resumed) {
  const Receipt& receipt = resumed.result.receipt;
  const Head& head = resumed.result.head;
  RecoveryReport& report = resumed.report;
  report.restored = receipt.before;
  report.snapshot = receipt.snapshot;
  report.entries_after_snapshot = receipt.entries_dropped;
  report.tail_bytes_truncated = receipt.tail_bytes_truncated;
  report.abandoned_turn = receipt.abandoned_turn;
  report.previous_holder = receipt.previous_holder;
  report.last_committed_request = head.last_committed_request;
  if (receipt.abandoned_turn > TurnNumber()) {
    ReportToolUses(store_, key, head, receipt.abandoned_turn, report);
  }
  SlotQuery query{.most_bytes = kReadAtOnceBytes};
  for (const ExpectedSlot& slot : command.expected_slots) query.owners.push_back(slot.owner);
  if (head.sm) query.owners.push_back(head.sm->ext_id);
  size_t room = kInlineBytes;
  if (!query.owners.empty()) {
    absl::StatusOr<SlotPage> page = store_.ReadSlots(key, query);
    if (!page.ok() || page->uid != head.uid) {
      resumed.inline_omitted = true;
    } else {
      report.slots = ReportsOf(command.expected_slots, *page);
      for (const SlotView& view : page->slots) {
        if (view.damaged) report.damaged_slots.push_back(view.slot.owner);
      }
      Inline(store_, key, *std::move(page), room, resumed);
    }
  }
  return InlineTail(store_, key, command.tail_messages, room, resumed);
}

absl::StatusOr<SlotsRead> Sessions::ReadSlots(const Caller& caller, const SessionId& session,
                                              const SlotQuery& query,
                                              const std::string& acting_owner,
                                              const std::vector<ExpectedSlot>& expected) {
  RETURN_IF_ERROR(ValidateExpected(expected));
  SlotQuery allowed = query;
  if (!acting_owner.empty()) {
    if (allowed.owners.empty()) allowed.owners = {acting_owner};
    for (const std::string& owner : allowed.owners) {
      if (owner == acting_owner) continue;
      return Refusal(Reason::kSlotAccessDenied, "this slot belongs to another owner")
          .With("owner", owner)
          .With("acting_owner", acting_owner);
    }
  }
  ASSIGN_OR_RETURN(SlotPage page, store_.ReadSlots({caller.tenant, session}, allowed));
  std::vector<SlotReport> reports = ReportsOf(expected, page);
  for (SlotView& view : page.slots) {
    const auto report = std::ranges::find(reports, view.slot.owner, &SlotReport::owner);
    const bool rejected = Rejected(reports, view.slot.owner);
    if (rejected && allowed.owners.size() == 1) {
      return Refusal(Reason::kSlotDriftRejected, "the stored version is not the expected one")
          .With("owner", view.slot.owner)
          .With("stored_version", view.slot.version)
          .With("expected_version", report->expected_version);
    }
    if (view.damaged && allowed.owners.size() == 1) {
      return Refusal(Reason::kDamaged, "this slot cannot be read").With("owner", view.slot.owner);
    }
    if (!rejected) continue;
    view.slot.data.clear();
    view.slot.staged.reset();
    view.data_left_out = false;
  }
  return SlotsRead{.page = std::move(page), .reports = std::move(reports)};
}

// *Never* is answered only for a method that requires the token: a later grant fences the token, so
// the request cannot take effect any more. The client may then act in another way, so
// LoadForOutcome shows only what survives a failover.
absl::StatusOr<RequestOutcome> Sessions::Outcome(const Caller& caller, const OutcomeQuery& query) {
  const SessionKey key{caller.tenant, query.session};
  ASSIGN_OR_RETURN(LoadedSession loaded, store_.LoadForOutcome(key, query.request));
  RETURN_IF_ERROR(CheckSameSession(loaded.head.uid, query.uid));
  RequestOutcome outcome;
  outcome.head = loaded.head;
  if (loaded.request) {
    if (loaded.request->stamp.method != query.method) {
      return InvalidField("method", "this request id was sent to another method");
    }
    loaded.request->receipt.token.clear();
    outcome.kind = RequestOutcome::Kind::kCommitted;
    outcome.request = std::move(loaded.request);
    return outcome;
  }
  const bool by_token = query.method == Method::kBeginTurn || query.method == Method::kCommitTurn ||
                        query.method == Method::kAbandonTurn || query.method == Method::kWrite ||
                        query.method == Method::kRelease || query.method == Method::kRestore;
  if (!by_token || !query.token) return outcome;
  const Head& head = loaded.head;
  const LeaseToken& token = *query.token;
  const bool of_this = token.store == head.store && token.uid == head.uid &&
                       token.incarnation == head.incarnation && token.epoch < head.lease.epoch;
  const bool recent =
      std::ranges::find(head.grants, token.epoch, &GrantRecord::epoch) != head.grants.end();
  if (of_this && recent) outcome.kind = RequestOutcome::Kind::kNever;
  return outcome;
}

}  // namespace holdfast
