// Which changes the reference store refuses: rules of its own, written from the numbered sentences
// of session/store.h and the order of checks in docs/api.md. They share no decision with the
// product, so that a mistake on either side is a difference between two stores.
#ifndef HOLDFAST_TESTS_SUPPORT_REFERENCE_RULES_H_
#define HOLDFAST_TESTS_SUPPORT_REFERENCE_RULES_H_

#include "session/change.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/model.h"
#include "session/refusal.h"

#include "absl/time/time.h"

#include <optional>
#include <vector>

namespace holdfast::test {

// What a change demands of a session, and the session as it is at that moment.
struct Demand {
  const Head& head;
  const std::vector<JournalEntry>& journal;  // everything that the session ever accepted
  const Guard& guard;
  const std::vector<JournalEntry>& entries;  // of an append, else empty
};

// The refusal of the first rule that `demand` breaks; nullopt when it breaks none (C023).
std::optional<Refusal> FirstBrokenRule(const Demand& demand);

// Whether `head` is still what a decision was made on (C024, C166).
bool IsStillTrue(const Premise& premise, const Head& head);

// The last entry number of `turn` that `head` knows; 0 when it knows none.
EntryNumber LastKnownEntry(const Head& head, TurnNumber turn);

// Whether a cancel request asks for the end of the session or of its active turn (C171).
bool EndIsRequested(const Head& head);

// Whether the server is to end what was requested `requested_for` ago (C168, C170).
bool EndIsOverdue(const Head& head, absl::Duration requested_for, absl::Duration quiet);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_REFERENCE_RULES_H_
