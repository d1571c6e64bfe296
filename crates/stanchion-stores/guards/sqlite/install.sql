-- Stanchion's guard for SQLite (3.35 or newer): the table itself refuses writers whose lock has passed on.
--
-- Replace {table} by your table and {key} by its key column, and run it once per table:
--   sed -e 's/{table}/accounts/g' -e 's/{key}/id/g' install.sql | sqlite3 app.db

BEGIN IMMEDIATE;

-- The last token that has touched a row. It outlives the row: a floor is never removed and never sinks.
CREATE TABLE IF NOT EXISTS stanchion_fence (
  resource TEXT PRIMARY KEY NOT NULL,  -- 'table:key'
  number   INTEGER NOT NULL,           -- a token is NUMBER-NONCE: $STANCHION_FENCE-$STANCHION_LEASE_ID
  nonce    TEXT NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER IF NOT EXISTS stanchion_fence_rises BEFORE UPDATE ON stanchion_fence
WHEN NEW.number < OLD.number OR (NEW.number = OLD.number AND NEW.nonce <> OLD.nonce) OR NEW.resource <> OLD.resource
BEGIN
  SELECT RAISE(ABORT, 'stanchion: a fence cannot be lowered');
END;

CREATE TRIGGER IF NOT EXISTS stanchion_fence_stays BEFORE DELETE ON stanchion_fence
BEGIN
  SELECT RAISE(ABORT, 'stanchion: a fence cannot be removed');
END;

-- Each write says its token here; the guard empties it again, so that no later write can ride on it.
ALTER TABLE {table} ADD COLUMN stanchion_token TEXT;

-- Only the token of the last touch may write. The comparison is for equality with the last *touch*, which is
-- the read: "not lower than the last write's token" would lose updates.
CREATE TRIGGER stanchion_{table}_insert BEFORE INSERT ON {table}
WHEN NEW.stanchion_token IS NULL
  OR NEW.stanchion_token IS NOT (SELECT number || '-' || nonce FROM stanchion_fence WHERE resource = '{table}:' || NEW.{key})
BEGIN
  SELECT RAISE(ABORT, 'stanchion: fence rejected; the floor is in stanchion_fence');
END;

-- Three updates pass: a write with the token, a mark for deletion, and the guard's own emptying.
CREATE TRIGGER stanchion_{table}_update BEFORE UPDATE ON {table}
WHEN NEW.{key} IS NOT OLD.{key} OR NOT EXISTS (
  SELECT 1 FROM stanchion_fence WHERE resource = '{table}:' || OLD.{key} AND (
    NEW.stanchion_token IS number || '-' || nonce
    OR (NEW.stanchion_token IS 'delete ' || number || '-' || nonce AND OLD.stanchion_token IS NOT NEW.stanchion_token)
    OR (NEW.stanchion_token IS NULL AND OLD.stanchion_token IS number || '-' || nonce)
  )
)
BEGIN
  SELECT RAISE(ABORT, 'stanchion: fence rejected; the floor is in stanchion_fence');
END;

CREATE TRIGGER stanchion_{table}_inserted AFTER INSERT ON {table}
BEGIN
  UPDATE {table} SET stanchion_token = NULL WHERE {key} IS NEW.{key};
END;

CREATE TRIGGER stanchion_{table}_updated AFTER UPDATE ON {table}
WHEN NEW.stanchion_token IS NOT NULL AND NEW.stanchion_token NOT LIKE 'delete %'
BEGIN
  UPDATE {table} SET stanchion_token = NULL WHERE {key} IS NEW.{key};
END;

-- A DELETE cannot say a token, so the row is marked first: SET stanchion_token = 'delete NUMBER-NONCE'.
CREATE TRIGGER stanchion_{table}_delete BEFORE DELETE ON {table}
WHEN OLD.stanchion_token IS NULL
  OR OLD.stanchion_token IS NOT (SELECT 'delete ' || number || '-' || nonce FROM stanchion_fence WHERE resource = '{table}:' || OLD.{key})
BEGIN
  SELECT RAISE(ABORT, 'stanchion: fence rejected; the floor is in stanchion_fence');
END;

COMMIT;
