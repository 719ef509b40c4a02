-- What a store of sessions is made of.
--
-- Every key begins with (tenant, session_id), no foreign key crosses sessions and nothing counts
-- over them, so that the data can be partitioned or distributed by session. Payloads are records of
-- session/codec in bytea, compressed with lz4 or not at all. A number column beside a record is
-- there because SQL needs it: the record stays the truth.

CREATE SCHEMA IF NOT EXISTS holdfast;

-- The clock by which leases expire and quiet time counts. A function, so that a test can move time.
CREATE FUNCTION holdfast.clock() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
AS 'SELECT clock_timestamp()';

-- The one store of this database.
CREATE TABLE holdfast.store (
  store_id          text NOT NULL,
  incarnation       bigint NOT NULL,       -- raised when the database is adopted after a restore
  system_identifier bigint NOT NULL,       -- of the cluster that it was made in or adopted by
  activated_at      timestamptz NOT NULL   -- when a server last took the store up
);

INSERT INTO holdfast.store
SELECT gen_random_uuid()::text, 1, system_identifier, '-infinity' FROM pg_control_system();

-- The store's id as a constant, because the place of a session in a listing depends on it.
DO $$
BEGIN
  EXECUTE format(
    'CREATE FUNCTION holdfast.store_id() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS %L',
    (SELECT format('SELECT %L::text', store_id) FROM holdfast.store));
END
$$;

-- Written and removed by a check whether the store takes writes.
CREATE TABLE holdfast.probe (at timestamptz NOT NULL);

-- One row for each session that exists or was deleted. The head is the record that decides.
--
-- No index has a column that a commit changes, so that a commit stays a HOT update; the fillfactor
-- leaves room for it. A commit never changes lease_at and expires_at of another call's renewal.
CREATE TABLE holdfast.session (
  tenant        text COLLATE "C" NOT NULL,
  session_id    text COLLATE "C" NOT NULL,
  version       bigint NOT NULL,                    -- moves with every write of the head
  store_id      text NOT NULL,                      -- the stamp
  deleted       boolean NOT NULL DEFAULT false,     -- a tombstone, until the id is used again
  head          bytea COMPRESSION lz4 NOT NULL,     -- of a deleted session: which one it was
  head_sum      bytea NOT NULL,                     -- SHA-256 of it
  last_event    bytea,                              -- of a deleted session: its last event
  lifecycle     integer NOT NULL,
  generation    bigint NOT NULL,                    -- of the history
  messages      bigint NOT NULL,                    -- in it
  kind          integer NOT NULL,
  session_group text COLLATE "C" NOT NULL,          -- empty: in none
  project_root  text NOT NULL,
  created_at    timestamptz NOT NULL,
  uid           text NOT NULL,
  epoch         bigint NOT NULL,
  held          boolean NOT NULL,                   -- a lease, live or expired
  secret_hash   bytea NOT NULL,                     -- of its token
  ttl           interval NOT NULL,
  lease_at      timestamptz NOT NULL,               -- of the grant or the last renewal
  expires_at    timestamptz NOT NULL,
  token         text NOT NULL,                      -- of the last grant; empty: the epoch has passed
  active_at     timestamptz NOT NULL,               -- of the last change
  cancel_requested_at timestamptz,                  -- since when a cancel request asks for an end
  -- Sweeps read these rows alone. Set when a turn begins or a cancel request is made, and cleared
  -- by a sweep, never by a commit.
  sweep         boolean NOT NULL,
  pruned_to     bigint NOT NULL DEFAULT 0,          -- rows of the log up to here have been looked at
                                                    -- for messages that no snapshot names
  items         bigint NOT NULL DEFAULT 0,          -- how many it has
  item_bytes    bigint NOT NULL DEFAULT 0,          -- and the sum of theirs
  PRIMARY KEY (tenant, session_id)
) WITH (fillfactor = 50, toast_tuple_target = 4064, autovacuum_vacuum_scale_factor = 0.05);

-- The place in a listing: a foreign or damaged session counts as the oldest. Each write of the head
-- works the expression out anew, and would look into a function; so it names the store itself.
DO $$
BEGIN
  EXECUTE format(
    'ALTER TABLE holdfast.session ADD COLUMN listed_at timestamptz NOT NULL GENERATED ALWAYS AS ('
    ' CASE WHEN store_id = %L AND (deleted OR head_sum = sha256(head))'
    ' THEN created_at ELSE %L::timestamptz END) STORED',
    holdfast.store_id(), '1970-01-01 00:00:00+00');
END
$$;

CREATE INDEX session_listed ON holdfast.session (tenant, listed_at, session_id)
  WHERE NOT deleted;
CREATE INDEX session_of_project ON holdfast.session
  (tenant, md5(project_root), listed_at, session_id) WHERE NOT deleted;
CREATE INDEX session_of_group ON holdfast.session
  (tenant, session_group, listed_at, session_id) WHERE NOT deleted AND session_group <> '';
CREATE INDEX session_to_sweep ON holdfast.session (tenant, listed_at, session_id) WHERE sweep;

