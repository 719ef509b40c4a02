-- How sessions are changed. What runs often is in PL/pgSQL, which plans a statement once for a
-- connection, or is one expression, which is inlined.
--
-- A server decides on a head that it knows and says which version that
-- was; the function writes what was decided if that version still stands, and otherwise writes
-- nothing and answers what stands now. The rules themselves are the server's.

-- How long a lease still runs: nothing when there is none, zero when it has expired. A server that
-- took the store up after the last renewal gives every lease its whole TTL from then on.
CREATE FUNCTION holdfast.lease_left(held boolean, lease_at timestamptz, expires_at timestamptz,
                                    ttl interval, opened_at timestamptz) RETURNS interval
LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$
  SELECT CASE WHEN held THEN
    greatest(CASE WHEN lease_at >= opened_at THEN expires_at
                  ELSE greatest(expires_at, opened_at + ttl) END - holdfast.clock(),
             '0'::interval) END
$$;

-- When the store was last taken up, by a server or with the whole cluster.
CREATE VIEW holdfast.opening AS
  SELECT greatest(activated_at, pg_postmaster_start_time()) AS opened_at FROM holdfast.store;

-- A session as a decision needs it, and where its history is.
CREATE VIEW holdfast.standing AS
  SELECT s.tenant, s.session_id, s.version, s.store_id, s.deleted, s.head, s.head_sum,
         holdfast.lease_left(s.held, s.lease_at, s.expires_at, s.ttl, o.opened_at) AS lease_left,
         s.generation, s.messages
  FROM holdfast.session s CROSS JOIN holdfast.opening o;

-- What a change answers. Version 0: no such session.
CREATE TYPE holdfast.outcome AS (
  version    bigint,
  store_id   text,
  deleted    boolean,
  head       bytea,     -- not when it was applied: the server has it
  head_sum   bytea,
  lease_left interval,
  request    bytea,     -- the stored reply of this request
  token      text,
  applied    boolean,
  uploaded   boolean,   -- false: the upload is not there as the change says
  timeline   bigint,    -- of the server's history
  skipped    boolean    -- nothing was looked at: somebody else has the row locked
);

CREATE FUNCTION holdfast.timeline() RETURNS bigint
LANGUAGE sql VOLATILE
AS $$
  SELECT ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint
$$;

-- What stands now, read under the lock by a statement of its own, so that it sees what whoever held
-- the lock before has left.
CREATE FUNCTION holdfast.look(p_tenant text, p_session text, p_request uuid,
                              p_kept_since timestamptz) RETURNS holdfast.outcome
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  o holdfast.outcome;
BEGIN
  SELECT s.version, s.store_id, s.deleted, s.head, s.head_sum, s.lease_left, r.rec, r.token
  INTO o.version, o.store_id, o.deleted, o.head, o.head_sum, o.lease_left, o.request, o.token
  FROM holdfast.standing s
  LEFT JOIN holdfast.request r
    ON r.tenant = s.tenant AND r.session_id = s.session_id AND r.request_id = p_request
       AND r.at >= p_kept_since
  WHERE s.tenant = p_tenant AND s.session_id = p_session;
  o.version := coalesce(o.version, 0);
  o.applied := false;
  o.uploaded := true;
  o.timeline := holdfast.timeline();
  o.skipped := false;
  RETURN o;
END
$$;

-- Writes a stored reply again: the answer that is made of it then waits for the same flush, and the
-- same standby, as the first one did.
CREATE FUNCTION holdfast.rewrite(p_tenant text, p_session text, p_request uuid) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  UPDATE holdfast.request SET at = at
  WHERE tenant = p_tenant AND session_id = p_session AND request_id = p_request;
END
$$;

