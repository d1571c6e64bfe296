-- Records: each function is one transaction and one round trip.

-- p_cond: 0 absent, 1 p_version, 2 the token (p_fence, p_nonce). status: 0 written, 1 conflict, 2 token refused.
CREATE OR REPLACE FUNCTION stanchion.record_put(
  p_key text, p_value bytea, p_cond int, p_version bigint, p_fence bigint, p_nonce bigint, p_ttl bigint, p_hash text,
  OUT status int, OUT version bigint, OUT seen_fence bigint, OUT seen_nonce bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t timestamptz := clock_timestamp();
  v_set text;
  v_expires timestamptz := t + p_ttl * interval '1 millisecond';
  v_watched timestamptz;
BEGIN
  -- Power is what a record promises: between "in the server's memory" and "on disk" PostgreSQL offers nothing.
  v_set := set_config('synchronous_commit', 'on', true);
  status := 0;
  IF p_cond = 0 THEN
    -- The row of a deleted record stays for an hour, so this number is above those of its predecessors.
    INSERT INTO stanchion.records AS r (key, value, version, written, expires)
      VALUES (p_key, p_value, nextval('stanchion.fence'), t, v_expires)
      ON CONFLICT (key) DO NOTHING RETURNING r.version INTO version;
    IF FOUND THEN RETURN; END IF;
    UPDATE stanchion.records r SET value = p_value, version = nextval('stanchion.fence'), written = t, expires = v_expires
      WHERE r.key = p_key AND (r.value IS NULL OR r.expires <= t)
      RETURNING r.version, r.watched INTO version, v_watched;
  ELSIF p_cond = 1 THEN
    UPDATE stanchion.records r SET value = p_value, version = nextval('stanchion.fence'), written = t, expires = v_expires
      WHERE r.key = p_key AND r.version = p_version AND r.value IS NOT NULL AND (r.expires IS NULL OR r.expires > t)
      RETURNING r.version, r.watched INTO version, v_watched;
  ELSE
    UPDATE stanchion.records r SET value = p_value, version = nextval('stanchion.fence'), written = t, expires = v_expires
      WHERE r.key = p_key AND r.fence = p_fence AND r.nonce = p_nonce
      RETURNING r.version, r.watched INTO version, v_watched;
  END IF;
  IF FOUND THEN
    IF v_watched > t THEN PERFORM pg_notify('stanchion.wake', 'v' || p_hash); END IF;
    RETURN;
  END IF;
  status := CASE WHEN p_cond = 2 THEN 2 ELSE 1 END;
  SELECT CASE WHEN r.value IS NOT NULL AND (r.expires IS NULL OR r.expires > t) THEN r.version END, r.fence, r.nonce
    INTO version, seen_fence, seen_nonce FROM stanchion.records r WHERE r.key = p_key;
END $$;

CREATE OR REPLACE FUNCTION stanchion.record_delete(
  p_key text, p_cond int, p_version bigint, p_fence bigint, p_nonce bigint, p_hash text,
  OUT status int, OUT version bigint, OUT seen_fence bigint, OUT seen_nonce bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t timestamptz := clock_timestamp();
  v_set text;
  v_watched timestamptz;
BEGIN
  v_set := set_config('synchronous_commit', 'on', true);
  status := 0;
  UPDATE stanchion.records r SET value = NULL, expires = NULL, written = t
    WHERE r.key = p_key AND r.value IS NOT NULL AND (r.expires IS NULL OR r.expires > t)
      AND CASE p_cond WHEN 1 THEN r.version = p_version WHEN 2 THEN r.fence = p_fence AND r.nonce = p_nonce ELSE false END
    RETURNING r.watched INTO v_watched;
  IF FOUND THEN
    IF v_watched > t THEN PERFORM pg_notify('stanchion.wake', 'v' || p_hash); END IF;
    RETURN;
  END IF;
  SELECT CASE WHEN r.value IS NOT NULL AND (r.expires IS NULL OR r.expires > t) THEN r.version END, r.fence, r.nonce
    INTO version, seen_fence, seen_nonce FROM stanchion.records r WHERE r.key = p_key;
  status := CASE WHEN p_cond = 2 AND (seen_fence, seen_nonce) IS DISTINCT FROM (p_fence, p_nonce) THEN 2 ELSE 1 END;
END $$;

-- Raises the floor and reads. status: 0 no record, 1 record, 2 refused.
CREATE OR REPLACE FUNCTION stanchion.record_touch(p_key text, p_fence bigint, p_nonce bigint,
  OUT status int, OUT value bytea, OUT version bigint, OUT fence bigint, OUT nonce bigint,
  OUT written_ms bigint, OUT now_ms bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t timestamptz := clock_timestamp();
  v_set text;
BEGIN
  v_set := set_config('synchronous_commit', 'on', true);
  now_ms := (extract(epoch FROM t) * 1000)::bigint;
  INSERT INTO stanchion.records AS r (key, fence, nonce) VALUES (p_key, p_fence, p_nonce)
    ON CONFLICT (key) DO UPDATE SET fence = p_fence, nonce = p_nonce
      WHERE r.fence IS NULL OR r.fence < p_fence OR (r.fence = p_fence AND r.nonce = p_nonce)
    RETURNING CASE WHEN r.value IS NOT NULL AND (r.expires IS NULL OR r.expires > t) THEN 1 ELSE 0 END,
      r.value, r.version, r.fence, r.nonce, (extract(epoch FROM r.written) * 1000)::bigint
    INTO status, value, version, fence, nonce, written_ms;
  IF NOT FOUND THEN
    status := 2;
    SELECT r.fence, r.nonce INTO fence, nonce FROM stanchion.records r WHERE r.key = p_key;
  END IF;
END $$;

-- Asks the next writer to notify, unless the version is already not p_since. The row's lock decides the order,
-- so no write falls between the look and the watch.
CREATE OR REPLACE FUNCTION stanchion.record_watch(p_key text, p_since bigint, p_ms bigint,
  OUT changed boolean, OUT left_ms bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t timestamptz := clock_timestamp();
  v_set text;
  v_until timestamptz := t + p_ms * interval '1 millisecond';
BEGIN
  v_set := set_config('synchronous_commit', 'off', true);
  changed := false;
  UPDATE stanchion.records r SET watched = greatest(r.watched, v_until)
    WHERE r.key = p_key
      AND CASE WHEN r.value IS NOT NULL AND (r.expires IS NULL OR r.expires > t) THEN r.version END IS NOT DISTINCT FROM p_since
    RETURNING CASE WHEN r.value IS NOT NULL THEN (extract(epoch FROM r.expires - t) * 1000)::bigint END INTO left_ms;
  IF FOUND THEN RETURN; END IF;
  IF p_since IS NULL THEN
    INSERT INTO stanchion.records (key, watched) VALUES (p_key, v_until) ON CONFLICT (key) DO NOTHING;
    IF FOUND THEN RETURN; END IF;
  END IF;
  changed := true;
END $$;
