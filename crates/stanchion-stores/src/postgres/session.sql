-- Advisory locks of one database session.

-- One attempt, or with p_held the confirmation of a lock that this session waited for.
-- status: 0 granted, 1 contended, 2 call lift() and come again (the lock is not held then).
CREATE OR REPLACE FUNCTION stanchion.session_take(
  p_key text, p_hash bigint, p_shared boolean, p_held boolean, p_owner text, p_identity text, p_floor bigint,
  OUT status int, OUT fence bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  IF NOT EXISTS (SELECT FROM stanchion.unbroken)
      OR (p_floor > 0 AND p_floor >= (SELECT last_value FROM stanchion.fence)) THEN
    status := 2;
    RETURN;
  END IF;
  IF NOT p_held AND NOT (CASE WHEN p_shared THEN pg_try_advisory_lock_shared(p_hash) ELSE pg_try_advisory_lock(p_hash) END) THEN
    status := 1;
    RETURN;
  END IF;
  -- Only a holder draws, so numbers follow the order of the holders.
  status := 0;
  fence := nextval('stanchion.fence');
  INSERT INTO stanchion.sessions (hash, pid, key, owner, mode, identity, fence, since)
    VALUES (p_hash, pg_backend_pid(), p_key, p_owner, CASE WHEN p_shared THEN 2 ELSE 1 END, p_identity, fence, clock_timestamp())
    ON CONFLICT (hash, pid) DO UPDATE SET key = excluded.key, owner = excluded.owner, mode = excluded.mode,
      identity = excluded.identity, fence = excluded.fence, since = excluded.since;
END $$;

CREATE OR REPLACE FUNCTION stanchion.session_release(p_hash bigint, p_shared boolean) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  DELETE FROM stanchion.sessions WHERE hash = p_hash AND pid = pg_backend_pid();
  RETURN CASE WHEN p_shared THEN pg_advisory_unlock_shared(p_hash) ELSE pg_advisory_unlock(p_hash) END;
END $$;

-- The rows whose session still holds its lock; a killed session leaves its row behind.
CREATE OR REPLACE VIEW stanchion.session_holders AS
  SELECT s.*, (extract(epoch FROM clock_timestamp() - s.since) * 1000)::bigint AS held_ms
  FROM stanchion.sessions s JOIN pg_locks l ON l.locktype = 'advisory' AND l.granted AND l.pid = s.pid
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.objsubid = 1 AND ((l.classid::bigint << 32) | l.objid::bigint) = s.hash;

INSERT INTO stanchion.meta VALUES ('schema', '2') ON CONFLICT (name) DO UPDATE SET value = excluded.value;
