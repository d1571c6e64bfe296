-- Stanchion's guard for MySQL 8.0 and MariaDB 10.6, or newer: your table remembers who touched a row last.
--
-- Run it in your database, once; then give every table that is to be guarded its two columns:
--   ALTER TABLE accounts ADD COLUMN fence BIGINT UNSIGNED NOT NULL DEFAULT 0, ADD COLUMN fence_lease CHAR(16) NOT NULL DEFAULT '';
-- and its trigger, after the pattern below (one statement, so that no DELIMITER is needed).
--
-- The trigger refuses to let a fence sink, and a write that carries another token than the row's. A write carries its
-- token in the session variables @fence and @fence_lease.

CREATE TRIGGER accounts_fence BEFORE UPDATE ON accounts FOR EACH ROW
  SET NEW.fence = CASE
    -- A touch: it names a token, above the row's or the row's own.
    WHEN NOT (NEW.fence <=> OLD.fence AND NEW.fence_lease <=> OLD.fence_lease) AND NEW.fence > OLD.fence THEN NEW.fence
    -- A write: the token of the session is the row's.
    WHEN NEW.fence <=> OLD.fence AND NEW.fence_lease <=> OLD.fence_lease
      AND (OLD.fence = 0 OR (@fence <=> OLD.fence AND @fence_lease <=> OLD.fence_lease)) THEN NEW.fence
    -- NULL in a column that is NOT NULL: error 1048, and nothing is written.
    ELSE NULL
  END;
