-- The enforcing side of a lock, for your own tables: rows refuse writers whose token is not the current one.
-- Plain SQL for PostgreSQL 12 or newer; needs nothing else of Stanchion. Runs again without harm.
--   psql -1 -f install.sql

CREATE SCHEMA IF NOT EXISTS stanchion_guard;

-- Says which token this transaction writes with. It ends with the transaction, so a pooler cannot leak it.
CREATE OR REPLACE FUNCTION stanchion_guard.hold(p_fence bigint, p_lease text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_fence IS NULL OR p_lease IS NULL OR p_lease = '' THEN
    RAISE EXCEPTION 'a token is a number and a lease id' USING ERRCODE = 'SF003';
  END IF;
  PERFORM set_config('stanchion.fence', p_fence::text, true), set_config('stanchion.lease', p_lease, true);
END $$;

-- Rules, per row:
--   touch   An update of fence and fence_lease alone. It is the read (UPDATE ... RETURNING), and the first step of
--           every holder: triggers never see a SELECT. Accepted if the token is higher, or is the same.
--   write   Everything else. Accepted only from the token that touched the row last.
-- A raise of the token and a change of data in one statement is refused: the data may have been computed from
-- an earlier read, and a write by the previous holder in between would be lost.
CREATE OR REPLACE FUNCTION stanchion_guard.check() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_fence bigint := nullif(current_setting('stanchion.fence', true), '')::bigint;
  v_lease text := nullif(current_setting('stanchion.lease', true), '');
  v_rest record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.fence IS NULL THEN
      NEW.fence := v_fence;
      NEW.fence_lease := v_lease;
    END IF;
    RETURN NEW;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    v_rest := NEW;
    v_rest.fence := OLD.fence;
    v_rest.fence_lease := OLD.fence_lease;
    IF v_rest *= OLD THEN
      IF NEW.fence IS NOT DISTINCT FROM OLD.fence AND NEW.fence_lease IS NOT DISTINCT FROM OLD.fence_lease THEN
        RETURN NEW;
      END IF;
      IF NEW.fence IS NULL OR NEW.fence_lease IS NULL THEN
        RAISE EXCEPTION 'a token is a number and a lease id' USING ERRCODE = 'SF003', TABLE = TG_TABLE_NAME;
      END IF;
      IF OLD.fence IS NULL OR NEW.fence > OLD.fence THEN
        RETURN NEW;
      END IF;
      v_fence := NEW.fence;
      v_lease := NEW.fence_lease;
    ELSIF NEW.fence IS DISTINCT FROM OLD.fence OR NEW.fence_lease IS DISTINCT FROM OLD.fence_lease THEN
      IF NEW.fence > OLD.fence OR OLD.fence IS NULL THEN
        RAISE EXCEPTION 'touch the row before you write it' USING ERRCODE = 'SF002', TABLE = TG_TABLE_NAME,
          DETAIL = format('floor=%s', coalesce(OLD.fence, 0)),
          HINT = 'first UPDATE fence and fence_lease alone, with RETURNING *, and compute from what that returns';
      END IF;
      v_fence := NEW.fence;
      v_lease := NEW.fence_lease;
    END IF;
  END IF;
  IF v_fence IS NULL THEN
    RAISE EXCEPTION 'this write carries no token' USING ERRCODE = 'SF003', TABLE = TG_TABLE_NAME,
      DETAIL = format('floor=%s', coalesce(OLD.fence, 0)),
      HINT = 'call stanchion_guard.hold(fence, lease) in this transaction';
  END IF;
  IF OLD.fence IS NULL OR v_fence > OLD.fence THEN
    RAISE EXCEPTION 'token % has not touched this row', v_fence USING ERRCODE = 'SF002', TABLE = TG_TABLE_NAME,
      DETAIL = format('floor=%s', coalesce(OLD.fence, 0)), HINT = 'touch before you write';
  END IF;
  IF v_fence < OLD.fence OR v_lease IS DISTINCT FROM OLD.fence_lease THEN
    RAISE EXCEPTION 'a newer holder has touched this row: token % is stale', v_fence USING ERRCODE = 'SF001',
      TABLE = TG_TABLE_NAME, DETAIL = format('floor=%s', OLD.fence),
      HINT = 'stop; take the lock again with a fence above the floor';
  END IF;
  IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
  RETURN NEW;
END $$;

-- Adds the columns and the trigger.
CREATE OR REPLACE FUNCTION stanchion_guard.protect(p_table regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- Before an update such columns are empty, so a touch could not be told from a write.
  IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = p_table AND attgenerated = 's' AND NOT attisdropped) THEN
    RAISE EXCEPTION 'a table with stored generated columns cannot be guarded' USING ERRCODE = '0A000';
  END IF;
  EXECUTE format('ALTER TABLE %s ADD COLUMN IF NOT EXISTS fence bigint, ADD COLUMN IF NOT EXISTS fence_lease text', p_table);
  EXECUTE format('DROP TRIGGER IF EXISTS stanchion_guard ON %s', p_table);
  EXECUTE format('CREATE TRIGGER stanchion_guard BEFORE INSERT OR UPDATE OR DELETE ON %s '
    'FOR EACH ROW EXECUTE FUNCTION stanchion_guard.check()', p_table);
END $$;

-- Takes the trigger away; the columns stay, because they are the floor.
CREATE OR REPLACE FUNCTION stanchion_guard.unprotect(p_table regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('DROP TRIGGER IF EXISTS stanchion_guard ON %s', p_table);
END $$;

-- The touch statement of a table, for drivers: $1 key, $2 fence, $3 lease. No row: there is no such key.
CREATE OR REPLACE FUNCTION stanchion_guard.touch_sql(p_table regclass, p_key name) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT format('UPDATE %s SET fence = $2, fence_lease = $3 WHERE %I = $1 RETURNING *', p_table, p_key)
$$;