-- The slot updates of a turn become slot versions: of each owner the last one, but for p_owners,
-- whose slots the change itself writes.
CREATE FUNCTION holdfast.fold(p_tenant text, p_session text, p_revision bigint, p_turn bigint,
                              p_after bigint, p_from bigint, p_owners text[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  INSERT INTO holdfast.slot (tenant, session_id, owner, revision, size, rec, data)
  SELECT DISTINCT ON (j.slot_owner)
         p_tenant, p_session, j.slot_owner, p_revision, j.slot_size, j.slot_rec, j.slot_data
  FROM holdfast.journal j
  WHERE j.tenant = p_tenant AND j.session_id = p_session AND j.number > p_from
    AND j.turn = p_turn AND j.entry > p_after
    AND j.slot_owner IS NOT NULL AND j.slot_owner <> ALL (p_owners)
  ORDER BY j.slot_owner, j.number DESC;
END
$$;

CREATE FUNCTION holdfast.change(
  p_tenant text, p_session text,
  p_version bigint,             -- that the decision was made on; 0: there is no such session
  p_was bytea,                  -- the checksum of the head then: a version may come a second time
                                -- after a failover that lost changes
  p_needs_free boolean,         -- the decision rests on the lease being free or expired
  p_waits boolean,              -- for whoever has the row locked, some seconds; else it is skipped
  -- The request, if the change answers one, and since when stored replies count.
  p_request uuid, p_request_rec bytea, p_request_token text, p_request_at timestamptz,
  p_kept_since timestamptz,
  -- The head that it leaves.
  p_head bytea, p_head_sum bytea, p_lifecycle integer, p_generation bigint, p_messages bigint,
  p_project_root text, p_created_at timestamptz, p_uid text,
  p_epoch bigint, p_raises boolean,  -- the epoch, by a grant or without one
  p_held boolean, p_secret_hash bytea, p_ttl interval,
  p_renews boolean,             -- the lease runs for its whole TTL from now on
  p_marked boolean, p_sweep boolean,
  p_last_event bytea,           -- of a delete
  -- What it adds. Arrays of one group have the same length; one that is empty is skipped.
  p_upload uuid, p_upload_bytes bigint,
  p_upload_messages boolean, p_upload_owners text[],  -- what of the change lies in it
  p_first_message bigint, p_message_sizes bigint[], p_message_recs bytea[],
  p_revision bigint,            -- of the slot versions
  p_fresh boolean,              -- nothing has this revision yet
  p_fold_turn bigint, p_fold_after bigint, p_fold_from bigint,
  p_slot_owners text[], p_slot_sizes bigint[], p_slot_recs bytea[], p_slot_data bytea[],
  p_first_entry bigint, p_entry_turn bigint, p_entry_numbers bigint[], p_entry_sizes bigint[],
  p_entry_recs bytea[], p_entry_owners text[], p_entry_slot_sizes bigint[],
  p_entry_slot_recs bytea[], p_entry_slot_data bytea[],
  p_writer bigint, p_last_event_seq bigint, p_events_size bigint, p_events bytea,  -- null: none
  p_audit bigint, p_audit_size bigint, p_audit_rec bytea
) RETURNS holdfast.outcome
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  o      holdfast.outcome;
  t      timestamptz;
  done   boolean := false;
  locked boolean;
  waited boolean := false;
BEGIN
  IF p_version = 0 THEN
    -- Whoever is about to create the same session is waited for.
    PERFORM set_config('lock_timeout', '10s', true);
    t := holdfast.clock();
    INSERT INTO holdfast.session (
      tenant, session_id, version, store_id, head, head_sum, lifecycle, generation, messages,
      project_root, created_at, uid, epoch, held, secret_hash, ttl, lease_at, expires_at,
      grant_request, active_at, marked_at, sweep)
    VALUES (
      p_tenant, p_session, 1, holdfast.store_id(), p_head, p_head_sum, p_lifecycle, p_generation,
      p_messages, p_project_root, p_created_at, p_uid, p_epoch, p_held, p_secret_hash, p_ttl, t,
      t + p_ttl, p_request, t, CASE WHEN p_marked THEN t END, p_sweep)
    ON CONFLICT DO NOTHING;
    done := FOUND;
    o.version := 1;
    o.lease_left := CASE WHEN p_held THEN p_ttl END;
  END IF;

  IF NOT done THEN
    -- A row that changed since this statement began is locked and read as it is now, and a reply
    -- that was stored with that change is not found: the row is not what was expected then.
    LOOP
      SELECT s.version = p_version AND s.head_sum = p_was AND NOT s.deleted
               AND s.store_id = holdfast.store_id() AND r.at IS NULL,
             holdfast.lease_left(s.held, s.lease_at, s.expires_at, s.ttl, w.opened_at)
      INTO done, o.lease_left
      FROM holdfast.session s CROSS JOIN holdfast.opening w
      LEFT JOIN holdfast.request r
        ON r.tenant = p_tenant AND r.session_id = p_session AND r.request_id = p_request
           AND r.at >= p_kept_since
      WHERE s.tenant = p_tenant AND s.session_id = p_session
      FOR NO KEY UPDATE OF s SKIP LOCKED;
      locked := FOUND;
      EXIT WHEN locked OR waited OR NOT p_waits;
      -- Locked by a statement of its own, so that the next one sees what whoever had it has left.
      PERFORM set_config('lock_timeout', '10s', true);
      PERFORM FROM holdfast.session s
      WHERE s.tenant = p_tenant AND s.session_id = p_session FOR NO KEY UPDATE;
      waited := true;
    END LOOP;
    IF NOT locked OR NOT done OR (p_needs_free AND o.lease_left > '0'::interval) THEN
      o := holdfast.look(p_tenant, p_session, p_request, p_kept_since);
      o.skipped := NOT locked AND o.version > 0;
      IF locked AND o.request IS NOT NULL THEN
        PERFORM holdfast.rewrite(p_tenant, p_session, p_request);
      END IF;
      RETURN o;
    END IF;
    IF p_upload IS NOT NULL THEN
      UPDATE holdfast.upload u SET
        linked = true, generation = CASE WHEN p_upload_messages THEN p_generation END,
        revision = p_revision, owners = p_upload_owners
      WHERE u.tenant = p_tenant AND u.session_id = p_session AND u.upload_id = p_upload
        AND NOT u.linked AND u.bytes = p_upload_bytes;
      IF NOT FOUND THEN
        o := holdfast.look(p_tenant, p_session, p_request, p_kept_since);
        o.uploaded := false;
        RETURN o;
      END IF;
    END IF;
    t := holdfast.clock();
    -- The reply of the grant before has a token whose epoch has passed.
    IF p_raises THEN
      UPDATE holdfast.request r SET token = ''
      WHERE r.tenant = p_tenant AND r.session_id = p_session AND r.request_id = (
        SELECT s.grant_request FROM holdfast.session s
        WHERE s.tenant = p_tenant AND s.session_id = p_session);
    END IF;
    UPDATE holdfast.session s SET
      version = p_version + 1, deleted = p_last_event IS NOT NULL, last_event = p_last_event,
      head = p_head, head_sum = p_head_sum, lifecycle = p_lifecycle, generation = p_generation,
      messages = p_messages, epoch = p_epoch, held = p_held, secret_hash = p_secret_hash,
      ttl = p_ttl,
      lease_at = CASE WHEN p_renews THEN t ELSE s.lease_at END,
      expires_at = CASE WHEN p_renews THEN t + p_ttl ELSE s.expires_at END,
      grant_request = CASE WHEN p_raises THEN p_request ELSE s.grant_request END,
      active_at = t,
      marked_at = CASE WHEN p_marked THEN coalesce(s.marked_at, t) END,
      sweep = s.sweep OR p_sweep
    WHERE s.tenant = p_tenant AND s.session_id = p_session;
    o.version := p_version + 1;
    o.lease_left := CASE WHEN NOT p_held THEN NULL WHEN p_renews THEN p_ttl
                         ELSE o.lease_left END;
  END IF;

  -- The row is locked and is what was expected: the rest is added.
  IF p_request IS NOT NULL THEN
    INSERT INTO holdfast.request (tenant, session_id, request_id, at, rec, token)
    VALUES (p_tenant, p_session, p_request, p_request_at, p_request_rec, p_request_token)
    ON CONFLICT (tenant, session_id, request_id)
      DO UPDATE SET at = excluded.at, rec = excluded.rec, token = excluded.token;
  END IF;
  IF cardinality(p_message_recs) > 0 THEN
    INSERT INTO holdfast.message (tenant, session_id, generation, seq, size, rec)
    SELECT p_tenant, p_session, p_generation, p_first_message + u.n - 1, u.size, u.rec
    FROM unnest(p_message_sizes, p_message_recs) WITH ORDINALITY AS u (size, rec, n);
  END IF;
  IF p_fold_turn > 0 THEN
    PERFORM holdfast.fold(p_tenant, p_session, p_revision, p_fold_turn, p_fold_after, p_fold_from,
                          p_slot_owners);
  END IF;
  -- To insert where a row may be there already takes a look and a record more for each.
  IF cardinality(p_slot_owners) > 0 AND p_fresh THEN
    INSERT INTO holdfast.slot (tenant, session_id, owner, revision, size, rec, data)
    SELECT p_tenant, p_session, u.owner, p_revision, u.size, u.rec, u.data
    FROM unnest(p_slot_owners, p_slot_sizes, p_slot_recs, p_slot_data)
      AS u (owner, size, rec, data);
  ELSIF cardinality(p_slot_owners) > 0 THEN
    INSERT INTO holdfast.slot (tenant, session_id, owner, revision, size, rec, data)
    SELECT p_tenant, p_session, u.owner, p_revision, u.size, u.rec, u.data
    FROM unnest(p_slot_owners, p_slot_sizes, p_slot_recs, p_slot_data)
      AS u (owner, size, rec, data)
    ON CONFLICT (tenant, session_id, owner, revision)
      DO UPDATE SET size = excluded.size, rec = excluded.rec, data = excluded.data;
  END IF;
  IF cardinality(p_entry_recs) > 0 THEN
    INSERT INTO holdfast.journal (tenant, session_id, number, turn, entry, size, rec, slot_owner,
                                  slot_size, slot_rec, slot_data)
    SELECT p_tenant, p_session, p_first_entry + u.n - 1, p_entry_turn, u.entry, u.size, u.rec,
           u.slot_owner, u.slot_size, u.slot_rec, u.slot_data
    FROM unnest(p_entry_numbers, p_entry_sizes, p_entry_recs, p_entry_owners, p_entry_slot_sizes,
                p_entry_slot_recs, p_entry_slot_data)
      WITH ORDINALITY AS u (entry, size, rec, slot_owner, slot_size, slot_rec, slot_data, n);
  END IF;
  IF p_events IS NOT NULL THEN
    INSERT INTO holdfast.event (tenant, session_id, seq, writer, at, size, recs)
    VALUES (p_tenant, p_session, p_last_event_seq, p_writer, t, p_events_size, p_events);
  END IF;
  IF p_audit > 0 THEN
    INSERT INTO holdfast.audit (tenant, session_id, seq, size, rec)
    VALUES (p_tenant, p_session, p_audit, p_audit_size, p_audit_rec);
  END IF;
  o.applied := true;
  o.uploaded := true;
  o.skipped := false;
  o.timeline := holdfast.timeline();
  RETURN o;
END
$$;

-- Prolongs the leases whose tokens are the current ones, and says of each what stands. Need not
-- survive a crash, so nobody waits for it to be flushed. Rows that somebody else has locked are
-- skipped, so that nobody waits for the sake of another session; with p_waits they are waited for, a
-- second at most.
CREATE FUNCTION holdfast.renew(p_waits boolean, p_tenants text[], p_sessions text[], p_uids text[],
                               p_epochs bigint[], p_hashes bytea[], p_ttls bigint[])
RETURNS TABLE (renewed boolean, ttl interval, version bigint, store_id text, deleted boolean,
               head bytea, head_sum bytea, lease_left interval, skipped boolean)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  t      timestamptz;
  places tid[];
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  IF p_waits THEN
    PERFORM set_config('lock_timeout', '1s', true);
    PERFORM FROM unnest(p_tenants, p_sessions) AS u (tenant, session_id)
      CROSS JOIN LATERAL (
        SELECT FROM holdfast.session s
        WHERE s.tenant = u.tenant AND s.session_id = u.session_id FOR NO KEY UPDATE) l;
  END IF;
  -- Each is looked up by itself, as in holdfast.change_many.
  places := ARRAY(
    SELECT l.ctid FROM unnest(p_tenants, p_sessions) WITH ORDINALITY AS u (tenant, session_id, n)
    LEFT JOIN LATERAL (
      SELECT s.ctid FROM holdfast.session s
      WHERE s.tenant = u.tenant AND s.session_id = u.session_id
      FOR NO KEY UPDATE SKIP LOCKED) l ON true
    ORDER BY u.n);
  t := holdfast.clock();
  UPDATE holdfast.session s
  SET lease_at = t, expires_at = t + coalesce(u.ttl * interval '1 microsecond', s.ttl)
  FROM unnest(places, p_uids, p_epochs, p_hashes, p_ttls) AS u (place, uid, epoch, hash, ttl)
  WHERE s.ctid = u.place AND NOT s.deleted AND s.held
    AND s.store_id = holdfast.store_id() AND s.uid = u.uid AND s.epoch = u.epoch
    AND s.secret_hash = u.hash;
  RETURN QUERY
  SELECT coalesce(s.lease_at = t AND s.held AND s.uid = u.uid AND s.epoch = u.epoch
                  AND s.secret_hash = u.hash, false),
         coalesce(u.ttl * interval '1 microsecond', s.ttl),
         coalesce(s.version, 0), s.store_id, s.deleted, s.head, s.head_sum,
         holdfast.lease_left(s.held, s.lease_at, s.expires_at, s.ttl, o.opened_at),
         u.place IS NULL AND s.version IS NOT NULL
  FROM unnest(places, p_tenants, p_sessions, p_uids, p_epochs, p_hashes, p_ttls)
    WITH ORDINALITY AS u (place, tenant, session_id, uid, epoch, hash, ttl, n)
  CROSS JOIN holdfast.opening o
  LEFT JOIN LATERAL (
    SELECT x.* FROM holdfast.session x
    WHERE x.tenant = u.tenant AND x.session_id = u.session_id OFFSET 0) s ON true
  ORDER BY u.n;
END
$$;

-- Keeps `p_chunk`, which begins at p_start of the upload. Answers where the upload ends then, or,
-- with kept = false, where it ends now because the chunk begins behind that.
CREATE FUNCTION holdfast.stage(p_tenant text, p_session text, p_upload uuid, p_start bigint,
                               p_sum bytea, p_chunk bytea, OUT kept boolean, OUT bytes bigint)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  l boolean;
BEGIN
  INSERT INTO holdfast.upload AS u (tenant, session_id, upload_id, bytes, linked, touched_at)
  VALUES (p_tenant, p_session, p_upload, 0, false, holdfast.clock())
  ON CONFLICT (tenant, session_id, upload_id) DO UPDATE SET touched_at = excluded.touched_at
  RETURNING u.bytes, u.linked INTO bytes, l;
  kept := p_start <= bytes;
  IF NOT kept OR l OR p_start + length(p_chunk) <= bytes THEN
    RETURN;
  END IF;
  IF p_start < bytes THEN
    p_chunk := substr(p_chunk, (bytes - p_start + 1)::integer);
    p_sum := sha256(p_chunk);
  END IF;
  INSERT INTO holdfast.blob_chunk (tenant, session_id, upload_id, start, sum, bytes)
  VALUES (p_tenant, p_session, p_upload, bytes, p_sum, p_chunk);
  bytes := bytes + length(p_chunk);
  UPDATE holdfast.upload u SET bytes = stage.bytes
  WHERE u.tenant = p_tenant AND u.session_id = p_session AND u.upload_id = p_upload;
END
$$;

-- Forgets an upload that nobody has linked. Its chunks are looked for when its row is locked: one
-- that was being staged is there by then.
CREATE FUNCTION holdfast.drop_upload(p_tenant text, p_session text, p_upload uuid) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  DELETE FROM holdfast.upload u
  WHERE u.tenant = p_tenant AND u.session_id = p_session AND u.upload_id = p_upload
    AND NOT u.linked;
  IF FOUND THEN
    DELETE FROM holdfast.blob_chunk c
    WHERE c.tenant = p_tenant AND c.session_id = p_session AND c.upload_id = p_upload;
  END IF;
END
$$;
