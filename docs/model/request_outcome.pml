/* Repeated requests over PostgreSQL: two servers, groups of changes, one failover, and a
 * question for the outcome of a request.
 *
 * The database is its state on the primary (row, applied, grant) and what a failover would keep of
 * it (the same names with `kept_`). A statement that writes holds the row lock of its sessions
 * until its commit is as durable as an acknowledgement must be, or until its wait is interrupted: by a
 * cancelled wait, a restart or a broken connection. Then its outcome is in doubt. Every server
 * statement is one step, and the guard of a change on its head's version always holds: that guard
 * can only stop a repeat.
 */
/* bounds quick: SENT=2 FAILOVERS=1 INTERRUPTIONS=1 QUESTIONS=0 DAYS=0 */
/* bounds full: SENT=3 FAILOVERS=1 INTERRUPTIONS=1 QUESTIONS=0 DAYS=1 */
/* bounds full: SENT=2 FAILOVERS=1 INTERRUPTIONS=1 QUESTIONS=1 DAYS=1 */
/* bounds full: SENT=3 FAILOVERS=0 INTERRUPTIONS=0 QUESTIONS=1 DAYS=1 */
/* bounds saboteurs: SENT=3 FAILOVERS=1 INTERRUPTIONS=1 QUESTIONS=1 DAYS=1 */
/* bounds SABOTAGE_NEVER_AFTER_A_DAY: SENT=2 FAILOVERS=1 INTERRUPTIONS=1 QUESTIONS=1 DAYS=1 */
/* bounds SABOTAGE_OUTCOME_NOT_WRITTEN_AGAIN: SENT=2 FAILOVERS=1 INTERRUPTIONS=1 QUESTIONS=1 DAYS=1 */
/* bounds SABOTAGE_OUTCOME_READ_BEFORE_WRITING: SENT=2 FAILOVERS=1 INTERRUPTIONS=1 QUESTIONS=1 DAYS=1 */
#ifndef SENT
#define SENT 3 /* copies of requests, of which at most two are of one request */
#endif
#ifndef FAILOVERS
#define FAILOVERS 1
#endif
#ifndef INTERRUPTIONS
#define INTERRUPTIONS 1
#endif
#ifndef QUESTIONS
#define QUESTIONS 1
#endif
#ifndef DAYS
#define DAYS 1
#endif

/* Requests. OTHER is of session B, the rest of session A, whose initial grant is WRITE's. */
#define WRITE 0  /* a change under the initial grant */
#define GRANT1 1 /* a resume: gives out a new token */
#define GRANT2 2
#define OTHER 3
#define REQUESTS 4
#define NO_REQUEST 4
#define session(r) ((r) == OTHER)
#define is_grant(r) ((r) == GRANT1 || (r) == GRANT2)

#define NONE 0
#define COUNTS 1 /* a reply of the last day */
#define OLD 2
byte row[REQUESTS], kept_row[REQUESTS];      /* by the unique index of requests */
bit applied[REQUESTS], kept_applied[REQUESTS];
byte grant, kept_grant;                      /* whose token the session's row has; 0: the initial */
#define fenced(r) ((r) == WRITE && grant)

/* Statements under way: of server 0, of server 1, of the question. */
#define QUESTION 2
bit locked[2];
byte owner[2];
bit waits[3], broken[3];

byte copies[REQUESTS], sent;
byte failovers, interruptions;
bit day; /* a day has passed */

/* What was said or done, for the assertions. */
bit acted[REQUESTS], kept_acted[REQUESTS]; /* and the reply counts */
bit acknowledged[REQUESTS];
bit reported_never;
bit reported_no_token[REQUESTS];

inline lock(s, holder) { locked[s] = 1; owner[s] = holder; waits[holder] = 1 }
inline unlock(holder) {
  if :: locked[0] && owner[0] == holder -> locked[0] = 0; owner[0] = 0 :: else fi;
  if :: locked[1] && owner[1] == holder -> locked[1] = 0; owner[1] = 0 :: else fi
}
inline apply(r) {
  assert(!acted[r]);                     /* at most once while the reply counts */
  assert(r != WRITE || !reported_never);     /* `never` is final */
  row[r] = COUNTS; applied[r] = 1; acted[r] = 1;
  if :: is_grant(r) -> grant = r; reported_no_token[r] = 0 :: else fi
}
inline acknowledge(r) { assert(applied[r]); acknowledged[r] = 1 }
inline acknowledge_repeat(r, token) {
  acknowledge(r);
  if
  :: is_grant(r) && token -> assert(grant == r)
  :: is_grant(r) && !token -> reported_no_token[r] = 1
  :: else
  fi
}
inline refuse(r) { assert(row[r] != COUNTS) }

