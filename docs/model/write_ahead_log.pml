/* The write-ahead log of the files store: commits, switches between its two files, sealing of a
 * journal, removal and re-creation of a session, crashes, and recovery.
 *
 * Every file and every name exists twice: as the running system shows it (suffix C, the page cache)
 * and as it surely survives a power loss (suffix S, storage). A sync copies C to S. A power loss
 * keeps or loses every difference by itself, and may tear a record. A killed process loses nothing
 * of either, so recovery may read what storage does not have yet.
 *
 * Each alternative of the loop is one step. A crash may come between any two of them.
 */
/* bounds quick: COMMITS=3 CRASHES=1 EXTRAS=1 */
/* bounds full: COMMITS=4 CRASHES=1 EXTRAS=1 */
/* bounds full: COMMITS=3 CRASHES=1 EXTRAS=2 */
/* bounds full: COMMITS=2 CRASHES=2 EXTRAS=1 */
/* bounds saboteurs: COMMITS=4 CRASHES=1 EXTRAS=1 */
/* bounds SABOTAGE_LOG_REUSED_BEFORE_RECOVERY_SYNC: COMMITS=2 CRASHES=2 EXTRAS=0 */
/* bounds SABOTAGE_RECOVERED_JOURNAL_NOT_SYNCED: COMMITS=2 CRASHES=2 EXTRAS=0 */
#ifndef COMMITS
#define COMMITS 4 /* through the log */
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef EXTRAS
#define EXTRAS 2 /* of a large change, a sealing, a removal: how many may happen */
#endif
#define RECORDS 2 /* in one file of the log */

/* Journals. Session A begins with A0, has A1 after sealing, and A2 as another creation. */
#define A0 0
#define A1 1
#define A2 2
#define B0 3
#define JOURNALS 4
#define SLOTS 3 /* frames in one journal */
#define CELLS 12
#define ATTEMPT 16 /* what was written after another crash is other content */
#define frame(j, n) ((j) * SLOTS + (n) + 1 + ATTEMPT * crashes)
#define cell(f) ((f) % ATTEMPT - 1)
#define journal_of(f) (cell(f) / SLOTS)
#define offset_of(f) (cell(f) % SLOTS)
#define creation_of(j) ((j) == A2 -> 2 : 1)

byte frameC[CELLS], frameS[CELLS]; /* 0: not there, or torn */
byte truth[CELLS];                 /* what was written there last, and 0 where recovery cut */
byte length[JOURNALS];             /* where the process appends */
byte seen[JOURNALS];               /* frames acknowledged, or shown to a reader */

/* The log. A record has the generation of its file's header, and at most one frame of each session.
 * A torn record has generation 0. */
byte headerC[2], headerS[2];
byte genC[4], genS[4], aC[4], aS[4], bC[4], bS[4];
byte used[2], covers[2]; /* records since the header; the journals that these cover, as bits */
byte current;
#define FREE 0
#define FULL 1
#define CLEARED 2 /* its new header is written, and not yet synced */
byte other = FREE; /* state of the file that is not current */
#define next_generation ((headerC[0] > headerC[1] -> headerC[0] : headerC[1]) + 1)

/* Session A's names: the directory (which creation), its manifest (0: first, 1: after sealing), the
 * name journal.log (A0 or A1), the link to the sealed journal, and the files index and head. */
byte dirC = 1, dirS = 1;
bit manifestC, manifestS, journalC, journalS, linkC, linkS, headC, headS;
byte sealed; /* frames that the head file counts */
#define current_a (dirC == 2 -> A2 : (journalC -> A1 : A0))

/* Where each activity is; all of it is lost in a crash. */
byte commit, a, b;      /* a, b: frames of the group */
byte group_file;        /* of the log, that has its record */
byte large;             /* its frame */
byte seal;
byte remove;
byte recovery;          /* 0: serving */
byte commits, crashes, extras;
bit removed;
byte i, k, f, n;        /* scratch, 0 between steps */

#define locked_a ((commit && a) || large || seal || remove)
#define can_append(j) (length[j] < SLOTS)

/* What is done after the last crash is not looked at any more. */
#define serving (!recovery && crashes < CRASHES)
#define may (serving && extras < EXTRAS)

inline note_synced(j) {
  covers[0] = covers[0] & ~(1 << (j));
  covers[1] = covers[1] & ~(1 << (j))
}
inline sync_journal(j) {
  k = 0;
  do
  :: k < SLOTS -> frameS[(j) * SLOTS + k] = frameC[(j) * SLOTS + k]; k++
  :: else -> break
  od;
  k = 0;
  note_synced(j)
}
inline sync_covered(w) {
  n = 0;
  do
  :: n < JOURNALS ->
     if :: (covers[w] >> n) & 1 -> sync_journal(n) :: else fi;
     n++
  :: else -> break
  od;
  n = 0
}

