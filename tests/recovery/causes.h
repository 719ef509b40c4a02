// What makes a real server refuse calls, by the kind of server that it takes. Each starts one, or
// several, and causes its reasons for every method that declares them.
#ifndef HOLDFAST_TESTS_RECOVERY_CAUSES_H_
#define HOLDFAST_TESTS_RECOVERY_CAUSES_H_

#include "tests/recovery/caused_reasons.h"

namespace holdfast::testing {

// Requests that are refused by what they hold, or by the state of the session that they are about.
void CauseByRequests(CausedReasons& caused);
// Clients that give up, or are silent: DEADLINE and CANCELLED.
void CauseByClients(CausedReasons& caused);
// Sessions whose files were changed: RESUME_MISMATCH, MANIFEST_DRIFT and DAMAGED.
void CauseByDamage(CausedReasons& caused);
// A file system without space: STORAGE_FULL and SNAPSHOT_FAILED.
void CauseByFullDisk(CausedReasons& caused);
// Events of eight days ago: EVENTS_COMPACTED.
void CauseByAge(CausedReasons& caused);
// A disk that does not answer, under a server with one worker: OVERLOADED.
void CauseByLoad(CausedReasons& caused);
// A process without memory for a large request: INTERNAL.
void CauseByNoRoom(CausedReasons& caused);
// A server that stops: STORE_UNAVAILABLE and WATCH_ENDED.
void CauseByStop(CausedReasons& caused);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_RECOVERY_CAUSES_H_
