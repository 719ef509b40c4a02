-- How sessions are changed. What runs often is in PL/pgSQL, which plans a statement once for a
-- connection, or is one expression, which is inlined.
--
-- A server decides on a cached head and names its version; the function writes the decision if the
-- session still has that version, and otherwise writes nothing and answers the current row. The
-- rules themselves are the server's.

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
CREATE VIEW holdfast.current_session AS
  SELECT s.tenant, s.session_id, s.version, s.store_id, s.deleted, s.head, s.head_sum,
         holdfast.lease_left(s.held, s.lease_at, s.expires_at, s.ttl, o.opened_at) AS lease_left,
         s.generation, s.messages, s.token
  FROM holdfast.session s CROSS JOIN holdfast.opening o;

-- What a change answers. Version 0: no such session.
CREATE TYPE holdfast.outcome AS (
  version    bigint,
  store_id   text,
  deleted    boolean,
  head       bytea,     -- not when it was applied: the server has it
  head_sum   bytea,
  lease_left interval,
  request    bytea,     -- what the change said that answered this request, with its stored reply
  token      text,      -- of the last grant
  applied    boolean,
  uploaded   boolean,   -- false: the upload is not there as the change says
  timeline   bigint,    -- of the server's history
  skipped    boolean,   -- nothing was read: another transaction has locked the row
  -- Of a change that writes items: as holdfast.write_items answers them.
  item_refusal integer,
  item_put     integer,
  item_actual  bigint,
  item_last    bytea,
  item_results bytea
);

CREATE FUNCTION holdfast.timeline() RETURNS bigint
LANGUAGE sql VOLATILE
AS $$
  SELECT ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint
$$;

-- What a change said, whose row is p_n.
CREATE FUNCTION holdfast.acts_of(p_tenant text, p_session text, p_n bigint) RETURNS bytea
LANGUAGE sql STABLE
AS $$
  SELECT string_agg(a.acts, '' ORDER BY a.part)
  FROM holdfast.log a
  WHERE a.tenant = p_tenant AND a.session_id = p_session AND a.n = p_n AND a.acts IS NOT NULL
$$;

-- The last row of the log before which fewer than p_number messages of a generation (kind 0), events
-- (1) or audit records (2) are, or that is earlier than so many microseconds since 1970 (3); n = 0:
-- there is none. p_to is the last n to be looked at. It is asked
-- from the end on in steps that double, since mostly what is new is read, and then by bisection.
CREATE FUNCTION holdfast.find_row(p_tenant text, p_session text, p_kind integer,
                                  p_generation bigint, p_number bigint, p_to bigint,
                                  OUT n bigint, OUT part integer)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
  low    bigint := 0;         -- a row that is before the number, or none
  high   bigint := p_to + 1;  -- no row from here on is
  step   bigint := 1;
  middle bigint;
  most   integer;
  r      record;
BEGIN
  WHILE low + 1 < high LOOP
    middle := CASE WHEN step > 0 THEN greatest(high - step, 1) ELSE (low + high) / 2 END;
    SELECT l.n,
           CASE p_kind WHEN 0 THEN l.generation ELSE 0 END AS generation,
           CASE p_kind WHEN 0 THEN l.messages WHEN 1 THEN l.events WHEN 2 THEN l.audit
                       ELSE (extract(epoch FROM l.at) * 1000000)::bigint END AS before
    INTO r
    FROM holdfast.log l
    WHERE l.tenant = p_tenant AND l.session_id = p_session AND l.n >= middle AND l.n < high
    ORDER BY l.n, l.part LIMIT 1;
    IF FOUND AND (r.generation, r.before) < (p_generation, p_number) THEN
      low := r.n;
      step := 0;
    ELSE
      high := middle;
      step := step * 2;
    END IF;
  END LOOP;
  n := low;
  part := 0;
  IF p_kind > 0 OR n = 0 THEN
    RETURN;
  END IF;
  -- The same among the parts of the change.
  SELECT l.part + 1 INTO most FROM holdfast.log l
  WHERE l.tenant = p_tenant AND l.session_id = p_session AND l.n = low
  ORDER BY l.part DESC LIMIT 1;
  WHILE part + 1 < most LOOP
    PERFORM FROM holdfast.log l
    WHERE l.tenant = p_tenant AND l.session_id = p_session AND l.n = low
      AND l.part = (find_row.part + most) / 2 AND l.messages < p_number;
    IF FOUND THEN
      part := (part + most) / 2;
    ELSE
      most := (part + most) / 2;
    END IF;
  END LOOP;
END
$$;

-- Prolongs the leases whose tokens are the current ones, and answers the current row of each
-- session. Need not survive a crash, so the flush is not waited for. Rows that another transaction
-- has locked are skipped, so that no session waits for the sake of another one; with p_waits they
-- are waited for, a second at most.
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
  -- Each is looked up by itself, as in holdfast.change.
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

-- Forgets an upload that no change has linked. Its chunks are looked for when its row is locked:
-- one that was being staged is there by then.
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
