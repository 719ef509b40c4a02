-- What goes when nobody can ask for it any more. Always a bounded number of rows at a time, and
-- never one that somebody else has locked.

-- Of one session, what is behind its oldest snapshot: entries of the journal, slot versions that a
-- later one has replaced by then, histories before the oldest one that a snapshot names; and events
-- that are old enough. Rows are found along their keys and deleted by their places: nobody changes
-- them meanwhile. Answers how many went; at p_most of a kind there may be more.
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

-- Of one deleted session, whatever is left of it but its tombstone.
CREATE FUNCTION holdfast.purge_one(p_tenant text, p_session text, p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  kind  text;
  n     bigint;
  total bigint := 0;
BEGIN
  FOREACH kind IN ARRAY ARRAY['message', 'slot', 'journal', 'event', 'audit', 'request',
                              'blob_chunk', 'upload'] LOOP
    EXECUTE format(
      'DELETE FROM holdfast.%1$I WHERE ctid = ANY (ARRAY('
      'SELECT ctid FROM holdfast.%1$I WHERE tenant = $1 AND session_id = $2 LIMIT $3))', kind)
    USING p_tenant, p_session, p_most;
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
  END LOOP;
  RETURN total;
END
$$;

-- Empties sessions that were deleted long enough ago for every watcher to have been told. Answers
-- how many rows went.
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
    ORDER BY d.tenant, d.session_id LIMIT p_sessions FOR NO KEY UPDATE SKIP LOCKED
  LOOP
    n := holdfast.purge_one(s.tenant, s.session_id, p_most);
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
    ORDER BY s.tenant, s.session_id LIMIT p_most FOR NO KEY UPDATE SKIP LOCKED);
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END
$$;

-- Stored replies that count no more.
CREATE FUNCTION holdfast.forget_requests(p_before timestamptz, p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  n bigint;
BEGIN
  DELETE FROM holdfast.request WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM holdfast.request r WHERE r.at < p_before LIMIT p_most
    FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END
$$;
