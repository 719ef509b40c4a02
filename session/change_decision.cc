#include "session/change_decision.h"

#include "platform/status_macros.h"
#include "session/answers.h"
#include "session/bounds.h"
#include "session/guard.h"

#include <algorithm>
#include <utility>

namespace holdfast {
namespace {

// The entry of `change` whose number is stored for another entry, or nullptr. A stored entry
// that cannot be read is compared by its number alone.
absl::StatusOr<const JournalEntry*> FindRewritten(const Change& change, const Head& head,
                                                  DecisionReads& reads) {
  if (change.entries.empty()) return nullptr;
  const TurnNumber turn = change.entries.front().turn;
  const EntryNumber first = change.entries.front().number;
  const EntryNumber last =
      std::min(LastEntryOf(head, turn).value_or(EntryNumber()), change.entries.back().number);
  if (first > last) return nullptr;
  ASSIGN_OR_RETURN(const std::vector<JournalEntry> stored, reads.StoredEntries(turn, first, last));
  for (const JournalEntry& entry : stored) {
    const auto sent = std::ranges::find(change.entries, entry.number, &JournalEntry::number);
    if (sent != change.entries.end() && !SameEntry(entry, *sent)) return &*sent;
  }
  return nullptr;
}

absl::StatusOr<std::optional<CommitResult>> Refuse(const Change& change, const Head& head,
                                                   DecisionReads& reads) {
  if (auto refusal = CheckGuard(head, change.guard, change.entries)) {
    return Refused(refusal->ToStatus(), head);
  }
  ASSIGN_OR_RETURN(const JournalEntry* const rewritten, FindRewritten(change, head, reads));
  if (rewritten != nullptr) return Refused(EntryReused(*rewritten), head);
  if (change.premise && !change.create && !Holds(*change.premise, head)) {
    return CommitResult{.kind = CommitResult::Kind::kMoved, .receipt = {}, .head = head};
  }
  if (!change.upload) return std::nullopt;
  ASSIGN_OR_RETURN(const bool there, reads.HoldsUpload(*change.upload));
  if (there) return std::nullopt;
  return Refused(UploadIsGone(), head);
}

absl::StatusOr<std::optional<Refusal>> CheckContents(const Head& before, DecisionReads& reads,
                                                     Applied& applied) {
  if (auto refusal = CheckAttributes(before, applied.head)) return refusal;
  ASSIGN_OR_RETURN(std::optional<Refusal> refusal, reads.CheckSlots(applied));
  if (refusal || applied.items.empty()) return refusal;
  if (auto twice = CheckAppendedKeys(applied.items)) return twice;
  ASSIGN_OR_RETURN(refusal, reads.ResolveItemWrites(applied));
  // Not where the server's own items are all that is written.
  if (applied.receipt.items_version == ItemVersion()) return refusal;
  applied.receipt.puts = applied.item_effects.results;
  applied.receipt.items_deleted = applied.item_effects.deleted.size();
  return refusal;
}

// Of a session that is not there. A deleted one is replaced by a change that names it, and by no
// other.
absl::Status CheckCreates(const Change& change, const FormerSession* former) {
  const std::optional<SessionUid> replaces =
      change.create ? change.create->replaces : std::optional<SessionUid>();
  if (former == nullptr) {
    return change.create && !replaces ? absl::OkStatus() : SessionIsNotThere();
  }
  return replaces == former->uid ? absl::OkStatus() : SessionWasDeleted(*former);
}

}  // namespace

absl::StatusOr<std::optional<CommitResult>> AnswerWithoutDecision(const Change& change,
                                                                  const FoundSession& found) {
  if (found.head == nullptr) {
    RETURN_IF_ERROR(CheckCreates(change, found.former));
    return std::nullopt;
  }
  if (found.request != nullptr) return AnswerToRepeat(*change.request, *found.request, *found.head);
  if (change.create) return Refused(SessionIsThere(), *found.head);
  return std::nullopt;
}

absl::StatusOr<ChangeDecision> DecideOnHead(const Change& change, const Head& head,
                                            const StoreFacts& facts, DecisionReads& reads) {
  ChangeDecision decision;
  ASSIGN_OR_RETURN(decision.answer, Refuse(change, head, reads));
  if (decision.answer) return decision;
  decision.applied = Apply(head, change, facts);
  ASSIGN_OR_RETURN(const std::optional<Refusal> refusal,
                   CheckContents(head, reads, decision.applied));
  if (refusal) decision.answer = Refused(refusal->ToStatus(), head);
  return decision;
}

}  // namespace holdfast
