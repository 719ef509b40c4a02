// Mutants of the store's own life: opening, failing, ending.
#include "session/refusal.h"
#include "tests/contract/mutants.h"
#include "tests/contract/suite.h"

namespace holdfast::test {
namespace {

const std::vector<Mutant> kDurabilityMutants = {
    {"loses-the-last-change-at-its-end",
     {.closing = [](Stage& stage) { stage.disk.sessions = stage.before.sessions; }}},
    {"forgets-the-turn-when-opened-again",
     {.opened =
          [](Stage& stage) {
            for (auto& [key, session] : stage.disk.sessions) session.head.turn.reset();
          }}},
    {"forgets-the-journal-when-opened-again",
     {.opened =
          [](Stage& stage) {
            for (auto& [key, session] : stage.disk.sessions) session.entries.clear();
          }}},
    {"half-of-a-failed-write-stays",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            if (!stage.disk.fails_writes || answer.ok()) return;
            StoredSession* const session = stage.Find(change.key);
            for (const Message& message : change.messages) {
              session->head.messages = session->head.messages.Next();
              session->messages.push_back(message);
              session->messages.back().seq = session->head.messages;
              session->head.snapshots.back().messages = session->head.messages;
            }
          }}},
    {"has-an-event-of-a-failed-write",
     {.committed =
          [](Stage& stage, const Change& change, CommitAnswer& answer) {
            if (!stage.disk.fails_writes || answer.ok()) return;
            StoredSession* const session = stage.Find(change.key);
            session->head.last_event = session->head.last_event.Next();
            session->events.push_back(
                {.seq = session->head.last_event, .name = "SessionPersisted"});
          }}},
    {"is-sure-that-a-failed-write-did-nothing",
     {.committed =
          [](Stage& stage, const Change&, CommitAnswer& answer) {
            if (!stage.disk.fails_writes || answer.ok()) return;
            answer = StoreUnavailable("it did nothing", Fate::kNoEffect).ToStatus();
          }}},
    {"healthy-whatever-happens",
     {.health = [](absl::Status& status) { status = absl::OkStatus(); }}},
    {"never-healthy",
     {.health =
          [](absl::Status& status) { status = StoreUnavailable("not today", Fate::kNoEffect); }}},
    {"starts-without-looking", {.init = [](absl::Status& status) { status = absl::OkStatus(); }}},
    {"acknowledges-after-its-end",
     {.committed =
          [](Stage& stage, const Change&, CommitAnswer& answer) {
            if (stage.closed) answer = CommitResult();
          }}},
    {"acknowledges-attributes-that-it-drops",
     {.change = [](Stage&, Change& change) { change.attributes.clear(); }}},
    {"disposing-twice-destroys",
     {.disposed =
          [](Stage& stage, int times) {
            if (times > 1) stage.disk.sessions.clear();
          }}},
    {"describes-nothing",
     {.describe =
          [](StoreDescription& description) {
            description = {.store = description.store, .incarnation = description.incarnation};
          }}},
    {"every-opening-is-an-incarnation",
     {.opened =
          [](Stage& stage) {
            stage.disk.incarnation = Incarnation(static_cast<uint64_t>(stage.openings));
          }}},
    {"has-no-journal",
     {.describe = [](StoreDescription& description) { description.journaling = false; }}},
    {"says-that-it-heals-and-does-not",
     {.describe = [](StoreDescription& description) { description.heals = true; }}},
    {"a-session-gets-a-new-uid-when-opened-again",
     {.opened =
          [](Stage& stage) {
            for (auto& [key, session] : stage.disk.sessions) session.head.uid = SessionUid();
          }}},
};

}  // namespace

const std::vector<Mutant>& DurabilityMutants() { return kDurabilityMutants; }

}  // namespace holdfast::test