inline sync_log(w) {
  headerS[w] = headerC[w];
  k = 0;
  do
  :: k < RECORDS ->
     genS[(w) * RECORDS + k] = genC[(w) * RECORDS + k];
     aS[(w) * RECORDS + k] = aC[(w) * RECORDS + k];
     bS[(w) * RECORDS + k] = bC[(w) * RECORDS + k];
     k++
  :: else -> break
  od;
  k = 0
}

inline place(j, result) { result = frame(j, length[j]) }
inline write(result) {
  frameC[cell(result)] = result;
  truth[cell(result)] = result;
  length[journal_of(result)]++
}

inline publish(result) { seen[journal_of(result)] = offset_of(result) + 1 }

/* A directory that was removed or replaced meanwhile is not acknowledged. */
inline acknowledge_a(result) {
  if
#ifdef SABOTAGE_PATH_NOT_CHECKED
  :: true ->
#else
  :: creation_of(journal_of(result)) == dirC ->
#endif
     assert(creation_of(journal_of(result)) == dirC);
     publish(result)
#ifndef SABOTAGE_PATH_NOT_CHECKED
  :: else -> skip
#endif
  fi
}

inline publish_group() {
  if :: a -> acknowledge_a(a) :: else fi;
  if :: b -> publish(b) :: else fi
}

/* No acknowledged frame may have this file of the log as its only place. */
inline check_stored(result) {
  if
  :: result && offset_of(result) < seen[journal_of(result)] &&
     (journal_of(result) == B0 || creation_of(journal_of(result)) == dirS) ->
     assert(frameS[cell(result)] == result)
  :: else -> skip
  fi
}
inline clear(w) {
  k = 0;
  do
  :: k < RECORDS && genC[(w) * RECORDS + k] == headerC[w] ->
     check_stored(aC[(w) * RECORDS + k]);
     check_stored(bC[(w) * RECORDS + k]);
     k++
  :: else -> break
  od;
  k = 0;
  headerC[w] = next_generation;
  used[w] = 0; covers[w] = 0
}

/* Puts what the log has of one session into its journal. */
inline replay_frame(j, result) {
  if
  :: result &&
#ifdef SABOTAGE_FORMER_CREATION_NOT_IGNORED
     (journal_of(result) == (j) || creation_of(journal_of(result)) != creation_of(j)) ->
#elif defined(SABOTAGE_FORMER_JOURNAL_NOT_IGNORED)
     creation_of(journal_of(result)) == creation_of(j) ->
#else
     journal_of(result) == (j) ->
#endif
     frameC[(j) * SLOTS + offset_of(result)] = result
  :: else -> skip
  fi
}
#ifdef SABOTAGE_GENERATION_NOT_COMPARED
#define valid(w, r) (genC[(w) * RECORDS + (r)])
#else
#define valid(w, r) (genC[(w) * RECORDS + (r)] == headerC[w])
#endif
inline replay(j, from) {
  i = 0;
  do
  :: i < 2 ->
     k = 0;
     do
     :: k < RECORDS && valid(i, k) -> replay_frame(j, from); k++
     :: else -> break
     od;
     /* Only the last record may be unfinished: a valid one behind it would be damage. */
     do
     :: k < RECORDS -> assert(!valid(i, k)); k++
     :: else -> break
     od;
     i++
  :: else -> break
  od;
  i = 0; k = 0
}

/* Takes the journal as it is now: everything acknowledged, in order, and no other content. */
inline check_recovered(j) {
  n = 0;
  do
  :: n < SLOTS && frameC[(j) * SLOTS + n] ->
     assert(frameC[(j) * SLOTS + n] == truth[(j) * SLOTS + n]); n++
  :: else -> break
  od;
  assert(n >= seen[j]);
  k = n;
  do
  :: k < SLOTS -> assert(!frameC[(j) * SLOTS + k]); truth[(j) * SLOTS + k] = 0; k++
  :: else -> break
  od;
  length[j] = n; n = 0; k = 0
}
inline check_sealed() {
  if
  :: dirC == 1 && manifestC ->
     assert(headC && linkC && sealed >= seen[A0]);
     k = 0;
     do
     :: k < sealed -> assert(frameC[k] == truth[k]); k++
     :: else -> break
     od;
     k = 0
  :: else -> skip
  fi
}