#ifdef SABOTAGE_NO_UNIQUE_INDEX
#define violates(r) false
#else
#define violates(r) (row[r] != NONE)
#endif
#ifdef SABOTAGE_TOKEN_KEPT_WITH_REPLY
#define token_of(r) 1
#else
#define token_of(r) (grant == (r))
#endif

/* One change by itself: its reply is looked for first. */
inline do_alone(r) {
  do
  :: atomic { !locked[session(r)] -> found = row[r] == COUNTS; token = token_of(r);
#ifdef SABOTAGE_NO_LOOKUP
       found = 0;
#endif
       if
#ifdef SABOTAGE_REPEAT_NOT_WRITTEN_AGAIN
       :: found -> acknowledge_repeat(r, token); break
#endif
       :: else
       fi };
     if
     :: atomic { found && !locked[session(r)] -> /* the session's row is written again */
#ifndef SABOTAGE_REPEAT_READ_BEFORE_WRITING
          found = row[r] == COUNTS;
#endif
#ifndef SABOTAGE_TOKEN_READ_BEFORE_WRITING
          token = token_of(r);
#endif
          if
          :: found -> lock(session(r), me); repeated = 1
          :: else
          fi }
     :: atomic { !found && !locked[session(r)] ->
          if
#ifdef SABOTAGE_NO_LOOKUP
          :: row[r] == COUNTS -> refuse(r); break
#elif defined(SABOTAGE_UNNAME_ANY_AGE)
          :: row[r] == COUNTS && !fenced(r) -> row[r] = NONE; apply(r); lock(session(r), me)
#elif defined(SABOTAGE_OLD_REPLY_BLOCKS)
          :: row[r] != NONE -> assert(row[r] == COUNTS)
#else
          :: row[r] == COUNTS               /* a twin came first: look again */
#endif
          :: row[r] != COUNTS && fenced(r) -> refuse(r); break
#ifdef SABOTAGE_OLD_REPLY_BLOCKS
          :: row[r] == NONE && !fenced(r) -> apply(r); lock(session(r), me)
#else
          :: row[r] != COUNTS && !fenced(r) -> /* an old row is unnamed */
             apply(r); lock(session(r), me)
#endif
          fi }
     fi;
     if
     :: atomic { locked[session(r)] && owner[session(r)] == me && !waits[me] ->
          unlock(me);
          if
          :: repeated -> acknowledge_repeat(r, token)
          :: else -> acknowledge(r)
          fi;
          break }
     :: atomic { broken[me] -> broken[me] = 0; repeated = 0 }
     :: atomic { !broken[me] && !(locked[session(r)] && owner[session(r)] == me) -> repeated = 0 }
     fi
  od;
  atomic { repeated = 0; found = 0; token = 0 }
}

#define may_send(r) (sent < SENT && copies[r] < 2)
inline send(r) { copies[r]++; sent++ }

proctype Server(byte me) {
  byte a = NO_REQUEST, b = NO_REQUEST, in_a, in_b;
  bit found, token, repeated;
  do
  :: atomic {
       if
       :: may_send(WRITE) -> a = WRITE; send(a)
       :: may_send(GRANT1) -> a = GRANT1; send(a)
       :: may_send(GRANT2) -> a = GRANT2; send(a)
       :: true
       fi;
       if
       :: may_send(OTHER) -> b = OTHER; send(b)
       :: a != NO_REQUEST
       :: a == NO_REQUEST && sent == SENT -> break
       fi;
       /* The group's statement skips a locked session; a unique violation rolls all of it back. */
#ifdef SABOTAGE_GUARD_BEFORE_REPLY
       if
       :: a != NO_REQUEST && !locked[0] && fenced(a) -> refuse(a); a = NO_REQUEST
       :: else
       fi;
#endif
       in_a = a != NO_REQUEST && !locked[0] && !fenced(a);
       in_b = b != NO_REQUEST && !locked[1];
       if
       :: in_a && violates(a) || in_b && violates(b) ->
#ifdef SABOTAGE_ROLLED_BACK_GROUP_ACKNOWLEDGED
          if :: in_a && !violates(a) -> acknowledge(a); a = NO_REQUEST :: else fi;
          if :: in_b && !violates(b) -> acknowledge(b); b = NO_REQUEST :: else fi;
#endif
          in_a = 0; in_b = 0
       :: else ->
          if :: in_a -> apply(a); lock(0, me) :: else fi;
          if :: in_b -> apply(b); lock(1, me) :: else fi;
#ifdef SABOTAGE_ACKNOWLEDGE_BEFORE_FLUSH
          if :: in_a -> acknowledge(a) :: else fi;
          if :: in_b -> acknowledge(b) :: else fi
#endif
       fi };
     if
     :: atomic { (in_a || in_b) && !waits[me] && !broken[me] ->
          unlock(me);
          if :: in_a -> acknowledge(a); a = NO_REQUEST :: else fi;
          if :: in_b -> acknowledge(b); b = NO_REQUEST :: else fi }
     :: atomic { broken[me] ->               /* in doubt: each is sent again by itself */
          broken[me] = 0;
#ifdef SABOTAGE_IN_DOUBT_IS_REFUSED
          if :: in_a -> refuse(a); a = NO_REQUEST :: else fi;
          if :: in_b -> refuse(b); b = NO_REQUEST :: else fi
#endif
        }
     :: !in_a && !in_b && !broken[me]
     fi;
     in_a = 0; in_b = 0;
     if :: a != NO_REQUEST -> do_alone(a) :: else fi;
     if :: b != NO_REQUEST -> do_alone(b) :: else fi;
     d_step { a = NO_REQUEST; b = NO_REQUEST }
  od
}

