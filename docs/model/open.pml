/* One id and the sessions that have it one after the other: writers without a lease, deletion,
 * creation anew on purpose, and copies of each of their requests that arrive late.
 *
 * A store decides each request under the lock of its id, so a request is one step. Its client may
 * send it again, because a reply can be lost, and a copy may arrive at any later time, also when
 * its stored reply is gone. A client knows a present or a former state of the id when it first sends a
 * request, and means the session that it knows: `meant`. The rows of a deleted session are removed
 * by two workers, in the background.
 */
/* bounds quick: SENT=5 DAYS=1 */
/* bounds full: SENT=7 DAYS=1 */
/* bounds full: SENT=8 DAYS=0 */
/* bounds saboteurs: SENT=6 DAYS=1 */
#ifndef SENT
#define SENT 6 /* copies of requests, at most two of one */
#endif
#ifndef DAYS
#define DAYS 1
#endif

/* Requests. The names of those that name a session end with UID, of those that create one if it is
 * missing with IF_MISSING, and with IF_DELETED where they may create it anew. */
#define CREATE 0
#define CREATE_IF_DELETED 1
#define WRITE 2
#define WRITE_UID 3
#define WRITE_IF_MISSING 4
#define WRITE_IF_DELETED 5
#define DELETE 6
#define DELETE_UID 7
#define REQUESTS 8
#define names_uid(r) ((r) == WRITE_UID || (r) == DELETE_UID)
#define is_write(r) ((r) >= WRITE && (r) <= WRITE_IF_DELETED)
#define is_delete(r) ((r) >= DELETE)
#define may_create(r) ((r) == CREATE || (r) == WRITE_IF_MISSING)
#define may_create_anew(r) ((r) == CREATE_IF_DELETED || (r) == WRITE_IF_DELETED)

/* The id: how many sessions had it, the present one included, and whether that one is deleted. */
byte session;
bit deleted;
#define none (session == 0)
#define alive (session > 0 && !deleted)

byte meant[REQUESTS];    /* the session that the client means; 0: not yet sent */
byte copies[REQUESTS], sent;
byte effect[REQUESTS];   /* the session in which a write last took effect */
bit row[REQUESTS];       /* what the write stored is still there, under the id */
bit reply[REQUESTS];     /* its stored reply counts */
bit acknowledged[REQUESTS];
bit day;
#define NO_WORK 0
byte purges[2];          /* the session whose rows a worker removes */

/* What a request must not do, whatever the rules above it say. */
inline take_effect(r) {
  assert(meant[r] == session); /* nothing of a former session takes effect in the next */
  assert(!reply[r]);           /* at most once while its reply counts */
  reply[r] = 1
}
inline acknowledge(r) {
  assert(!is_write(r) || deleted || effect[r] != session || row[r]);
  acknowledged[r] = 1
}

inline write(r) { take_effect(r); effect[r] = session; row[r] = 1; acknowledge(r) }
inline create(r) {
  session++;
  deleted = 0;
#ifdef SABOTAGE_NEVER_A_THIRD_SESSION
  assert(session < 3);
#endif
  k = 0;
  do
  :: k < REQUESTS ->
     assert(!row[k]); /* a new session begins empty */
     reply[k] = 0;    /* the tombstone's goes with it */
     k++
  :: else -> break
  od;
  k = 0;
  if
  :: is_write(r) -> write(r)
  :: else -> take_effect(r); acknowledge(r)
  fi
}
/* The stored replies go with the session; that of the deletion stays with the tombstone. */
inline delete(r) {
  take_effect(r);
  deleted = 1;
  k = 0;
  do
  :: k < REQUESTS -> reply[k] = (k == r); k++
  :: else -> break
  od;
  k = 0;
  acknowledge(r)
}
inline refuse(r) { skip }

#ifdef SABOTAGE_REPLIES_OUTLIVE_THEIR_SESSION
#define counts(r) (reply[r] || acknowledged[r])
#else
#define counts(r) reply[r]
#endif
#define no_rows (!row[WRITE] && !row[WRITE_UID] && !row[WRITE_IF_MISSING] && !row[WRITE_IF_DELETED])

/* Whether a mutation may be meant for the present session. */
#ifdef SABOTAGE_UID_IS_OPTIONAL
#define without_uid true
#else
#define without_uid (session == 1)
#endif
#ifdef SABOTAGE_UID_IS_NOT_COMPARED
#define is_present(r) (names_uid(r) || without_uid)
#else
#define is_present(r) (names_uid(r) && meant[r] == session || !names_uid(r) && without_uid)
#endif