-- One row for each change, or several where its records have no room in one: what it said (the
-- stored reply without its token, the audit record, the events), and the messages that it added.
-- store-postgres/log_rows.h says how the records lie in the pieces.
--
-- A row is at most a third of a page, so that no page has room left that only a vacuum finds; nothing
-- is compressed or moved out of it, but the results of writes of items, which the change itself adds
-- to what it said, may make a row larger. The counters say what was there before the row, and grow
-- with (n, part): the row of a number is found by bisection (holdfast.find_row).
CREATE TABLE holdfast.log (
  tenant     text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  n          bigint NOT NULL,       -- the version that the change left the session in
  generation bigint NOT NULL,       -- of the history that its messages are of
  messages   bigint NOT NULL,       -- of it that begin before this row
  events     bigint NOT NULL,       -- before this change
  audit      bigint NOT NULL,       -- records before this change
  at         timestamptz NOT NULL,  -- by the clock that says how long something is kept
  part       integer NOT NULL,      -- from 0
  request    uuid,                  -- that the change answers; in its first row
  acts       bytea,                 -- a piece of what it said
  msgs       bytea,                 -- a piece of its messages; null as well: no snapshot names them
  PRIMARY KEY (tenant, session_id, n, part)
) WITH (toast_tuple_target = 8160);
ALTER TABLE holdfast.log ALTER COLUMN acts SET STORAGE EXTERNAL,
                         ALTER COLUMN msgs SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX log_request ON holdfast.log (tenant, session_id, request)
  WHERE request IS NOT NULL;

-- For other servers: the sessions that a write left with new events. A server that polls finds by
-- the transactions' ids what others have committed since.
CREATE TABLE holdfast.feed (
  xid      xid8 NOT NULL DEFAULT pg_current_xact_id(),
  writer   bigint NOT NULL,  -- the server, for as long as it runs
  at       timestamptz NOT NULL,
  tenants  text[] NOT NULL,
  sessions text[] NOT NULL
);
CREATE INDEX feed_order ON holdfast.feed (xid);

-- What each owner's slot was from a revision on. Up to half a page stays in the row: every piece of
-- 2 KB that is moved out of it costs as much as a row.
CREATE TABLE holdfast.slot (
  tenant     text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  owner      text COLLATE "C" NOT NULL,
  revision   bigint NOT NULL,
  size       bigint NOT NULL,
  rec        bytea,                   -- the record without its bytes; null: deleted
  data       bytea COMPRESSION lz4,   -- the bytes
  PRIMARY KEY (tenant, session_id, owner, revision)
) WITH (toast_tuple_target = 8160);

CREATE TABLE holdfast.journal (
  tenant     text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  number     bigint NOT NULL,
  turn       bigint NOT NULL,
  entry      bigint NOT NULL,
  size       integer NOT NULL,
  rec        bytea COMPRESSION lz4 NOT NULL,  -- the record without its slot
  slot_owner text COLLATE "C",                -- of a slot update, as in holdfast.slot
  slot_size  bigint,
  slot_rec   bytea,
  slot_data  bytea COMPRESSION lz4,
  PRIMARY KEY (tenant, session_id, number)
);

-- Items, found by their keys alone: labels are compared row by row. The data of a larger row lies
-- outside of it, and is read only where it is asked for.
CREATE TABLE holdfast.item (
  tenant     text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  collection text COLLATE "C" NOT NULL,
  key        bytea NOT NULL,
  version    bigint NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  bytes      bigint NOT NULL,                 -- of its name, facts and data
  facts      bytea COMPRESSION lz4 NOT NULL,  -- the record of all but its name and data
  labels     bytea[],                         -- of the facts, each as bytes; null: none
  data       bytea NOT NULL,
  PRIMARY KEY (tenant, session_id, collection, key)
);
ALTER TABLE holdfast.item ALTER COLUMN data SET STORAGE EXTERNAL;

-- Uploads, and their bytes as they came. Chunks follow each other without a gap.
CREATE TABLE holdfast.upload (
  tenant     text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  upload_id  uuid NOT NULL,
  bytes      bigint NOT NULL,
  linked     boolean NOT NULL,      -- a change has taken it over
  -- Of a linked one: what lies in it. It goes with the last of them.
  generation bigint,                -- messages of this history; null: none
  revision   bigint,                -- slot versions of this revision, of these owners
  owners     text[],
  touched_at timestamptz NOT NULL,
  PRIMARY KEY (tenant, session_id, upload_id)
);
CREATE INDEX upload_unlinked ON holdfast.upload (touched_at) WHERE NOT linked;

CREATE TABLE holdfast.blob_chunk (
  tenant     text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  upload_id  uuid NOT NULL,
  start      bigint NOT NULL,
  sum        bytea NOT NULL,          -- SHA-256 of the bytes
  bytes      bytea NOT NULL,
  PRIMARY KEY (tenant, session_id, upload_id, start)
);
ALTER TABLE holdfast.blob_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;  -- read in parts
