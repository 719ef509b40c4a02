-- Deletion of what no call can ask for any more. Always a bounded number of rows at a time, and
-- never one that another transaction has locked.

-- Of one session, what is behind its oldest snapshot and no pinned one shows: entries of the journal,
-- slot versions that a later one has replaced by then, messages of histories before p_generation but
-- for the first ones of those that are named, uploads of which nothing is left. Rows are found along their keys and changed
-- by their places: no one changes them meanwhile. Answers how many went, an upload counting as a
-- quarter of p_most; at p_most of a kind there may be more.
CREATE FUNCTION holdfast.prune(
  p_tenant text, p_session text,
  p_uid text,  -- of another session of the id nothing goes
  p_floor bigint, p_oldest bigint, p_generation bigint,
  p_named bigint[], p_lasts bigint[],  -- earlier generations, and the last message that stays of each
  p_dead bigint, p_dead_behind bigint, -- since the last time messages of this generation, behind this
                                       -- one, are named no more, and of later ones; null: none
  p_pins bigint[],                     -- revisions of pinned snapshots, ascending
  p_most bigint
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  n      bigint;
  total  bigint := 0;
  e      record;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  -- No session is created in the place of this one meanwhile.
  IF NOT pg_try_advisory_xact_lock_shared(holdfast.place_key(p_tenant, p_session)) THEN
    RETURN 0;
  END IF;
  PERFORM FROM holdfast.session s
  WHERE s.tenant = p_tenant AND s.session_id = p_session AND s.uid = p_uid;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  DELETE FROM holdfast.journal WHERE ctid = ANY (ARRAY(
    SELECT g.ctid FROM holdfast.journal g
    WHERE g.tenant = p_tenant AND g.session_id = p_session AND g.number <= p_floor
    ORDER BY g.number LIMIT p_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  total := total + n;
  DELETE FROM holdfast.slot WHERE ctid = ANY (ARRAY(
    SELECT w.place
    FROM (SELECT v.place, v.dead, v.later IS NULL AND v.gone AS gone,
                 bool_or(NOT v.dead) OVER (
                   PARTITION BY v.owner ORDER BY v.revision
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS hides
          FROM (SELECT u.*, u.later IS NOT NULL AND width_bucket(u.later - 1, p_pins)
                                                    = width_bucket(u.revision - 1, p_pins) AS dead
                FROM (SELECT x.ctid AS place, x.owner, x.revision, x.rec IS NULL AS gone,
                             lead(x.revision) OVER (PARTITION BY x.owner ORDER BY x.revision)
                               AS later
                      FROM holdfast.slot x
                      WHERE x.tenant = p_tenant AND x.session_id = p_session
                        AND x.revision <= p_oldest) u) v) w
    -- A deletion hides the versions before it, as long as there are any.
    WHERE w.dead OR w.gone AND w.hides IS NOT TRUE
    LIMIT p_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  total := total + n;
  IF p_generation > 1 THEN
    total := total + holdfast.prune_messages(p_tenant, p_session, p_generation, p_named, p_lasts,
                                             p_dead, p_dead_behind, p_most);
  END IF;
  FOR e IN
    SELECT u.upload_id FROM holdfast.upload u
    WHERE u.tenant = p_tenant AND u.session_id = p_session AND u.linked
      AND (u.generation IS NULL OR u.generation < p_generation AND u.generation <> ALL (p_named))
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
  RETURN total;
END
$$;

-- Takes the messages out of rows of the log, as holdfast.prune says. What the changes said stays, and
-- so do all messages of a change that has one which stays. Goes on behind the rows that it has looked
-- at before.
CREATE FUNCTION holdfast.prune_messages(
  p_tenant text, p_session text, p_generation bigint, p_named bigint[], p_lasts bigint[],
  p_dead bigint, p_dead_behind bigint, p_most bigint
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  start  bigint;  -- of what was not looked at
  until  bigint;  -- the last row of an earlier history
  ends   bigint[];  -- of each that is named, the last row that stays
  places tid[];
  last   bigint;
BEGIN
  SELECT least(s.pruned_to, d.n), f.n,
         ARRAY(SELECT e.n FROM unnest(p_named, p_lasts) WITH ORDINALITY AS u (generation, last, i)
               CROSS JOIN LATERAL holdfast.find_row(p_tenant, p_session, 0, u.generation, u.last,
                                                    s.version) e
               ORDER BY u.i)
  INTO start, until, ends
  FROM holdfast.session s
  CROSS JOIN LATERAL holdfast.find_row(p_tenant, p_session, 0, p_generation, 0, s.version) f
  LEFT JOIN LATERAL holdfast.find_row(p_tenant, p_session, 0, p_dead, p_dead_behind, s.version) d
    ON p_dead IS NOT NULL
  WHERE s.tenant = p_tenant AND s.session_id = p_session;
  IF NOT FOUND OR until <= start THEN
    RETURN 0;
  END IF;
  SELECT coalesce(array_agg(g.place), '{}'), max(g.n) INTO places, last
  FROM (SELECT l.ctid AS place, l.n FROM holdfast.log l
        WHERE l.tenant = p_tenant AND l.session_id = p_session AND l.n > start AND l.n <= until
          AND l.msgs IS NOT NULL
          AND NOT EXISTS (SELECT FROM unnest(p_named, ends) AS k (generation, last)
                          WHERE k.generation = l.generation AND l.n <= k.last)
        ORDER BY l.n, l.part LIMIT p_most) g;
  UPDATE holdfast.log SET msgs = NULL WHERE ctid = ANY (places);
  -- The last change may have more rows than that.
  UPDATE holdfast.session s
  SET pruned_to = CASE WHEN cardinality(places) < p_most THEN until ELSE last - 1 END
  WHERE s.tenant = p_tenant AND s.session_id = p_session;
  RETURN cardinality(places);
END
$$;

-- Of one deleted session, whatever is left of it but its tombstone. A chunk of an upload, which is
-- 1 MiB, counts as much as 64 rows, and an item's data by the same measure.
CREATE FUNCTION holdfast.purge_one(p_tenant text, p_session text, p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  kind   text;
  weight bigint;
  n      bigint;
  total  bigint := 0;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(holdfast.place_key(p_tenant, p_session));
  PERFORM FROM holdfast.session s
  WHERE s.tenant = p_tenant AND s.session_id = p_session AND s.deleted;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  FOREACH kind IN ARRAY ARRAY['log', 'slot', 'journal', 'blob_chunk', 'upload'] LOOP
    weight := CASE kind WHEN 'blob_chunk' THEN 64 ELSE 1 END;
    EXIT WHEN total >= p_most;
    EXECUTE format(
      'DELETE FROM holdfast.%1$I WHERE ctid = ANY (ARRAY('
      'SELECT ctid FROM holdfast.%1$I WHERE tenant = $1 AND session_id = $2 LIMIT $3))', kind)
    USING p_tenant, p_session, greatest(1, (p_most - total) / weight);
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n * weight;
  END LOOP;
  IF total < p_most THEN
    DELETE FROM holdfast.item WHERE ctid = ANY (ARRAY(
      SELECT w.place
      FROM (SELECT i.place, sum(1 + i.bytes / 16384) OVER (
                     ORDER BY i.collection, i.key
                     ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
            FROM (SELECT x.ctid AS place, x.collection, x.key, x.bytes FROM holdfast.item x
                  WHERE x.tenant = p_tenant AND x.session_id = p_session
                  ORDER BY x.collection, x.key LIMIT p_most - total) i) w
      WHERE coalesce(w.before, 0) < p_most - total));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
  END IF;
  RETURN total;
END
$$;

-- Rows of the feed that every server has read, the oldest first. Answers how many went.
CREATE FUNCTION holdfast.forget_feed(p_kept interval, p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  n bigint;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM holdfast.feed WHERE ctid = ANY (ARRAY(
    SELECT o.place FROM (SELECT f.ctid AS place, f.at FROM holdfast.feed f
                         WHERE f.xid < pg_snapshot_xmax(pg_current_snapshot())
                         ORDER BY f.xid LIMIT p_most) o
    WHERE o.at <= holdfast.clock() - p_kept));
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END
$$;