/* Which tombstone a creation may replace. The client names the session that it saw deleted. */
#ifdef SABOTAGE_ANY_TOMBSTONE_IS_REPLACED
#define may_replace(r) may_create_anew(r)
#elif defined(SABOTAGE_A_CREATE_REPLACES_A_TOMBSTONE)
#define may_replace(r) (may_create(r) || may_create_anew(r) && meant[r] == session + 1)
#else
#define may_replace(r) (may_create_anew(r) && meant[r] == session + 1)
#endif
#ifdef SABOTAGE_CREATED_BEFORE_THE_PURGE
#define room true
#else
#define room no_rows
#endif

inline handle(r) {
  if
  :: counts(r) -> acknowledge_repeat(r)
  :: !counts(r) && none && may_create(r) -> create(r)
  :: !counts(r) && none && !may_create(r) -> refuse(r)                  /* SESSION_NOT_FOUND */
  :: !counts(r) && !none && deleted && may_replace(r) && room -> create(r)
  :: !counts(r) && !none && deleted && !(may_replace(r) && room) -> refuse(r) /* TOMBSTONED */
  :: !counts(r) && alive && r <= CREATE_IF_DELETED -> refuse(r)         /* SESSION_EXISTS */
  :: !counts(r) && alive && r > CREATE_IF_DELETED && !is_present(r) -> refuse(r) /* FENCED */
  :: !counts(r) && alive && is_write(r) && is_present(r) -> write(r)
  :: !counts(r) && alive && is_delete(r) && is_present(r) -> delete(r)
  fi
}
/* A repeat is answered with the reply of what it did, which is then still so. */
inline acknowledge_repeat(r) {
  assert(meant[r] == session);
  assert(!is_write(r) || row[r] && effect[r] == session);
  acknowledge(r)
}

/* What the client of a first copy knows: a session that there is or was, or none. */
inline mean(r) {
  if
  :: may_create(r) -> meant[r] = 1
  :: may_create_anew(r) && session >= 1 && deleted -> meant[r] = session + 1
  :: may_create_anew(r) && session >= 2 -> meant[r] = session
  :: !may_create(r) && !may_create_anew(r) && session >= 1 -> meant[r] = session
  :: !may_create(r) && !may_create_anew(r) && session >= 2 -> meant[r] = session - 1
  :: !may_create(r) && !may_create_anew(r) && none -> meant[r] = 1
  fi
}
#define can_mean(r) (!may_create_anew(r) || session >= 2 || session >= 1 && deleted)

active proctype Clients() {
  byte r, k;
end:
  do
  :: atomic { sent < SENT ->
       if
       :: r = CREATE :: r = CREATE_IF_DELETED :: r = WRITE :: r = WRITE_UID
       :: r = WRITE_IF_MISSING :: r = WRITE_IF_DELETED :: r = DELETE :: r = DELETE_UID
       fi;
       if
       :: !meant[r] && can_mean(r) -> mean(r) /* on its way */
       :: meant[r] && copies[r] < 2 -> copies[r]++; sent++; handle(r)
       :: else -> skip
       fi;
       r = 0 }
  :: d_step { DAYS && !day -> day = 1; /* replies of the last day are gone */
       k = 0;
       do
       :: k < REQUESTS -> reply[k] = 0; k++
       :: else -> break
       od;
       k = 0 }
  od
}

/* Removes rows of a deleted session, each as a step of its own. */
active [2] proctype Purger() {
  byte k;
end:
  do
  :: atomic { deleted && !no_rows && purges[_pid - 1] == NO_WORK -> purges[_pid - 1] = session }
  :: atomic { purges[_pid - 1] != NO_WORK ->
       k = WRITE;
       do
       :: k < WRITE_IF_DELETED && !row[k] -> k++
       :: k == WRITE_IF_DELETED || row[k] -> break
       od;
       if
#ifndef SABOTAGE_PURGED_BY_ID
       :: !deleted || session != purges[_pid - 1] -> skip
       :: deleted && session == purges[_pid - 1] && row[k] ->
#else
       :: row[k] ->
#endif
          row[k] = 0;
          assert(!alive || effect[k] != session) /* of a living session nothing is lost */
       :: !row[k] -> skip
       fi;
       if
       :: no_rows || session != purges[_pid - 1] || !deleted -> purges[_pid - 1] = NO_WORK
       :: else
       fi;
       k = 0 }
  od
}
