// Mutants of what a session may hold, and of the record that slot updates between turns leave.
#include "session/bounds.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "tests/contract/mutants.h"

#include <algorithm>
#include <iterator>

namespace holdfast::test {
namespace {

size_t SlotsOf(const StoredSession& session) {
  return static_cast<size_t>(std::ranges::count_if(
      session.slots, [](const auto& owner) { return owner.second.back().slot.has_value(); }));
}

const std::vector<Mutant> kBoundMutants = {
    {"leaves-out-attributes-for-which-there-is-no-number",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            const size_t there = session == nullptr ? 0 : session->head.attributes.size();
            while (there + change.attributes.size() > kAttributesPerSession &&
                   !change.attributes.empty() && change.attributes.rbegin()->second) {
              change.attributes.erase(std::prev(change.attributes.end()));
            }
          }}},
    {"cuts-attributes-for-which-there-is-no-room",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            if (session == nullptr) return;
            size_t bytes = AttributeBytes(session->head);
            for (auto& [key, value] : change.attributes) {
              bytes += key.size() + value.value_or("").size();
              if (bytes > kAttributeBytesPerSession) value = "";
            }
          }}},
    {"leaves-out-slots-for-which-there-is-no-room",
     {.change =
          [](Stage& stage, Change& change) {
            const StoredSession* const session = stage.Find(change.key);
            if (session != nullptr && SlotsOf(*session) > kSlotsPerSession) change.slots.clear();
          }}},
    {"leaves-out-slot-updates-for-which-there-is-no-room",
     {.change =
          [](Stage& stage, Change& change) {
            StoredSession* const session = stage.Find(change.key);
            if (session == nullptr || SlotsOf(*session) <= kSlotsPerSession) return;
            for (JournalEntry& entry : change.entries) entry.slot.reset();
          }}},
    {"refuses-whatever-a-full-session-is-asked",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            const StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || change.attributes.empty()) return;
            if (stage.before.sessions[change.key].head.attributes.size() < kAttributesPerSession) {
              return;
            }
            answer =
                TooLarge("attributes", kAttributesPerSession, kAttributesPerSession).ToStatus();
          }}},
    {"keeps-ten-snapshots-whatever-is-configured",
     {.change = [](Stage& stage, Change&) { stage.disk.retention = Retention(); }}},
    {"keeps-no-record-of-updates-between-turns",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || change.entries.empty() || session->audit.empty()) return;
            if (session->audit.back().code == "slots") session->audit.pop_back();
          }}},
    {"records-updates-that-are-there-already",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            StoredSession* const session = ChangedSession(stage, change, answer);
            if (session == nullptr || change.entries.empty() || session->audit.empty()) return;
            AuditRecord& last = session->audit.back();
            if (last.code == "slots") last.data["first_entry"] = "1";
          }}},
};

}  // namespace

const std::vector<Mutant>& BoundMutants() { return kBoundMutants; }

}  // namespace holdfast::test
