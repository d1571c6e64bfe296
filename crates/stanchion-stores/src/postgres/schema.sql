-- Stanchion's tables. Runs again without harm; the opening client holds an advisory lock around it.
-- To install it by hand, as a role that may create schemas: psql -1 -f schema.sql -f locks.sql -f records.sql -f fused.sql -f session.sql
-- and then grant the application: USAGE on the schema; SELECT, INSERT, UPDATE, DELETE on its tables; USAGE, SELECT on its sequences.

CREATE SCHEMA IF NOT EXISTS stanchion;

CREATE TABLE IF NOT EXISTS stanchion.meta (
  name text PRIMARY KEY,
  value text NOT NULL
);

-- The one counter: versions and fences. Never cached per session, or numbers would leave their order.
CREATE SEQUENCE IF NOT EXISTS stanchion.fence AS bigint CACHE 1;
CREATE SEQUENCE IF NOT EXISTS stanchion.ticket AS bigint CACHE 1;

-- Holds one row as long as the server has not crashed and no standby was promoted: PostgreSQL empties unlogged
-- tables in both cases. They are also the cases in which `fence` may have gone back, because a grant may be
-- committed asynchronously. No number is handed out while this table is empty; `lift` fills it.
CREATE UNLOGGED TABLE IF NOT EXISTS stanchion.unbroken (
  since timestamptz NOT NULL
);

-- Room on each page lets every update of a row stay on its page without touching the index (HOT).
CREATE TABLE IF NOT EXISTS stanchion.records (
  key text COLLATE "C" PRIMARY KEY,
  value bytea,                        -- NULL: no record; the row remembers its floor or is watched
  version bigint NOT NULL DEFAULT 0,
  written timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires timestamptz,
  fence bigint,
  nonce bigint,
  watched timestamptz NOT NULL DEFAULT '-infinity' -- writers notify until then
) WITH (fillfactor = 70);

-- One row per key. It holds the exclusive holder itself, so an uncontended lock is one update of one row.
-- Whoever decides about a key holds this row's lock, and takes the number after that.
CREATE TABLE IF NOT EXISTS stanchion.locks (
  key text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C",
  reserved boolean NOT NULL DEFAULT false, -- handed to a waiter that has not answered yet
  fence bigint NOT NULL DEFAULT 0,
  identity text NOT NULL DEFAULT '',
  since timestamptz NOT NULL DEFAULT '-infinity',
  until timestamptz NOT NULL DEFAULT '-infinity',
  sharing int NOT NULL DEFAULT 0,          -- rows in lock_shares
  waiting int NOT NULL DEFAULT 0           -- rows in lock_waiters
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS stanchion.lock_shares (
  key text COLLATE "C",
  owner text COLLATE "C",
  mode int NOT NULL,                       -- 2 shared, 3 slots
  slots int NOT NULL,
  reserved boolean NOT NULL,
  fence bigint NOT NULL DEFAULT 0,
  identity text NOT NULL,
  since timestamptz NOT NULL,
  until timestamptz NOT NULL,
  PRIMARY KEY (key, owner)
) WITH (fillfactor = 70);

-- Unlogged: a crash of the server ends every wait anyway, and those who still wait queue up again.
CREATE UNLOGGED TABLE IF NOT EXISTS stanchion.lock_waiters (
  key text COLLATE "C",
  ticket bigint,
  owner text COLLATE "C" NOT NULL,
  mode int NOT NULL,
  slots int NOT NULL,
  identity text NOT NULL,
  since timestamptz NOT NULL,
  seen timestamptz NOT NULL,               -- forgotten after this, unless it asks again
  PRIMARY KEY (key, ticket)
) WITH (fillfactor = 70);

-- Who holds the advisory locks of mode=session. Display only; the lock itself is in the server's lock table.
CREATE UNLOGGED TABLE IF NOT EXISTS stanchion.sessions (
  hash bigint,
  pid int,
  key text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  mode int NOT NULL,
  identity text NOT NULL,
  fence bigint NOT NULL,
  since timestamptz NOT NULL,
  PRIMARY KEY (hash, pid)
);

-- After a restore from pg_dump, which brings an old counter and a filled `unbroken`: TRUNCATE stanchion.unbroken.
-- Lifts the counter above p_floor, and far above everything that a crash can have made it forget.
-- In its own transaction: the lock on the sequence waits for all who have drawn a number, so nobody may hold
-- a row while asking for it. Owned and run by the schema's owner, because only an owner may lock a sequence.
CREATE OR REPLACE FUNCTION stanchion.lift(p_floor bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog SET lock_timeout = '2s' AS $$
DECLARE
  v_last bigint;
  v_broken boolean;
BEGIN
  PERFORM set_config('synchronous_commit', 'on', true);
  ALTER SEQUENCE stanchion.fence OWNED BY NONE; -- changes nothing, but takes the lock that excludes nextval
  SELECT last_value INTO v_last FROM stanchion.fence;
  v_broken := NOT EXISTS (SELECT FROM stanchion.unbroken);
  IF v_broken THEN
    v_last := v_last + 16777216;
    INSERT INTO stanchion.unbroken VALUES (clock_timestamp());
  END IF;
  IF v_broken OR v_last <= p_floor THEN
    v_last := setval('stanchion.fence', greatest(v_last, p_floor + 1));
  END IF;
  RETURN v_last;
END $$;

-- Forgets keys that nobody has used for an hour. Floors stay for ever. The hour is longer than any request
-- can be under way, so a number drawn before the row was forgotten cannot be granted after it.
CREATE OR REPLACE FUNCTION stanchion.tidy(p_limit int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_old timestamptz := clock_timestamp() - interval '1 hour';
  v_locks bigint;
  v_records bigint;
BEGIN
  DELETE FROM stanchion.lock_shares WHERE until < v_old;
  DELETE FROM stanchion.lock_waiters WHERE seen < v_old;
  DELETE FROM stanchion.locks WHERE key IN (
    SELECT key FROM stanchion.locks l WHERE until < v_old AND since < v_old
      AND NOT EXISTS (SELECT FROM stanchion.lock_shares s WHERE s.key = l.key)
      AND NOT EXISTS (SELECT FROM stanchion.lock_waiters w WHERE w.key = l.key)
    LIMIT p_limit FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS v_locks = ROW_COUNT;
  DELETE FROM stanchion.records WHERE key IN (
    SELECT key FROM stanchion.records
    WHERE fence IS NULL AND written < v_old AND watched < v_old AND (value IS NULL OR expires < v_old)
    LIMIT p_limit FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS v_records = ROW_COUNT;
  RETURN v_locks + v_records;
END $$;

-- A new schema has nothing to forget.
INSERT INTO stanchion.unbroken SELECT clock_timestamp() WHERE NOT EXISTS (SELECT FROM stanchion.meta WHERE name = 'schema');
