// Test-only switches, each of which breaks one guarantee in one place: a test that guards it must
// then fail. A release build has none of them, and nothing to switch them on with.
#ifndef HOLDFAST_SESSION_SABOTEUR_H_
#define HOLDFAST_SESSION_SABOTEUR_H_

#include <cstdint>

namespace holdfast {

enum class Saboteur : uint8_t {
  kNone,
  kNoFileSync,             // a commit is not synced
  kNoDirectorySync,        // the name of a new session is not synced
  kNoEpochCheck,           // whoever has a token may write
  kNoRequestCheck,         // a repeated request acts again
  kAcknowledgeBeforeSync,  // the sync of a commit waits for the next one
  kNoLock,                 // a count is read without its lock: for ThreadSanitizer to find
  kRefuseFromCache,        // an old head in the server's memory refuses
  kSkipEvent,              // a watch leaves an event out
  kNoVersionCheck,         // a change is written over whatever another server has left
  kNoReplyFlush,           // an answer is made of a stored reply before that is flushed once more
  kBelieveCancelledWait,   // a wait for the standby that was cut short counts as one that ended
  kNoTimelineCheck,        // a server of an older history is taken for the store
  kLeaseByOwnClock,        // a lease ends by the server's own clock
  kWaitForLockedRow,       // a group waits for a row that somebody else has locked
  kOneStepBehind,  // the program knows the schema but for its newest step, as the one before
};

#ifdef HOLDFAST_SABOTEURS
// The one that $HOLDFAST_SABOTEUR names ("no_file_sync"), read once. Ends the process when there is
// none of that name: a test must not stay green for a misspelt switch. Any thread may call.
Saboteur ActiveSaboteur();
#else
constexpr Saboteur ActiveSaboteur() { return Saboteur::kNone; }
#endif

inline bool Sabotaged(Saboteur by) { return ActiveSaboteur() == by; }

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_SABOTEUR_H_