/* A power loss keeps or loses each difference between cache and storage by itself. */
inline lose(cache, storage) {
  if
  :: cache == storage
  :: cache != storage -> storage = cache
  :: cache != storage -> cache = storage
  fi
}
#define record_synced(r) (genC[r] == genS[r] && aC[r] == aS[r] && bC[r] == bS[r])
inline lose_power() {
  lose(dirC, dirS); lose(manifestC, manifestS); lose(journalC, journalS);
  lose(linkC, linkS); lose(headC, headS);
  lose(headerC[0], headerS[0]); lose(headerC[1], headerS[1]);
  do
  :: d_step { do :: k < CELLS && frameC[k] == frameS[k] -> k++ :: else -> break od };
     if
     :: k == CELLS -> k = 0; break
     :: k < CELLS -> frameS[k] = frameC[k]
     :: k < CELLS -> frameC[k] = frameS[k]
     fi
  od;
  skip;
  do
  :: d_step { do :: k < 2 * RECORDS && record_synced(k) -> k++ :: else -> break od };
     if
     :: k == 2 * RECORDS -> k = 0; break
     :: k < 2 * RECORDS -> d_step { genS[k] = genC[k]; aS[k] = aC[k]; bS[k] = bC[k] }
     :: k < 2 * RECORDS -> d_step { genC[k] = genS[k]; aC[k] = aS[k]; bC[k] = bS[k] }
     :: k < 2 * RECORDS -> /* torn */
        d_step { genC[k] = 0; aC[k] = 0; bC[k] = 0; genS[k] = 0; aS[k] = 0; bS[k] = 0 }
     fi
  od;
  skip
}
inline forget() {
  commit = 0; a = 0; b = 0; group_file = 0; large = 0; seal = 0; remove = 0;
  used[0] = 0; used[1] = 0; covers[0] = 0; covers[1] = 0; current = 0; other = FREE;
  length[A0] = 0; length[A1] = 0; length[A2] = 0; length[B0] = 0
}
/* Recovery syncs the names; writes the frames that a journal lacks; syncs the journals; begins the
 * log anew. This is its first step, whose writes are in the cache alone. */
inline begin_recovery() {
  assert(dirC || removed);
  assert(dirC == 2 || !seen[A2]);
  dirS = dirC; manifestS = manifestC; journalS = journalC; linkS = linkC;
  check_sealed();
  if
  :: dirC == 1 && manifestC && !journalC -> journalC = 1 /* sealing was interrupted */
  :: else -> assert(dirC != 1 || manifestC || !journalC) /* a journal has its manifest */
  fi;
  if
  :: dirC -> n = current_a; f = n; n = 0; replay(f, aC[i * RECORDS + k]); check_recovered(f); f = 0
  :: else -> skip
  fi;
  replay(B0, bC[i * RECORDS + k]); check_recovered(B0);
  recovery = 1
}
inline sync_recovered() {
#ifdef SABOTAGE_RECOVERED_JOURNAL_NOT_SYNCED
  skip
#else
  journalS = journalC;
  if :: dirC -> f = current_a; sync_journal(f); f = 0 :: else fi;
  sync_journal(B0)
#endif
}
inline finish_recovery() {
  if :: dirC -> f = current_a; seen[f] = length[f]; f = 0 :: else fi;
  seen[B0] = length[B0];
  other = FULL; recovery = 0
}

/* What was found after the last crash is checked: all that is left of it is one state. */
inline erase() {
  do
  :: k < CELLS -> frameC[k] = 0; frameS[k] = 0; truth[k] = 0; k++
  :: else -> break
  od;
  k = 0;
  do
  :: k < JOURNALS ->
     genC[k] = 0; aC[k] = 0; bC[k] = 0; genS[k] = 0; aS[k] = 0; bS[k] = 0;
     seen[k] = 0; length[k] = 0; k++
  :: else -> break
  od;
  k = 0; headerC[0] = 0; headerC[1] = 0; headerS[0] = 0; headerS[1] = 0; sealed = 0;
  dirC = 0; dirS = 0; manifestC = 0; manifestS = 0; journalC = 0; journalS = 0;
  linkC = 0; linkS = 0; headC = 0; headS = 0;
  commits = 0; extras = 0; removed = 0
}

