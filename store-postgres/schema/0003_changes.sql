-- The number of the lock on which session an id has.
CREATE FUNCTION holdfast.place_key(p_tenant text, p_session text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
  SELECT hashtextextended(p_tenant || '/' || p_session, 0)
$$;

-- Writes items of a session whose row is locked: the deletes and then the puts, or nothing where one
-- of them is refused. The order of the checks is that of session/item_writes.cc.
--
-- The keys that are deleted are spans that do not overlap, from a key on and before another one. Each
-- put is looked up along its key, and each row is then changed at its place, which cannot change
-- under the lock.
CREATE FUNCTION holdfast.write_items(
  p_tenant text, p_session text,
  -- The last key of a span, as the change expects it (empty: there is none); all null: it does not.
  p_last_collection text, p_last_start bytea, p_last_end bytea, p_last_key bytea,
  p_delete_collections text[], p_delete_starts bytea[], p_delete_ends bytea[],
  p_put_collections text[], p_put_keys bytea[],
  p_put_conditions integer[],   -- as PutCondition
  p_put_expected bigint[],      -- the version of kIfVersion
  p_put_versions bigint[],      -- that they give
  p_put_new boolean[],          -- the deletes take what is there
  p_put_bytes bigint[], p_put_facts bytea[],
  p_put_labels text[],          -- arrays of bytea as texts, or null
  p_put_data bytea[],
  p_put_at timestamptz,
  -- What the session may have, and what one change may delete.
  p_most_items bigint, p_most_bytes bigint, p_most_deletes bigint,
  OUT refusal integer,          -- 1: of the last key, 2: of the deletes, 3: of a put's version,
                                -- 4: of the number of items, 5: of their bytes
  OUT put integer,              -- of 3: which one, from 1
  OUT actual bigint,            -- of 2, 4 and 5: how many; of 3: the version, 0 for none
  OUT last bytea,               -- of 1: the key, or empty
  OUT results bytea,            -- numbers of 8 bytes: how many items were deleted, and of each put
                                -- twice the version that its name has now, and one more where it
                                -- had an item
  OUT added bigint, OUT added_bytes bigint  -- what the session has more than before
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  had    record;
  gone   tid[];            -- the places of what is deleted
  freed  bigint := 0;      -- its bytes
  lost   bigint := 0;      -- how many
  places tid[];            -- where there is an item, by put
  before bigint[];         -- and its version, or 0
  fresh  bigint := 0;      -- puts of names that have no item
BEGIN
  added_bytes := 0;
  IF p_last_collection IS NOT NULL THEN
    last := coalesce(
      (SELECT x.key FROM holdfast.item x
       WHERE x.tenant = p_tenant AND x.session_id = p_session
         AND x.collection = p_last_collection AND x.key >= p_last_start AND x.key < p_last_end
       ORDER BY x.key DESC LIMIT 1), '');
    IF last <> p_last_key THEN
      refusal := 1;
      RETURN;
    END IF;
  END IF;

  IF cardinality(p_delete_starts) > 0 THEN
    SELECT array_agg(f.place), count(*), coalesce(sum(f.bytes), 0) INTO gone, lost, freed
    FROM (SELECT i.place, i.bytes
          FROM unnest(p_delete_collections, p_delete_starts, p_delete_ends)
            AS d (collection, start, until)
          CROSS JOIN LATERAL (
            SELECT x.ctid AS place, x.bytes FROM holdfast.item x
            WHERE x.tenant = p_tenant AND x.session_id = p_session
              AND x.collection = d.collection AND x.key >= d.start AND x.key < d.until
            ORDER BY x.key LIMIT p_most_deletes + 1) i
          LIMIT p_most_deletes + 1) f;
    IF lost > p_most_deletes THEN
      refusal := 2;
      actual := lost;
      RETURN;
    END IF;
  END IF;

  results := int8send(lost);
  IF cardinality(p_put_keys) > 0 THEN
    SELECT min(u.n) FILTER (WHERE u.condition = 3 AND u.expected <> coalesce(i.version, 0)),
           array_agg(i.place ORDER BY u.n), array_agg(coalesce(i.version, 0) ORDER BY u.n),
           count(*) FILTER (WHERE i.place IS NULL),
           coalesce(sum(u.bytes - coalesce(i.bytes, 0))
                      FILTER (WHERE u.condition <> 2 OR i.place IS NULL), 0),
           results || string_agg(int8send(
             2 * CASE WHEN u.condition = 2 AND i.place IS NOT NULL THEN i.version ELSE u.version END
             + (i.place IS NOT NULL)::integer), '' ORDER BY u.n)
    INTO put, places, before, fresh, added_bytes, results
    FROM unnest(p_put_collections, p_put_keys, p_put_conditions, p_put_expected, p_put_versions,
                p_put_new, p_put_bytes)
      WITH ORDINALITY AS u (collection, key, condition, expected, version, new, bytes, n)
    LEFT JOIN LATERAL (
      SELECT x.ctid AS place, x.version, x.bytes FROM holdfast.item x
      WHERE NOT u.new AND x.tenant = p_tenant AND x.session_id = p_session
        AND x.collection = u.collection AND x.key = u.key OFFSET 0) i ON true;
    IF put IS NOT NULL THEN
      refusal := 3;
      actual := before[put];
      RETURN;
    END IF;
  END IF;

  added := fresh - lost;
  added_bytes := added_bytes - freed;
  SELECT s.items, s.item_bytes AS bytes INTO had FROM holdfast.session s
  WHERE s.tenant = p_tenant AND s.session_id = p_session;
  IF added > 0 AND had.items + added > p_most_items THEN
    refusal := 4;
    actual := had.items + added;
    RETURN;
  END IF;
  IF added_bytes > 0 AND had.bytes + added_bytes > p_most_bytes THEN
    refusal := 5;
    actual := had.bytes + added_bytes;
    RETURN;
  END IF;

  IF lost > 0 THEN
    DELETE FROM holdfast.item WHERE ctid = ANY (gone);
  END IF;
  IF fresh > 0 THEN
    INSERT INTO holdfast.item (tenant, session_id, collection, key, version, created_at, updated_at,
                               bytes, facts, labels, data)
    SELECT p_tenant, p_session, u.collection, u.key, u.version, p_put_at, p_put_at, u.bytes,
           u.facts, u.labels::bytea[], u.data
    FROM unnest(p_put_collections, p_put_keys, p_put_versions, p_put_bytes, p_put_facts,
                p_put_labels, p_put_data, places)
      AS u (collection, key, version, bytes, facts, labels, data, place)
    WHERE u.place IS NULL;
  END IF;
  IF fresh < cardinality(p_put_keys) THEN
    UPDATE holdfast.item i SET
      version = u.version, updated_at = p_put_at, bytes = u.bytes, facts = u.facts,
      labels = u.labels::bytea[], data = u.data
    FROM unnest(p_put_conditions, p_put_versions, p_put_bytes, p_put_facts, p_put_labels,
                p_put_data, places)
      AS u (condition, version, bytes, facts, labels, data, place)
    WHERE u.condition <> 2 AND i.ctid = u.place;
  END IF;
END
$$;

-- How sessions are changed: changes of several sessions in one call, and so in one flush, or one
-- alone. A row that another transaction has locked is left out, so that no member waits for the sake
-- of another one, unless the call says that it waits. A change that creates its session, deletes it,
-- takes over an upload or writes items is the only member of its call, and waits.
--
-- A plan is kept for as long as its connection, and where it was made for few sessions it would
-- rather read all of them than look each member up. Hence each member is looked up by a subquery of
-- its own, which OFFSET 0 (or its lock) keeps apart, and from then on by its place, which cannot
-- change under the lock.
--
-- Arrays of the members have one element for each; arrays of what they add name the member that an
-- element belongs to, from 1.
CREATE FUNCTION holdfast.change(
  p_tenants text[], p_sessions text[],
  p_versions bigint[],          -- that the decisions were made on
  p_was bytea[],                -- the checksums of the heads then: a version may come a second time
                                -- after a failover that lost changes
  p_needs_free boolean[],       -- the decision rests on the lease being free or expired
  p_requests text[],            -- null: the change answers none
  p_at timestamptz,             -- when, by the clock that says how long something is kept
  p_kept_since timestamptz,     -- since when stored replies count
  -- The heads that they leave.
  p_heads bytea[], p_head_sums bytea[], p_lifecycles integer[], p_generations bigint[],
  p_messages bigint[], p_epochs bigint[],
  p_raises boolean[],           -- the epoch, by a grant or without one
  p_tokens text[],              -- of the grant
  p_held boolean[], p_secret_hashes bytea[], p_ttls bigint[],  -- microseconds
  p_renews boolean[],           -- the lease runs for its whole TTL from now on
  p_cancelling boolean[], p_sweep boolean[],
  -- What they add to the log.
  p_events bigint[], p_audits bigint[],  -- events and audit records before each
  p_row_members integer[], p_row_parts integer[], p_row_messages bigint[], p_row_acts bytea[],
  p_row_msgs bytea[],
  -- Slots.
  p_revisions bigint[],         -- of the slot versions
  p_fresh boolean[],            -- nothing has this revision yet
  p_applied_turns bigint[], p_applied_afters bigint[], p_applied_froms bigint[],
  p_slot_members integer[], p_slot_owners text[], p_slot_sizes bigint[], p_slot_recs bytea[],
  p_slot_data bytea[],
  -- Entries of the journal.
  p_entry_members integer[], p_entry_numbers bigint[], p_entry_turns bigint[], p_entries bigint[],
  p_entry_sizes bigint[], p_entry_recs bytea[], p_entry_owners text[], p_entry_slot_sizes bigint[],
  p_entry_slot_recs bytea[], p_entry_slot_data bytea[],
  p_writer bigint,
  p_feed_tenants text[], p_feed_sessions text[],  -- of the members that have events
  p_waits boolean DEFAULT false,  -- some seconds for a locked row; of one member alone
  -- Of the only member.
  p_creates boolean DEFAULT false,
  p_replaces boolean DEFAULT false, -- it creates its session in the place of a deleted one
  p_project_root text DEFAULT NULL, p_created_at timestamptz DEFAULT NULL,
  p_kind integer DEFAULT NULL, p_group text DEFAULT NULL,
  p_uid text DEFAULT NULL,          -- of a session that it creates
  p_last_event bytea DEFAULT NULL,  -- of a session that it deletes
  p_upload uuid DEFAULT NULL, p_upload_bytes bigint DEFAULT NULL,  -- that it takes over
  p_upload_messages boolean DEFAULT NULL, p_upload_owners text[] DEFAULT NULL,
                                    -- what of the change lies in it
  -- Items, as of holdfast.write_items; without keys, not even none, it writes none.
  p_last_collection text DEFAULT NULL, p_last_start bytea DEFAULT NULL,
  p_last_end bytea DEFAULT NULL, p_last_key bytea DEFAULT NULL,
  p_delete_collections text[] DEFAULT NULL, p_delete_starts bytea[] DEFAULT NULL,
  p_delete_ends bytea[] DEFAULT NULL,
  p_put_collections text[] DEFAULT NULL, p_put_keys bytea[] DEFAULT NULL,
  p_put_conditions integer[] DEFAULT NULL, p_put_expected bigint[] DEFAULT NULL,
  p_put_versions bigint[] DEFAULT NULL, p_put_new boolean[] DEFAULT NULL,
  p_put_bytes bigint[] DEFAULT NULL, p_put_facts bytea[] DEFAULT NULL,
  p_put_labels text[] DEFAULT NULL, p_put_data bytea[] DEFAULT NULL,
  p_put_at timestamptz DEFAULT NULL,
  p_most_items bigint DEFAULT NULL, p_most_bytes bigint DEFAULT NULL,
  p_most_deletes bigint DEFAULT NULL
) RETURNS SETOF holdfast.outcome
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  created boolean := false;  -- the row of the only member is there as it shall be
  staged  boolean := true;   -- the upload is there as the change says
  locked  integer[] := '{}';
  ok      integer[] := '{}';  -- the members that are written
  places  tid[] := '{}';      -- and where their rows are
  lefts   interval[] := array_fill(NULL::interval, ARRAY[cardinality(p_tenants)]);
                              -- and what is left of their leases, by member
  stale   integer[];          -- and those of whose request there is a reply that counts no more
  all_ok  boolean;
  seen    record;
  written bigint;
  t       timestamptz;
  line    bigint := holdfast.timeline();
  opened  timestamptz := (SELECT o.opened_at FROM holdfast.opening o);
  -- Of the items: what holdfast.write_items answers, and the part of the log that keeps it.
  refusal integer;
  put     integer;
  actual  bigint;
  last    bytea;
  results bytea;
  kept_in integer;
  more_items bigint := 0;
  more_bytes bigint := 0;
BEGIN
  IF p_creates THEN
    -- A transaction that is about to create the same session is waited for.
    PERFORM set_config('lock_timeout', '10s', true);
    t := holdfast.clock();
    INSERT INTO holdfast.session (
      tenant, session_id, version, store_id, head, head_sum, lifecycle, generation, messages,
      kind, session_group, project_root, created_at, uid, epoch, held, secret_hash, ttl, lease_at, expires_at, token,
      active_at, cancel_requested_at, sweep)
    VALUES (
      p_tenants[1], p_sessions[1], 1, holdfast.store_id(), p_heads[1], p_head_sums[1],
      p_lifecycles[1], p_generations[1], p_messages[1], p_kind, p_group,
      p_project_root, p_created_at, p_uid,
      p_epochs[1], p_held[1], p_secret_hashes[1], p_ttls[1] * interval '1 microsecond', t,
      t + p_ttls[1] * interval '1 microsecond', p_tokens[1], t,
      CASE WHEN p_cancelling[1] THEN t END, p_sweep[1])
    ON CONFLICT DO NOTHING;
    created := FOUND;
  END IF;
  IF created THEN
    locked := '{1}';
    ok := '{1}';
    lefts := ARRAY[p_ttls[1] * interval '1 microsecond'];
  END IF;
  IF p_replaces THEN
    -- What still looks after the deleted session is waited for.
    PERFORM set_config('lock_timeout', '10s', true);
    PERFORM pg_advisory_xact_lock(holdfast.place_key(p_tenants[1], p_sessions[1]));
    PERFORM FROM holdfast.session x
    WHERE x.tenant = p_tenants[1] AND x.session_id = p_sessions[1] AND x.deleted
      AND (EXISTS (SELECT FROM holdfast.log l
                   WHERE l.tenant = x.tenant AND l.session_id = x.session_id)
           OR EXISTS (SELECT FROM holdfast.slot v
                      WHERE v.tenant = x.tenant AND v.session_id = x.session_id)
           OR EXISTS (SELECT FROM holdfast.journal j
                      WHERE j.tenant = x.tenant AND j.session_id = x.session_id)
           OR EXISTS (SELECT FROM holdfast.item i
                      WHERE i.tenant = x.tenant AND i.session_id = x.session_id));
    IF FOUND THEN
      RAISE EXCEPTION 'something of the deleted session is left';
    END IF;
  END IF;
  FOR i IN 1 .. CASE WHEN created THEN 0 ELSE cardinality(p_tenants) END LOOP
    -- Locked and read at once: a row that changed since this statement began is read as it is now,
    -- and a reply that was stored with that change is not found; the row is not what was expected
    -- then.
    FOR look IN 1 .. 2 LOOP
      SELECT x.ctid AS place, x.version = p_versions[i] AND x.head_sum = p_was[i] AND x.deleted = p_replaces
               AND x.store_id = holdfast.store_id() AS is_current,
             holdfast.lease_left(x.held, x.lease_at, x.expires_at, x.ttl, opened) AS lease_left,
             (SELECT q.at FROM holdfast.log q
              WHERE q.tenant = p_tenants[i] AND q.session_id = p_sessions[i]
                AND q.request = p_requests[i]::uuid) AS replied_at
      INTO seen
      FROM holdfast.session x
      WHERE x.tenant = p_tenants[i] AND x.session_id = p_sessions[i]
      FOR NO KEY UPDATE SKIP LOCKED;
      EXIT WHEN FOUND OR look = 2 OR NOT p_waits;
      -- Waited for by a statement of its own, so that the next one sees what the lock's holder has
      -- left.
      PERFORM set_config('lock_timeout', '10s', true);
      PERFORM FROM holdfast.session x
      WHERE x.tenant = p_tenants[i] AND x.session_id = p_sessions[i] FOR NO KEY UPDATE;
    END LOOP;
    CONTINUE WHEN seen.place IS NULL;
    locked := locked || i;
    IF p_upload IS NOT NULL THEN
      PERFORM set_config('lock_timeout', '10s', true);
      PERFORM FROM holdfast.upload u
      WHERE u.tenant = p_tenants[i] AND u.session_id = p_sessions[i] AND u.upload_id = p_upload
        AND NOT u.linked AND u.bytes = p_upload_bytes
      FOR UPDATE;
      staged := FOUND;
    END IF;
    IF staged AND seen.is_current AND (seen.replied_at IS NULL OR seen.replied_at < p_kept_since)
       AND NOT (p_needs_free[i] AND coalesce(seen.lease_left, '0') > '0'::interval) THEN
      ok := ok || i;
      places := places || seen.place;
      lefts[i] := seen.lease_left;
      IF seen.replied_at IS NOT NULL THEN
        stale := stale || i;
      END IF;
    END IF;
  END LOOP;
  IF p_put_keys IS NOT NULL AND cardinality(ok) > 0 THEN
    SELECT w.refusal, w.put, w.actual, w.last, w.results, coalesce(w.added, 0),
           coalesce(w.added_bytes, 0)
    INTO refusal, put, actual, last, results, more_items, more_bytes
    FROM holdfast.write_items(
      p_tenants[1], p_sessions[1], p_last_collection, p_last_start, p_last_end, p_last_key,
      p_delete_collections, p_delete_starts, p_delete_ends, p_put_collections, p_put_keys,
      p_put_conditions, p_put_expected, p_put_versions, p_put_new, p_put_bytes, p_put_facts,
      p_put_labels, p_put_data, p_put_at, p_most_items, p_most_bytes, p_most_deletes) w;
    IF refusal IS NOT NULL THEN
      IF created THEN
        DELETE FROM holdfast.session s
        WHERE s.tenant = p_tenants[1] AND s.session_id = p_sessions[1];
        created := false;
        locked := '{}';
      END IF;
      ok := '{}';
      places := '{}';
    ELSIF created THEN
      UPDATE holdfast.session s SET items = more_items, item_bytes = more_bytes
      WHERE s.tenant = p_tenants[1] AND s.session_id = p_sessions[1];
    END IF;
    IF p_requests[1] IS NOT NULL THEN
      kept_in := (SELECT max(u.part) FROM unnest(p_row_parts, p_row_acts) AS u (part, acts)
                  WHERE u.acts IS NOT NULL);
    END IF;
  END IF;
  all_ok := cardinality(ok) = cardinality(p_tenants);

  -- What is answered to a repeat waits for the same flush, and the same standby, as the first answer
  -- did: its session is written again as it is.
  IF cardinality(ok) < cardinality(locked) THEN
    UPDATE holdfast.session s SET active_at = s.active_at
    FROM unnest(p_tenants, p_sessions, p_requests)
      WITH ORDINALITY AS u (tenant, session_id, request, n)
    CROSS JOIN LATERAL (
      SELECT x.ctid AS place FROM holdfast.session x
      WHERE x.tenant = u.tenant AND x.session_id = u.session_id
        AND EXISTS (SELECT FROM holdfast.log q
                    WHERE q.tenant = u.tenant AND q.session_id = u.session_id
                      AND q.request = u.request::uuid)
      OFFSET 0) l
    WHERE s.ctid = l.place AND u.n = ANY (locked) AND u.n <> ALL (ok);
  END IF;
  IF stale IS NOT NULL THEN
    UPDATE holdfast.log r SET request = NULL
    FROM unnest(p_tenants, p_sessions, p_requests)
      WITH ORDINALITY AS u (tenant, session_id, request, n)
    WHERE r.tenant = u.tenant AND r.session_id = u.session_id AND r.request = u.request::uuid
      AND u.n = ANY (stale);
  END IF;

  t := holdfast.clock();
  IF NOT created THEN
    UPDATE holdfast.session s SET
      version = p_versions[k.n] + 1, head = p_heads[k.n], head_sum = p_head_sums[k.n],
      lifecycle = p_lifecycles[k.n], generation = p_generations[k.n], messages = p_messages[k.n],
      epoch = p_epochs[k.n], held = p_held[k.n], secret_hash = p_secret_hashes[k.n],
      ttl = p_ttls[k.n] * interval '1 microsecond',
      lease_at = CASE WHEN p_renews[k.n] THEN t ELSE s.lease_at END,
      expires_at = CASE WHEN p_renews[k.n] THEN t + p_ttls[k.n] * interval '1 microsecond'
                        ELSE s.expires_at END,
      token = CASE WHEN p_raises[k.n] THEN p_tokens[k.n] ELSE s.token END,
      active_at = t,
      cancel_requested_at = CASE WHEN p_cancelling[k.n] THEN coalesce(s.cancel_requested_at, t) END,
      sweep = s.sweep OR p_sweep[k.n],
      items = s.items + more_items, item_bytes = s.item_bytes + more_bytes
    FROM unnest(ok, places) AS k (n, place)
    WHERE s.ctid = k.place;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written <> cardinality(ok) THEN
      RAISE EXCEPTION 'a session is not where it was locked';
    END IF;
  END IF;
  IF p_replaces AND all_ok THEN
    UPDATE holdfast.session s SET
      deleted = false, last_event = NULL, kind = p_kind, session_group = p_group,
      project_root = p_project_root, created_at = p_created_at, uid = p_uid,
      lease_at = t, expires_at = t + p_ttls[1] * interval '1 microsecond', token = p_tokens[1],
      pruned_to = p_versions[1], items = more_items, item_bytes = more_bytes
    WHERE s.tenant = p_tenants[1] AND s.session_id = p_sessions[1];
  END IF;
  IF p_last_event IS NOT NULL AND all_ok THEN
    UPDATE holdfast.session s SET
      deleted = true, last_event = p_last_event, items = 0, item_bytes = 0
    WHERE s.tenant = p_tenants[1] AND s.session_id = p_sessions[1];
  END IF;
  IF p_upload IS NOT NULL AND all_ok THEN
    UPDATE holdfast.upload u SET
      linked = true, generation = CASE WHEN p_upload_messages THEN p_generations[1] END,
      revision = p_revisions[1], owners = p_upload_owners
    WHERE u.tenant = p_tenants[1] AND u.session_id = p_sessions[1] AND u.upload_id = p_upload;
  END IF;

  INSERT INTO holdfast.log (tenant, session_id, n, generation, messages, events, audit, at, part,
                            request, acts, msgs)
  SELECT p_tenants[u.m], p_sessions[u.m], p_versions[u.m] + 1, p_generations[u.m], u.messages,
         p_events[u.m], p_audits[u.m], p_at, u.part,
         CASE WHEN u.part = 0 THEN p_requests[u.m]::uuid END,
         CASE WHEN u.part = kept_in THEN u.acts || results ELSE u.acts END, u.msgs
  FROM unnest(p_row_members, p_row_parts, p_row_messages, p_row_acts, p_row_msgs)
    AS u (m, part, messages, acts, msgs)
  WHERE all_ok OR u.m = ANY (ok);

  -- The slot updates of a turn become slot versions: of each owner the last one, but for those whose
  -- slots the change itself writes.
  IF 0 < ANY (p_applied_turns) THEN
    INSERT INTO holdfast.slot (tenant, session_id, owner, revision, size, rec, data)
    SELECT DISTINCT ON (j.tenant, j.session_id, j.slot_owner)
           j.tenant, j.session_id, j.slot_owner, u.revision, j.slot_size, j.slot_rec, j.slot_data
    FROM unnest(p_tenants, p_sessions, p_revisions, p_applied_turns, p_applied_afters,
                p_applied_froms)
      WITH ORDINALITY AS u (tenant, session_id, revision, turn, after, before, n)
    CROSS JOIN LATERAL (
      SELECT x.* FROM holdfast.journal x
      WHERE x.tenant = u.tenant AND x.session_id = u.session_id AND x.number > u.before
        AND x.turn = u.turn AND x.entry > u.after OFFSET 0) j
    WHERE u.n = ANY (ok) AND u.turn > 0 AND j.slot_owner IS NOT NULL
      AND NOT EXISTS (SELECT FROM unnest(p_slot_members, p_slot_owners) AS w (m, owner)
                      WHERE w.m = u.n AND w.owner = j.slot_owner)
    ORDER BY j.tenant, j.session_id, j.slot_owner, j.number DESC;
  END IF;

  -- To insert where a row may be there already takes a look and a record more for each.
  IF cardinality(p_slot_owners) > 0 AND true = ALL (p_fresh) THEN
    INSERT INTO holdfast.slot (tenant, session_id, owner, revision, size, rec, data)
    SELECT p_tenants[u.m], p_sessions[u.m], u.owner, p_revisions[u.m], u.size, u.rec, u.data
    FROM unnest(p_slot_members, p_slot_owners, p_slot_sizes, p_slot_recs, p_slot_data)
      AS u (m, owner, size, rec, data)
    WHERE all_ok OR u.m = ANY (ok);
  ELSIF cardinality(p_slot_owners) > 0 THEN
    INSERT INTO holdfast.slot (tenant, session_id, owner, revision, size, rec, data)
    SELECT p_tenants[u.m], p_sessions[u.m], u.owner, p_revisions[u.m], u.size, u.rec, u.data
    FROM unnest(p_slot_members, p_slot_owners, p_slot_sizes, p_slot_recs, p_slot_data)
      AS u (m, owner, size, rec, data)
    WHERE all_ok OR u.m = ANY (ok)
    ON CONFLICT (tenant, session_id, owner, revision)
      DO UPDATE SET size = excluded.size, rec = excluded.rec, data = excluded.data;
  END IF;

  IF cardinality(p_entry_recs) > 0 THEN
    INSERT INTO holdfast.journal (tenant, session_id, number, turn, entry, size, rec, slot_owner,
                                  slot_size, slot_rec, slot_data)
    SELECT p_tenants[u.m], p_sessions[u.m], u.number, u.turn, u.entry, u.size, u.rec, u.owner,
           u.slot_size, u.slot_rec, u.slot_data
    FROM unnest(p_entry_members, p_entry_numbers, p_entry_turns, p_entries, p_entry_sizes,
                p_entry_recs, p_entry_owners, p_entry_slot_sizes, p_entry_slot_recs,
                p_entry_slot_data)
      AS u (m, number, turn, entry, size, rec, owner, slot_size, slot_rec, slot_data)
    WHERE all_ok OR u.m = ANY (ok);
  END IF;

  -- It may name a member that was left out: a poll of that session finds nothing new.
  IF cardinality(ok) > 0 AND cardinality(p_feed_tenants) > 0 THEN
    INSERT INTO holdfast.feed (writer, at, tenants, sessions)
    VALUES (p_writer, t, p_feed_tenants, p_feed_sessions);
  END IF;

  IF all_ok THEN
    RETURN QUERY
    SELECT u.version + 1, holdfast.store_id(), false, NULL::bytea, NULL::bytea,
           CASE WHEN NOT u.held THEN NULL
                WHEN u.renews THEN u.ttl * interval '1 microsecond' ELSE u.lease_left END,
           NULL::bytea, NULL::text, true, true, line, false,
           refusal, put, actual, last, results
    FROM unnest(p_versions, p_held, p_renews, p_ttls, lefts)
      WITH ORDINALITY AS u (version, held, renews, ttl, lease_left, n)
    ORDER BY u.n;
    RETURN;
  END IF;

  -- The current rows of those that were not written, read by a statement of its own, so that it
  -- sees what the holder of a lock has left. The others are not looked up.
  RETURN QUERY
  SELECT CASE WHEN o.yes THEN u.version + 1 ELSE coalesce(s.version, 0) END,
         CASE WHEN o.yes THEN holdfast.store_id() ELSE s.store_id END, NOT o.yes AND s.deleted,
         s.head, s.head_sum,
         CASE WHEN NOT o.yes THEN s.lease_left
              WHEN NOT u.held THEN NULL
              WHEN u.renews THEN u.ttl * interval '1 microsecond' ELSE u.lease_left END,
         s.request, s.token, o.yes,
         staged OR coalesce(s.version, 0) <> u.version OR s.request IS NOT NULL, line,
         s.version IS NOT NULL AND u.n <> ALL (locked), refusal, put, actual, last, results
  FROM unnest(p_tenants, p_sessions, p_requests, p_versions, p_held, p_renews, p_ttls, lefts)
    WITH ORDINALITY AS u (tenant, session_id, request, version, held, renews, ttl, lease_left, n)
  CROSS JOIN LATERAL (SELECT u.n = ANY (ok) AS yes) o
  LEFT JOIN LATERAL (
    SELECT x.version, x.store_id, x.deleted, x.head, x.head_sum, x.token,
           holdfast.lease_left(x.held, x.lease_at, x.expires_at, x.ttl, opened) AS lease_left,
           (SELECT holdfast.acts_of(q.tenant, q.session_id, q.n) FROM holdfast.log q
            WHERE q.tenant = u.tenant AND q.session_id = u.session_id
              AND q.request = u.request::uuid AND q.at >= p_kept_since) AS request
    FROM holdfast.session x
    WHERE NOT o.yes AND x.tenant = u.tenant AND x.session_id = u.session_id OFFSET 0) s ON true
  ORDER BY u.n;
END
$$;
