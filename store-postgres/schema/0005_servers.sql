-- oldest server: 4
-- Which servers serve the store. Each has a connection that it keeps as long as it serves, and on
-- which it receives the others' notifications. That connection holds an advisory lock of the
-- server's own number, and PostgreSQL frees the lock when the connection ends: a server sends no
-- heartbeats, and no clock decides that it has ended.
--
-- The table has no rows of servers that do not know this step. Where only those serve, a start
-- behaves as theirs does.

CREATE TABLE holdfast.server (
  writer     bigint PRIMARY KEY,    -- as in holdfast.feed
  schema     integer NOT NULL,      -- the newest step that it knows
  backend    integer NOT NULL,      -- the process that serves its connection
  started_at timestamptz NOT NULL
);

-- Those whose lock is there.
CREATE VIEW holdfast.serving AS
  SELECT s.writer, s.schema, s.backend, s.started_at
  FROM holdfast.server s
  WHERE EXISTS (
    SELECT FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
      AND (l.classid::bigint << 32 | l.objid::bigint) = s.writer);

-- Enters a server, whose lasting connection calls this, and takes those out that are gone. A step of
-- the schema that is being taken is waited for: it may be one that the server must not serve.
CREATE FUNCTION holdfast.serve(p_writer bigint, p_schema integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  needed integer;
BEGIN
  PERFORM 1 FROM holdfast.store FOR SHARE;
  SELECT max(m.oldest_server) INTO needed FROM holdfast.migration m;
  IF p_schema < needed THEN
    RAISE EXCEPTION 'the schema has moved on to a step that only servers of version % may serve',
      needed;
  END IF;
  PERFORM pg_advisory_lock_shared(p_writer);  -- of an earlier connection's it need not wait
  DELETE FROM holdfast.server WHERE writer IN (
    SELECT s.writer FROM holdfast.server s
    WHERE NOT EXISTS (SELECT FROM holdfast.serving a WHERE a.writer = s.writer)
    FOR UPDATE SKIP LOCKED);
  INSERT INTO holdfast.server AS s (writer, schema, backend, started_at)
  VALUES (p_writer, p_schema, pg_backend_pid(), holdfast.clock())
  ON CONFLICT (writer) DO UPDATE SET backend = excluded.backend;
END
$$;

-- The same for a server that starts. If no other server serves the store, this opens it: held
-- leases run for their whole TTL from now on, and quiet time counts from now. While others serve
-- it, it is open: holders could renew there, and nothing of theirs is prolonged. One at a time.
CREATE FUNCTION holdfast.take_up(p_writer bigint, p_schema integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  PERFORM 1 FROM holdfast.store FOR UPDATE;
  IF NOT EXISTS (SELECT FROM holdfast.serving) THEN
    UPDATE holdfast.store SET activated_at = holdfast.clock();
  END IF;
  PERFORM holdfast.serve(p_writer, p_schema);
END
$$;

-- For a server that ends in order.
CREATE FUNCTION holdfast.leave(p_writer bigint) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  DELETE FROM holdfast.server s WHERE s.writer = p_writer;
  PERFORM pg_advisory_unlock_shared(p_writer);
END
$$;
