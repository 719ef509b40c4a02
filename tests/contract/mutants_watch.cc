// Mutants of how a store notifies of new events.
#include "session/refusal.h"
#include "tests/contract/mutants.h"
#include "tests/contract/suite.h"

namespace holdfast::test {
namespace {

using WakeupsAnswer = absl::StatusOr<Wakeups>;

// A key that the suite uses, and that has no events of its own here.
Wakeups NotifiedOf(std::string_view session) { return {.sessions = {Key(session)}}; }

const std::vector<Mutant> kWatchMutants = {
    {"notifies-of-one-session-at-a-time",
     {.wakeups =
          [](Stage&, absl::Duration, WakeupsAnswer& answer) {
            if (answer.ok() && answer->sessions.size() > 1) answer->sessions.resize(1);
          }}},
    {"notifies-twice",
     {.wakeups =
          [](Stage&, absl::Duration, WakeupsAnswer& answer) {
            if (answer.ok() && !answer->sessions.empty()) {
              answer->sessions.push_back(answer->sessions.front());
            }
          }}},
    {"notifies-of-events-before-it-was-opened",
     {.wakeups =
          [](Stage& stage, absl::Duration, WakeupsAnswer& answer) {
            if (!answer.ok() || stage.openings < 2) return;
            for (const auto& [key, session] : stage.disk.sessions) {
              answer->sessions.push_back(key);
            }
          }}},
    {"does-not-wake-waiters",
     {.wakeups =
          [](Stage&, absl::Duration at_most, WakeupsAnswer& answer) {
            if (answer.ok() && at_most > absl::Seconds(1)) answer = Wakeups();
          }}},
    {"notifies-of-everything-at-a-timeout",
     {.wakeups =
          [](Stage&, absl::Duration at_most, WakeupsAnswer& answer) {
            const bool waited = at_most == absl::Milliseconds(1);
            if (answer.ok() && waited && answer->sessions.empty()) answer->all = true;
          }}},
    {"notifies-of-a-failed-change",
     {.wakeups =
          [](Stage& stage, absl::Duration, WakeupsAnswer& answer) {
            if (answer.ok() && stage.disk.fails_writes) answer = NotifiedOf("alpha");
          }}},
    {"says-nothing-of-too-many",
     {.wakeups =
          [](Stage&, absl::Duration, WakeupsAnswer& answer) {
            if (answer.ok()) answer->all = false;
          }}},
    {"waits-as-if-nothing-had-ended",
     {.wakeups =
          [](Stage& stage, absl::Duration, WakeupsAnswer& answer) {
            if (stage.closed) answer = Wakeups();
          }}},
    {"the-last-event-knows-its-name-alone",
     {.last_event =
          [](Stage&, const SessionKey&, absl::StatusOr<Event>& answer) {
            if (answer.ok()) answer = Event{.seq = answer->seq, .name = answer->name};
          }}},
    {"forgets-last-events-when-opened-again",
     {.last_event =
          [](Stage& stage, const SessionKey&, absl::StatusOr<Event>& answer) {
            if (stage.openings > 1 && answer.ok()) answer = Event();
          }}},
    {"the-living-have-a-last-event",
     {.last_event =
          [](Stage& stage, const SessionKey& key, absl::StatusOr<Event>& answer) {
            const StoredSession* const session = stage.Find(key);
            if (session != nullptr && !session->events.empty()) answer = session->events.back();
          }}},
};

}  // namespace

const std::vector<Mutant>& WatchMutants() { return kWatchMutants; }

}  // namespace holdfast::test
