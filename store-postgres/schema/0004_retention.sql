-- What goes when nobody can ask for it any more. Always a bounded number of rows at a time, and
-- never one that somebody else has locked.

-- Of one session, what is behind its oldest snapshot: entries of the journal, slot versions that a
-- later one has replaced by then, histories before the oldest one that a snapshot names, uploads of
-- which nothing is left; and events that are old enough. Rows are found along their keys and deleted
-- by their places: nobody changes them meanwhile. Answers how many went, an upload counting as a
-- quarter of p_most; at p_most of a kind there may be more.
CREATE FUNCTION holdfast.prune(p_tenant text, p_session text, p_floor bigint, p_oldest bigint,
                               p_generation bigint, p_events bigint, p_age interval,
                               p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  n      bigint;
  total  bigint := 0;
  e      record;
  before timestamptz := holdfast.clock() - p_age;
  old    tid[] := '{}';
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM holdfast.journal WHERE ctid = ANY (ARRAY(
    SELECT g.ctid FROM holdfast.journal g
    WHERE g.tenant = p_tenant AND g.session_id = p_session AND g.number <= p_floor
    ORDER BY g.number LIMIT p_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  total := total + n;
  DELETE FROM holdfast.slot WHERE ctid = ANY (ARRAY(
    SELECT v.place
    FROM (SELECT x.ctid AS place, x.rec IS NULL AS gone,
                 lead(x.revision) OVER (PARTITION BY x.owner ORDER BY x.revision) AS later
          FROM holdfast.slot x
          WHERE x.tenant = p_tenant AND x.session_id = p_session AND x.revision <= p_oldest) v
    WHERE v.later IS NOT NULL OR v.gone
    LIMIT p_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  total := total + n;
  DELETE FROM holdfast.message WHERE ctid = ANY (ARRAY(
    SELECT g.ctid FROM holdfast.message g
    WHERE g.tenant = p_tenant AND g.session_id = p_session AND g.generation < p_generation
    ORDER BY g.generation, g.seq LIMIT p_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  total := total + n;
  FOR e IN
    SELECT u.upload_id FROM holdfast.upload u
    WHERE u.tenant = p_tenant AND u.session_id = p_session AND u.linked
      AND (u.generation IS NULL OR u.generation < p_generation)
      AND NOT EXISTS (SELECT FROM holdfast.slot v
                      WHERE v.tenant = u.tenant AND v.session_id = u.session_id
                        AND v.owner = ANY (u.owners) AND v.revision = u.revision)
    LIMIT 4
  LOOP
    DELETE FROM holdfast.blob_chunk c
    WHERE c.tenant = p_tenant AND c.session_id = p_session AND c.upload_id = e.upload_id;
    DELETE FROM holdfast.upload u
    WHERE u.tenant = p_tenant AND u.session_id = p_session AND u.upload_id = e.upload_id;
    total := total + p_most / 4;
  END LOOP;
  -- Oldest first, and no further than to the first one that is too young: however long a session
  -- is, what is kept of it is not looked through.
  FOR e IN
    SELECT g.ctid AS place, g.at FROM holdfast.event g
    WHERE g.tenant = p_tenant AND g.session_id = p_session AND g.seq <= p_events
    ORDER BY g.seq LIMIT p_most
  LOOP
    EXIT WHEN e.at > before;
    old := old || e.place;
  END LOOP;
  DELETE FROM holdfast.event WHERE ctid = ANY (old);
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN total + n;
END
$$;

-- Of one deleted session, whatever is left of it but its tombstone. A chunk of an upload, which is
-- 1 MiB, counts as much as 64 rows.
CREATE FUNCTION holdfast.purge_one(p_tenant text, p_session text, p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  kind   text;
  weight bigint;
  n      bigint;
  total  bigint := 0;
BEGIN
  FOREACH kind IN ARRAY ARRAY['message', 'slot', 'journal', 'event', 'audit', 'request',
                              'blob_chunk', 'upload'] LOOP
    weight := CASE kind WHEN 'blob_chunk' THEN 64 ELSE 1 END;
    EXIT WHEN total >= p_most;
    EXECUTE format(
      'DELETE FROM holdfast.%1$I WHERE ctid = ANY (ARRAY('
      'SELECT ctid FROM holdfast.%1$I WHERE tenant = $1 AND session_id = $2 LIMIT $3))', kind)
    USING p_tenant, p_session, greatest(1, (p_most - total) / weight);
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n * weight;
  END LOOP;
  RETURN total;
END
$$;

-- Empties sessions that were deleted long enough ago for every watcher to have been told, about
-- p_most rows of them. Answers how many went.
CREATE FUNCTION holdfast.purge(p_quiet interval, p_sessions bigint, p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  s     record;
  n     bigint;
  total bigint := 0;
BEGIN
  FOR s IN
    SELECT d.tenant, d.session_id FROM holdfast.session d
    WHERE d.sweep AND d.deleted AND d.active_at <= holdfast.clock() - p_quiet
    ORDER BY d.tenant, d.listed_at, d.session_id LIMIT p_sessions FOR NO KEY UPDATE SKIP LOCKED
  LOOP
    EXIT WHEN total >= p_most;
    n := holdfast.purge_one(s.tenant, s.session_id, p_most - total);
    total := total + n;
    IF n = 0 THEN
      UPDATE holdfast.session x SET sweep = false
      WHERE x.tenant = s.tenant AND x.session_id = s.session_id;
    END IF;
  END LOOP;
  RETURN total;
END
$$;

-- Takes sessions out of the sweeps' sight that have nothing for them any more.
CREATE FUNCTION holdfast.settle(p_quiet interval, p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  n bigint;
BEGIN
  UPDATE holdfast.session x SET sweep = false
  WHERE (x.tenant, x.session_id) IN (
    SELECT s.tenant, s.session_id FROM holdfast.session s
    WHERE s.sweep AND NOT s.deleted AND s.lifecycle <> 1 AND s.marked_at IS NULL
      AND s.active_at <= holdfast.clock() - p_quiet
    ORDER BY s.tenant, s.listed_at, s.session_id LIMIT p_most FOR NO KEY UPDATE SKIP LOCKED);
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END
$$;

-- Stored replies that count no more, in p_blocks of the table from p_from on. No index leads to them,
-- for it would cost every change; and one of ranges would soon name them all, since places are used
-- again. `next` is where to go on, 0 at the end.
CREATE FUNCTION holdfast.forget_requests(p_before timestamptz, p_from bigint, p_blocks bigint,
                                         OUT gone bigint, OUT next bigint)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  first tid := format('(%s,0)', p_from)::tid;
  last  tid := format('(%s,0)', p_from + p_blocks)::tid;
BEGIN
  DELETE FROM holdfast.request WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM holdfast.request r
    WHERE r.ctid >= first AND r.ctid < last AND r.at < p_before
    FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS gone = ROW_COUNT;
  next := CASE WHEN (p_from + p_blocks) * current_setting('block_size')::bigint
                    < pg_relation_size('holdfast.request') THEN p_from + p_blocks ELSE 0 END;
END
$$;
