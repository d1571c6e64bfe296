-- A guarded call in two trips, each one transaction: claim, lock and mark; then record and release.
-- Both take the record's row before the lock's, so no two of them wait for each other in a circle.
-- record_put forces the commit to disk for both; the locks' own haste (p_async) is not used here.
--
-- The answer is one value, because a row of columns would have to be planned every time:
--   w VERSION                          written; no lock was asked for
--   g VERSION FENCE                    written, and the lock is ours
--   b VERSION ANSWER                   p_busy is written; this is what lock_acquire answered
--   r VERSION / x VERSION              written; the lock was ours until now / was not ours any more
--   t [FENCE NONCE]                    the token of the condition is refused; this one has touched the record
--   n                                  the condition does not hold: there is no record
--   f VERSION WRITTEN NOW [FENCE NONCE] chr(10) VALUE    ... or this is the record

CREATE OR REPLACE FUNCTION stanchion.fused_found(p_key text, p_status int, p_fence bigint, p_nonce bigint)
RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
  t timestamptz := clock_timestamp();
  v_found bytea;
BEGIN
  IF p_status = 2 THEN RETURN convert_to(concat_ws(' ', 't', p_fence, p_nonce), 'UTF8'); END IF;
  SELECT convert_to(concat_ws(' ', 'f', r.version, (extract(epoch FROM r.written) * 1000)::bigint,
      (extract(epoch FROM t) * 1000)::bigint, r.fence, r.nonce) || chr(10), 'UTF8') || r.value
    INTO v_found FROM stanchion.records r
    WHERE r.key = p_key AND r.value IS NOT NULL AND (r.expires IS NULL OR r.expires > t);
  RETURN coalesce(v_found, convert_to('n', 'UTF8'));
END $$;

CREATE OR REPLACE FUNCTION stanchion.fused_begin(
  p_key text, p_cond int, p_version bigint, p_fence bigint, p_nonce bigint, p_hash text, p_granted bytea, p_busy bytea,
  p_lock text, p_owner text, p_mode int, p_slots int, p_ttl bigint, p_identity text, p_floor bigint)
RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
  v record;
  v_lock text;
BEGIN
  v := stanchion.record_put(p_key, p_granted, p_cond, p_version, p_fence, p_nonce, NULL, p_hash);
  IF v.status <> 0 THEN RETURN stanchion.fused_found(p_key, v.status, v.seen_fence, v.seen_nonce); END IF;
  IF p_lock IS NULL THEN RETURN convert_to('w ' || v.version, 'UTF8'); END IF;
  v_lock := stanchion.lock_acquire(p_lock, p_owner, p_mode, p_slots, p_ttl, false, p_identity, p_floor, false, false);
  IF left(v_lock, 2) = 'g ' THEN RETURN convert_to('g ' || v.version || substr(v_lock, 2), 'UTF8'); END IF;
  -- Nobody has seen this version with the other value.
  UPDATE stanchion.records SET value = p_busy WHERE key = p_key;
  RETURN convert_to('b ' || v.version || ' ' || v_lock, 'UTF8');
END $$;

CREATE OR REPLACE FUNCTION stanchion.fused_finish(
  p_key text, p_cond int, p_version bigint, p_fence bigint, p_nonce bigint, p_hash text, p_value bytea, p_ttl bigint,
  p_lock text, p_owner text, p_mode int)
RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
  v record;
BEGIN
  v := stanchion.record_put(p_key, p_value, p_cond, p_version, p_fence, p_nonce, p_ttl, p_hash);
  IF v.status <> 0 THEN RETURN stanchion.fused_found(p_key, v.status, v.seen_fence, v.seen_nonce); END IF;
  IF p_lock IS NULL THEN RETURN convert_to('w ' || v.version, 'UTF8'); END IF;
  RETURN convert_to(CASE WHEN stanchion.lock_release(p_lock, p_owner, p_mode, false) THEN 'r ' ELSE 'x ' END || v.version,
    'UTF8');
END $$;
