-- Changes of several sessions in one call, and so in one flush. What holdfast.change does for one
-- session is done here for each of them by the same rules; a row that somebody else has locked is
-- left out, so that nobody waits for it. The view holdfast.standing is not for joins: it would be
-- read as a whole.
--
-- A plan is kept for as long as its connection, and where it was made for few sessions it would
-- rather read all of them than look each member up. Hence each member is looked up by a subquery of
-- its own, which OFFSET 0 (or its lock) keeps apart, and from then on by its place, which cannot
-- change under the lock.
--
-- Arrays of the members have one element for each; arrays of what they add name the member that an
-- element belongs to, from 1.
CREATE FUNCTION holdfast.change_many(
  p_tenants text[], p_sessions text[], p_versions bigint[], p_was bytea[],
  p_needs_free boolean[],
  p_requests text[], p_request_recs bytea[], p_request_tokens text[],
  p_at timestamptz, p_kept_since timestamptz,
  p_heads bytea[], p_head_sums bytea[], p_lifecycles integer[], p_generations bigint[],
  p_messages bigint[], p_epochs bigint[], p_raises boolean[], p_held boolean[],
  p_secret_hashes bytea[], p_ttls bigint[],              -- microseconds
  p_renews boolean[], p_marked boolean[], p_sweep boolean[], p_revisions bigint[],
  p_fresh boolean[],                                     -- nothing has this revision yet
  p_fold_turns bigint[], p_fold_afters bigint[], p_fold_froms bigint[],
  p_message_members integer[], p_message_seqs bigint[], p_message_sizes bigint[],
  p_message_recs bytea[],
  p_slot_members integer[], p_slot_owners text[], p_slot_sizes bigint[], p_slot_recs bytea[],
  p_slot_data bytea[],
  p_entry_members integer[], p_entry_numbers bigint[], p_entry_turns bigint[], p_entries bigint[],
  p_entry_sizes bigint[], p_entry_recs bytea[], p_entry_owners text[], p_entry_slot_sizes bigint[],
  p_entry_slot_recs bytea[], p_entry_slot_data bytea[],
  p_writer bigint,
  p_event_members integer[], p_event_seqs bigint[], p_event_sizes bigint[], p_events bytea[],
  p_audit_members integer[], p_audit_seqs bigint[], p_audit_sizes bigint[], p_audit_recs bytea[]
) RETURNS TABLE (version bigint, store_id text, deleted boolean, head bytea, head_sum bytea,
                 lease_left interval, request bytea, token text, applied boolean, uploaded boolean,
                 timeline bigint, skipped boolean)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  locked  integer[];
  ok      integer[];  -- the members that are written
  places  tid[];      -- and where their rows are
  lefts   interval[]; -- and what is left of their leases
  stale   integer[];  -- and those of whose request there is a reply that counts no more
  written bigint;
  t       timestamptz;
  line    bigint := holdfast.timeline();