/* GetRequestOutcome of WRITE, with the token of the initial grant. */
inline answer() {
  if
  :: found -> acknowledge(WRITE)
  :: else -> assert(!applied[WRITE]); reported_never = 1
  fi
}
#ifdef SABOTAGE_NEVER_AFTER_A_DAY
#define may_say_never (grant != 0)
#else
#define may_say_never (grant && !day)
#endif
proctype Question() {
  bit found, later;
  atomic { !locked[0] ->
    found = row[WRITE] == COUNTS;
    later = may_say_never;
    if :: found || later :: else -> goto unknown fi;
#ifdef SABOTAGE_OUTCOME_NOT_WRITTEN_AGAIN
    answer(); goto unknown;
#endif
#ifdef SABOTAGE_OUTCOME_READ_BEFORE_WRITING
  };
  atomic { !locked[0] ->
#endif
    lock(0, QUESTION)
  };
  if
  :: atomic { !waits[QUESTION] && !broken[QUESTION] -> unlock(QUESTION); answer() }
  :: atomic { broken[QUESTION] -> broken[QUESTION] = 0 }
  fi;
unknown:
  skip
}

inline interrupt(holder) {
  if :: waits[holder] -> waits[holder] = 0; broken[holder] = 1; unlock(holder) :: else fi
}
inline fail_over() {
  k = 0;
  do
  :: k < REQUESTS ->
     assert(!acknowledged[k] || kept_applied[k]);
     assert(!reported_no_token[k] || kept_grant != k);
     row[k] = kept_row[k]; applied[k] = kept_applied[k]; acted[k] = kept_acted[k]; k++
  :: else -> break
  od;
  k = 0;
  grant = kept_grant;
  interrupt(0); interrupt(1); interrupt(QUESTION)
}
inline replicate() {
  k = 0;
  do
  :: k < REQUESTS ->
     kept_row[k] = row[k]; kept_applied[k] = applied[k]; kept_acted[k] = acted[k]; k++
  :: else -> break
  od;
  k = 0;
  kept_grant = grant;
  waits[0] = 0; waits[1] = 0; waits[QUESTION] = 0
}
inline pass_a_day() {
  day = 1; k = 0;
  do
  :: k < REQUESTS ->
     if :: row[k] == COUNTS -> row[k] = OLD :: else fi;
     if :: kept_row[k] == COUNTS -> kept_row[k] = OLD :: else fi;
     acted[k] = 0; kept_acted[k] = 0; reported_no_token[k] = 0; k++
  :: else -> break
  od;
  k = 0
}

proctype Environment() {
  byte k;
end:
  do
  :: d_step { waits[0] || waits[1] || waits[QUESTION] -> replicate() }
  :: d_step { interruptions < INTERRUPTIONS && waits[0] -> interruptions++; interrupt(0) }
  :: d_step { interruptions < INTERRUPTIONS && waits[1] -> interruptions++; interrupt(1) }
  :: d_step { interruptions < INTERRUPTIONS && waits[QUESTION] ->
       interruptions++; interrupt(QUESTION) }
  :: d_step { failovers < FAILOVERS -> failovers++; fail_over() }
  :: d_step { !day && DAYS -> pass_a_day() }
  od
}

init {
  atomic {
    run Server(0); run Server(1); run Environment();
    if :: QUESTIONS -> run Question() :: else fi
  }
}