active proctype Store() {
  d_step { headerC[0] = 1; headerS[0] = 1; headerC[1] = 2; headerS[1] = 2 };
  do
  /* A group: one record, one sync, frames into the journals, acknowledgement. */
  :: atomic { serving && !commit && commits < COMMITS && used[current] < RECORDS ->
       if
       :: !locked_a && dirC && can_append(current_a) ->
          place(current_a, a);
          if
          :: can_append(B0) -> place(B0, b)
          :: true
          fi
       :: can_append(B0) -> place(B0, b)
       fi;
#ifdef SABOTAGE_READ_BEFORE_SYNC
       publish_group();
#endif
       commits++; commit = 1 }
  :: d_step { commit == 1 ->
       k = current * RECORDS + used[current];
       genC[k] = headerC[current]; aC[k] = a; bC[k] = b; k = 0;
       if :: a -> truth[cell(a)] = a :: else fi;
       if :: b -> truth[cell(b)] = b :: else fi;
       used[current]++; group_file = current;
       commit = 2 }
#ifdef SABOTAGE_ACKNOWLEDGE_BEFORE_SYNC
  :: d_step { commit == 2 -> publish_group(); commit = 3 }
  :: d_step { commit == 3 -> sync_log(group_file); commit = 4 }
#else
  :: d_step { commit == 2 -> sync_log(group_file); commit = 4 }
#endif
  :: d_step { commit == 4 ->
       if
       :: a -> write(a); covers[group_file] = covers[group_file] | (1 << journal_of(a))
       :: else
       fi;
       if :: b -> write(b); covers[group_file] = covers[group_file] | (1 << B0) :: else fi;
#ifndef SABOTAGE_ACKNOWLEDGE_BEFORE_SYNC
       publish_group();
#endif
       commit = 0; a = 0; b = 0; group_file = 0 }

  /* The switch. A file may count as full after any record. The other one is free when every journal
   * has its frames of it and is synced, and then a header with a new generation. */
  :: d_step { serving && (!commit || commit == 4) && used[current] && other == FREE ->
       current = 1 - current; other = FULL }
  :: d_step {
#ifndef SABOTAGE_JOURNALS_SYNCED_BEFORE_THEY_ARE_WRITTEN
       !(commit == 4 && group_file == 1 - current) &&
#endif
       serving && other == FULL ->
#ifndef SABOTAGE_SWITCH_BEFORE_JOURNAL_SYNC
       sync_covered(1 - current);
#endif
       clear(1 - current); other = CLEARED }
  :: d_step { serving && other == CLEARED ->
#ifndef SABOTAGE_HEADER_NOT_SYNCED
       sync_log(1 - current);
#endif
       other = FREE }

  /* A change that is too large for the log syncs its whole journal. */
  :: d_step { may && dirC && can_append(current_a) &&
#ifdef SABOTAGE_LARGE_CHANGE_BEFORE_LOG_SYNC
       !large && !seal && !remove
#else
       !locked_a
#endif
       -> place(current_a, large); write(large); extras++ }
  :: d_step { large ->
#ifdef SABOTAGE_LARGE_CHANGE_SYNCS_ITS_FRAME_ONLY
       frameS[cell(large)] = frameC[cell(large)]; note_synced(journal_of(large));
#else
       sync_journal(journal_of(large));
#endif
       acknowledge_a(large); large = 0 }

  /* Sealing. The manifest is the switch; the name journal.log follows it. */
  :: d_step { may && dirC == 1 && !manifestC && length[A0] && !locked_a ->
#ifndef SABOTAGE_SEAL_BEFORE_JOURNAL_SYNC
       sync_journal(A0);
#endif
       linkC = 1; headC = 1; headS = 0; sealed = length[A0];
       extras++; seal = 1 }
  :: d_step { seal == 1 ->
#ifndef SABOTAGE_SEAL_BEFORE_HEAD_SYNC
       linkS = linkC; headS = headC;
#endif
       manifestC = 1; seal = 2 }
  :: d_step { seal == 2 ->
#ifndef SABOTAGE_MANIFEST_NAME_NOT_SYNCED
       manifestS = manifestC;
#endif
       journalC = 1; seal = 3 }
  :: d_step { seal == 3 -> manifestS = manifestC; journalS = journalC; seal = 0 }

  /* Removal, by the store or by an operator, and another creation under the same name. */
  :: d_step { may && dirC == 1 && !seal ->
       dirC = 0; extras++; removed = 1; remove = 1 }
  :: d_step { remove == 1 -> dirS = dirC; remove = 0 }
  :: d_step { serving && dirC == 0 && !locked_a ->
       f = frame(A2, 0); frameC[cell(f)] = f; frameS[cell(f)] = f; truth[cell(f)] = f; f = 0;
       length[A2] = 1; dirC = 2; remove = 2 }
  :: d_step { remove == 2 -> dirS = dirC; seen[A2] = 1; remove = 0 }

  /* A crash: the process is killed, or the power is lost. Recovery begins in the same step. */
  :: atomic { crashes < CRASHES ->
       crashes++;
       if :: true :: lose_power() fi;
       d_step { forget(); begin_recovery() };
       if :: crashes == CRASHES -> d_step { erase() }; goto end :: else fi }

#ifdef SABOTAGE_LOG_REUSED_BEFORE_RECOVERY_SYNC
  :: d_step { recovery == 1 -> clear(0); recovery = 2 }
  :: d_step { recovery == 2 -> sync_log(0); recovery = 3 }
  :: d_step { recovery == 3 -> sync_recovered(); finish_recovery() }
#else
  :: d_step { recovery == 1 -> sync_recovered(); recovery = 2 }
  :: d_step { recovery == 2 -> clear(0); recovery = 3 }
  :: d_step { recovery == 3 -> sync_log(0); finish_recovery() }
#endif
  od;
end:
  skip
}