BEGIN
  -- Locked and read at once: as in holdfast.change, a row that changed since this statement began is
  -- read as it is now, and is not what was expected.
  SELECT coalesce(array_agg(f.n), '{}'), coalesce(array_agg(f.n) FILTER (WHERE f.good), '{}'),
         array_agg(f.place) FILTER (WHERE f.good), array_agg(f.lease_left) FILTER (WHERE f.good),
         array_agg(f.n) FILTER (WHERE f.good AND f.stale)
  INTO locked, ok, places, lefts, stale
  FROM (
    SELECT u.n::integer AS n, s.place, s.lease_left, r.at IS NOT NULL AS stale,
           s.version = u.version AND s.head_sum = u.was AND NOT s.deleted
             AND s.store_id = holdfast.store_id() AND (r.at IS NULL OR r.at < p_kept_since)
             AND NOT (u.needs_free AND coalesce(s.lease_left, '0') > '0'::interval) AS good
    FROM unnest(p_tenants, p_sessions, p_versions, p_was, p_needs_free, p_requests)
      WITH ORDINALITY AS u (tenant, session_id, version, was, needs_free, request, n)
    CROSS JOIN holdfast.opening o
    CROSS JOIN LATERAL (
      SELECT x.ctid AS place, x.version, x.head_sum, x.deleted, x.store_id,
             holdfast.lease_left(x.held, x.lease_at, x.expires_at, x.ttl, o.opened_at)
               AS lease_left
      FROM holdfast.session x
      WHERE x.tenant = u.tenant AND x.session_id = u.session_id
      FOR NO KEY UPDATE SKIP LOCKED) s
    LEFT JOIN LATERAL (
      SELECT q.at FROM holdfast.request q
      WHERE q.tenant = u.tenant AND q.session_id = u.session_id
        AND q.request_id = u.request::uuid OFFSET 0) r ON true
    ORDER BY u.n) f;

  -- A repeat waits for a flush, as in holdfast.rewrite.
  IF cardinality(ok) < cardinality(locked) THEN
    UPDATE holdfast.request r SET at = r.at
    FROM unnest(p_tenants, p_sessions, p_requests)
      WITH ORDINALITY AS u (tenant, session_id, request, n)
    WHERE r.tenant = u.tenant AND r.session_id = u.session_id AND r.request_id = u.request::uuid
      AND u.n = ANY (locked) AND u.n <> ALL (ok);
  END IF;
  IF stale IS NOT NULL THEN
    DELETE FROM holdfast.request r
    USING unnest(p_tenants, p_sessions, p_requests)
      WITH ORDINALITY AS u (tenant, session_id, request, n)
    WHERE r.tenant = u.tenant AND r.session_id = u.session_id AND r.request_id = u.request::uuid
      AND u.n = ANY (stale);
  END IF;

  t := holdfast.clock();
  IF true = ANY (p_raises) THEN
    WITH g AS MATERIALIZED (
      SELECT s.tenant, s.session_id, s.grant_request
      FROM unnest(ok, places) AS k (n, place)
      JOIN holdfast.session s ON s.ctid = k.place
      WHERE p_raises[k.n])
    UPDATE holdfast.request r SET token = '' FROM g
    WHERE r.tenant = g.tenant AND r.session_id = g.session_id AND r.request_id = g.grant_request;
  END IF;

  UPDATE holdfast.session s SET
    version = p_versions[k.n] + 1, head = p_heads[k.n], head_sum = p_head_sums[k.n],
    lifecycle = p_lifecycles[k.n], generation = p_generations[k.n], messages = p_messages[k.n],
    epoch = p_epochs[k.n], held = p_held[k.n], secret_hash = p_secret_hashes[k.n],
    ttl = p_ttls[k.n] * interval '1 microsecond',
    lease_at = CASE WHEN p_renews[k.n] THEN t ELSE s.lease_at END,
    expires_at = CASE WHEN p_renews[k.n] THEN t + p_ttls[k.n] * interval '1 microsecond'
                      ELSE s.expires_at END,
    grant_request = CASE WHEN p_raises[k.n] THEN p_requests[k.n]::uuid ELSE s.grant_request END,
    active_at = t,
    marked_at = CASE WHEN p_marked[k.n] THEN coalesce(s.marked_at, t) END,
    sweep = s.sweep OR p_sweep[k.n]
  FROM unnest(ok, places) AS k (n, place)
  WHERE s.ctid = k.place;
  GET DIAGNOSTICS written = ROW_COUNT;
  IF written <> cardinality(ok) THEN
    RAISE EXCEPTION 'a session is not where it was locked';
  END IF;

  INSERT INTO holdfast.request (tenant, session_id, request_id, at, rec, token)
  SELECT u.tenant, u.session_id, u.request::uuid, p_at, u.rec, u.token
  FROM unnest(p_tenants, p_sessions, p_requests, p_request_recs, p_request_tokens)
    WITH ORDINALITY AS u (tenant, session_id, request, rec, token, n)
  WHERE u.n = ANY (ok) AND u.request IS NOT NULL;

  IF cardinality(p_message_recs) > 0 THEN
    INSERT INTO holdfast.message (tenant, session_id, generation, seq, size, rec)
    SELECT p_tenants[u.m], p_sessions[u.m], p_generations[u.m], u.seq, u.size, u.rec
    FROM unnest(p_message_members, p_message_seqs, p_message_sizes, p_message_recs)
      AS u (m, seq, size, rec)
    WHERE u.m = ANY (ok);
  END IF;

  IF 0 < ANY (p_fold_turns) THEN
    INSERT INTO holdfast.slot (tenant, session_id, owner, revision, size, rec, data)
    SELECT DISTINCT ON (j.tenant, j.session_id, j.slot_owner)
           j.tenant, j.session_id, j.slot_owner, u.revision, j.slot_size, j.slot_rec, j.slot_data
    FROM unnest(p_tenants, p_sessions, p_revisions, p_fold_turns, p_fold_afters, p_fold_froms)
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
    WHERE u.m = ANY (ok);
  ELSIF cardinality(p_slot_owners) > 0 THEN
    INSERT INTO holdfast.slot (tenant, session_id, owner, revision, size, rec, data)
    SELECT p_tenants[u.m], p_sessions[u.m], u.owner, p_revisions[u.m], u.size, u.rec, u.data
    FROM unnest(p_slot_members, p_slot_owners, p_slot_sizes, p_slot_recs, p_slot_data)
      AS u (m, owner, size, rec, data)
    WHERE u.m = ANY (ok)
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
    WHERE u.m = ANY (ok);
  END IF;

  IF cardinality(p_events) > 0 THEN
    INSERT INTO holdfast.event (tenant, session_id, seq, writer, at, size, recs)
    SELECT p_tenants[u.m], p_sessions[u.m], u.seq, p_writer, t, u.size, u.recs
    FROM unnest(p_event_members, p_event_seqs, p_event_sizes, p_events) AS u (m, seq, size, recs)
    WHERE u.m = ANY (ok);
  END IF;

  IF cardinality(p_audit_recs) > 0 THEN
    INSERT INTO holdfast.audit (tenant, session_id, seq, size, rec)
    SELECT p_tenants[u.m], p_sessions[u.m], u.seq, u.size, u.rec
    FROM unnest(p_audit_members, p_audit_seqs, p_audit_sizes, p_audit_recs)
      AS u (m, seq, size, rec)
    WHERE u.m = ANY (ok);
  END IF;

  IF cardinality(ok) = cardinality(p_tenants) THEN
    RETURN QUERY
    SELECT u.version + 1, holdfast.store_id(), false, NULL::bytea, NULL::bytea,
           CASE WHEN NOT u.held THEN NULL
                WHEN u.renews THEN u.ttl * interval '1 microsecond' ELSE u.lease_left END,
           NULL::bytea, NULL::text, true, true, line, false
    FROM unnest(p_versions, p_held, p_renews, p_ttls, lefts)
      WITH ORDINALITY AS u (version, held, renews, ttl, lease_left, n)
    ORDER BY u.n;
    RETURN;
  END IF;

  RETURN QUERY
  SELECT coalesce(s.version, 0), s.store_id, s.deleted,
         CASE WHEN NOT o.yes THEN s.head END, CASE WHEN NOT o.yes THEN s.head_sum END,
         holdfast.lease_left(s.held, s.lease_at, s.expires_at, s.ttl, w.opened_at),
         r.rec, r.token, o.yes, true, line,
         s.version IS NOT NULL AND u.n <> ALL (locked)
  FROM unnest(p_tenants, p_sessions, p_requests)
    WITH ORDINALITY AS u (tenant, session_id, request, n)
  CROSS JOIN holdfast.opening w
  CROSS JOIN LATERAL (SELECT u.n = ANY (ok) AS yes) o
  LEFT JOIN LATERAL (
    SELECT x.* FROM holdfast.session x
    WHERE x.tenant = u.tenant AND x.session_id = u.session_id OFFSET 0) s ON true
  LEFT JOIN LATERAL (
    SELECT q.rec, q.token FROM holdfast.request q
    WHERE q.tenant = u.tenant AND q.session_id = u.session_id
      AND q.request_id = u.request::uuid AND q.at >= p_kept_since OFFSET 0) r ON NOT o.yes
  ORDER BY u.n;
END
$$;
