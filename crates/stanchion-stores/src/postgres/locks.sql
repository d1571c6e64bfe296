-- Lease locks. mode: 1 exclusive, 2 shared, 3 slots. None of these functions waits for more than a row.

-- Serves the queue of a key whose row the caller has locked. With p_drop the exclusive holder goes first.
-- Waiters are served strictly in order: one who does not fit stops those behind. A served waiter has half a second
-- to answer; the one behind it is told, so that somebody watches. `mine`: p_me was next, and takes it itself.
CREATE OR REPLACE FUNCTION stanchion.lock_serve(p_key text, p_me text, p_drop boolean,
  OUT mine boolean, OUT taken boolean, OUT shares int, OUT kind int, OUT queued int)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t timestamptz := clock_timestamp();
  r stanchion.locks;
  w stanchion.lock_waiters;
  v_told boolean := false;
BEGIN
  mine := false; shares := 0; kind := 0; queued := 0;
  SELECT * INTO r FROM stanchion.locks WHERE key = p_key;
  IF p_drop OR r.until <= t THEN
    r.owner := NULL; r.reserved := false; r.until := '-infinity';
  END IF;
  taken := r.owner IS NOT NULL;
  DELETE FROM stanchion.lock_shares WHERE key = p_key AND until <= t;
  SELECT count(*), coalesce(max(mode), 0) INTO shares, kind FROM stanchion.lock_shares WHERE key = p_key;
  DELETE FROM stanchion.lock_waiters WHERE key = p_key AND seen <= t;
  FOR w IN SELECT * FROM stanchion.lock_waiters WHERE key = p_key ORDER BY ticket LOOP
    IF queued > 0 OR taken OR NOT (CASE w.mode WHEN 1 THEN shares = 0 WHEN 2 THEN shares = 0 OR kind = 2
        ELSE shares = 0 OR (kind = 3 AND shares < w.slots) END) THEN
      queued := queued + 1;
      IF v_told THEN
        PERFORM pg_notify('stanchion.wake', 's' || right(w.owner, 16));
        v_told := false;
      END IF;
      CONTINUE;
    END IF;
    DELETE FROM stanchion.lock_waiters WHERE key = p_key AND ticket = w.ticket;
    IF w.owner = p_me THEN
      mine := true;
      IF w.mode = 1 THEN taken := true; ELSE shares := shares + 1; kind := w.mode; END IF;
      CONTINUE;
    END IF;
    IF w.mode = 1 THEN
      taken := true;
      r.owner := w.owner; r.reserved := true; r.identity := w.identity; r.since := t; r.until := t + interval '500 milliseconds';
    ELSE
      INSERT INTO stanchion.lock_shares (key, owner, mode, slots, reserved, identity, since, until)
        VALUES (p_key, w.owner, w.mode, w.slots, true, w.identity, t, t + interval '500 milliseconds')
        ON CONFLICT (key, owner) DO NOTHING;
      shares := shares + 1;
      kind := w.mode;
    END IF;
    PERFORM pg_notify('stanchion.wake', 'r' || right(w.owner, 16));
    v_told := true;
  END LOOP;
  UPDATE stanchion.locks SET owner = r.owner, reserved = r.reserved, identity = r.identity, since = r.since,
    until = r.until, sharing = shares, waiting = queued WHERE key = p_key;
END $$;

-- One text is cheaper than a row of columns, which the client's unnamed statement would have to plan every time:
--   g FENCE    granted
--   l          call lift() and come again
--   s SLOTS    the holders ask for another number of slots
--   c ...      contended: fields separated by chr(31), in the order of the last statement below
CREATE OR REPLACE FUNCTION stanchion.lock_acquire(
  p_key text, p_owner text, p_mode int, p_slots int, p_ttl bigint, p_wait boolean, p_identity text, p_floor bigint,
  p_async boolean, p_called boolean) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t timestamptz := clock_timestamp();
  v_until timestamptz := t + p_ttl * interval '1 millisecond';
  r stanchion.locks;
  s record;
  v_fence bigint;
  v_slots int;
  v_place int;
  v_set text;
BEGIN
  -- An assignment of a plain call is evaluated without a query, which PERFORM is not.
  IF p_async THEN v_set := set_config('synchronous_commit', 'off', true); END IF;
  IF p_floor > 0 THEN
    IF p_floor >= (SELECT last_value FROM stanchion.fence) THEN RETURN 'l'; END IF;
  END IF;
  IF p_mode = 1 AND p_called THEN
    -- The usual end of a wait: the lock is reserved for us.
    UPDATE stanchion.locks l SET reserved = false, fence = nextval('stanchion.fence'), since = t, until = v_until
      WHERE l.key = p_key AND l.owner = p_owner AND l.reserved AND l.until > t AND EXISTS (SELECT FROM stanchion.unbroken)
      RETURNING l.fence INTO v_fence;
    IF FOUND THEN RETURN 'g ' || v_fence; END IF;
  ELSIF p_mode = 1 THEN
    -- nextval here is drawn again if another transaction changed the row first, so numbers follow the row's order.
    UPDATE stanchion.locks l SET owner = p_owner, reserved = false, fence = nextval('stanchion.fence'),
        identity = p_identity, since = t, until = v_until
      WHERE l.key = p_key AND l.until <= t AND l.sharing = 0 AND l.waiting = 0 AND EXISTS (SELECT FROM stanchion.unbroken)
      RETURNING l.fence INTO v_fence;
    IF FOUND THEN RETURN 'g ' || v_fence; END IF;
  END IF;
  IF NOT EXISTS (SELECT FROM stanchion.unbroken) THEN RETURN 'l'; END IF;
  LOOP
    SELECT * INTO r FROM stanchion.locks l WHERE l.key = p_key FOR UPDATE;
    EXIT WHEN FOUND;
    IF p_mode = 1 THEN
      INSERT INTO stanchion.locks AS l (key, owner, fence, identity, since, until)
        VALUES (p_key, p_owner, nextval('stanchion.fence'), p_identity, t, v_until)
        ON CONFLICT (key) DO NOTHING RETURNING l.fence INTO v_fence;
      IF FOUND THEN RETURN 'g ' || v_fence; END IF;
    ELSE
      INSERT INTO stanchion.locks (key) VALUES (p_key) ON CONFLICT (key) DO NOTHING;
    END IF;
  END LOOP;
  t := clock_timestamp();
  v_until := t + p_ttl * interval '1 millisecond';

  -- Ours already: a reservation becomes a grant; a repeated attempt gets the same number and a full ttl.
  IF p_mode = 1 AND r.owner = p_owner AND r.until > t THEN
    UPDATE stanchion.locks l SET reserved = false, until = v_until,
        since = CASE WHEN r.reserved THEN t ELSE l.since END,
        fence = CASE WHEN r.reserved THEN nextval('stanchion.fence') ELSE l.fence END
      WHERE l.key = p_key RETURNING l.fence INTO v_fence;
    RETURN 'g ' || v_fence;
  ELSIF p_mode <> 1 AND r.sharing > 0 THEN
    UPDATE stanchion.lock_shares h SET reserved = false, until = v_until,
        since = CASE WHEN h.reserved THEN t ELSE h.since END,
        fence = CASE WHEN h.reserved THEN nextval('stanchion.fence') ELSE h.fence END
      WHERE h.key = p_key AND h.owner = p_owner AND h.until > t RETURNING h.fence INTO v_fence;
    IF FOUND THEN RETURN 'g ' || v_fence; END IF;
    SELECT h.slots INTO v_slots FROM stanchion.lock_shares h
      WHERE p_mode = 3 AND h.key = p_key AND h.mode = 3 AND h.slots <> p_slots AND h.until > t LIMIT 1;
    IF FOUND THEN RETURN 's ' || v_slots; END IF;
  END IF;

  IF r.until > t OR (r.waiting = 0 AND r.sharing = 0) THEN
    -- Taken, or nobody to serve: the common refusal costs no look into the queue.
    SELECT false AS mine, r.until > t AS taken, 0 AS shares, 0 AS kind, r.waiting AS queued INTO s;
  ELSE
    SELECT * INTO s FROM stanchion.lock_serve(p_key, p_owner, false);
  END IF;
  IF s.mine OR (s.queued = 0 AND NOT s.taken AND CASE p_mode WHEN 1 THEN s.shares = 0 WHEN 2 THEN s.shares = 0 OR s.kind = 2
      ELSE s.shares = 0 OR (s.kind = 3 AND s.shares < p_slots) END) THEN
    IF p_mode = 1 THEN
      UPDATE stanchion.locks l SET owner = p_owner, reserved = false, fence = nextval('stanchion.fence'),
          identity = p_identity, since = t, until = v_until
        WHERE l.key = p_key RETURNING l.fence INTO v_fence;
    ELSE
      v_fence := nextval('stanchion.fence');
      INSERT INTO stanchion.lock_shares AS h (key, owner, mode, slots, reserved, fence, identity, since, until)
        VALUES (p_key, p_owner, p_mode, p_slots, false, v_fence, p_identity, t, v_until);
      UPDATE stanchion.locks l SET sharing = s.shares + CASE WHEN s.mine THEN 0 ELSE 1 END, since = t WHERE l.key = p_key;
    END IF;
    RETURN 'g ' || v_fence;
  END IF;

  IF p_wait THEN
    UPDATE stanchion.lock_waiters q SET seen = t + interval '15 seconds' WHERE q.key = p_key AND q.owner = p_owner;
    IF FOUND THEN
      SELECT count(*) INTO v_place FROM stanchion.lock_waiters q WHERE q.key = p_key
        AND q.ticket < (SELECT m.ticket FROM stanchion.lock_waiters m WHERE m.key = p_key AND m.owner = p_owner);
    ELSE
      INSERT INTO stanchion.lock_waiters (key, ticket, owner, mode, slots, identity, since, seen)
        VALUES (p_key, nextval('stanchion.ticket'), p_owner, p_mode, p_slots, p_identity, t, t + interval '15 seconds');
      UPDATE stanchion.locks l SET waiting = l.waiting + 1 WHERE l.key = p_key;
      v_place := s.queued;
    END IF;
  END IF;
  -- Those behind look a little later than those before them, so an expiry is not a stampede.
  v_place := least(coalesce(v_place, 0) * 20, 1000) + 2;
  IF r.until > t THEN
    SELECT r.identity, right(r.owner, 16) AS lease, 1 AS mode, 0 AS slots, r.fence, r.since, r.until INTO s;
  ELSE
    SELECT h.identity, right(h.owner, 16) AS lease, h.mode, h.slots, h.fence, h.since, h.until INTO s FROM (
        SELECT l.identity, l.owner, 1 AS mode, 0 AS slots, l.fence, l.since, l.until FROM stanchion.locks l
          WHERE l.key = p_key AND l.until > t
        UNION ALL
        SELECT identity, owner, mode, slots, fence, since, until FROM stanchion.lock_shares WHERE key = p_key AND until > t
      ) h ORDER BY h.until LIMIT 1;
  END IF;
  IF s.until IS NULL THEN RETURN 'c ' || v_place; END IF;
  RETURN 'c ' || concat_ws(chr(31), v_place + (extract(epoch FROM s.until - t) * 1000)::bigint, s.mode, s.slots, s.fence, s.lease,
    (extract(epoch FROM t - s.since) * 1000)::bigint, (extract(epoch FROM s.until - t) * 1000)::bigint, s.identity);
END $$;

CREATE OR REPLACE FUNCTION stanchion.lock_renew(p_key text, p_owner text, p_mode int, p_ttl bigint, p_async boolean)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  t timestamptz := clock_timestamp();
  v_set text;
BEGIN
  IF p_async THEN v_set := set_config('synchronous_commit', 'off', true); END IF;
  IF p_mode = 1 THEN
    UPDATE stanchion.locks SET until = t + p_ttl * interval '1 millisecond'
      WHERE key = p_key AND owner = p_owner AND NOT reserved AND until > t;
  ELSE
    UPDATE stanchion.lock_shares SET until = t + p_ttl * interval '1 millisecond'
      WHERE key = p_key AND owner = p_owner AND NOT reserved AND until > t;
  END IF;
  RETURN FOUND;
END $$;

-- Whether it was held until now.
CREATE OR REPLACE FUNCTION stanchion.lock_release(p_key text, p_owner text, p_mode int, p_async boolean)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  t timestamptz := clock_timestamp();
  r stanchion.locks;
  w stanchion.lock_waiters;
  v_next text;
  v_held boolean;
  v_set text;
BEGIN
  IF p_async THEN v_set := set_config('synchronous_commit', 'off', true); END IF;
  IF p_mode = 1 THEN
    UPDATE stanchion.locks SET owner = NULL, until = '-infinity'
      WHERE key = p_key AND owner = p_owner AND NOT reserved AND until > t AND waiting = 0;
    IF FOUND THEN RETURN true; END IF;
  END IF;
  SELECT * INTO r FROM stanchion.locks WHERE key = p_key FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  IF p_mode = 1 THEN
    IF r.owner IS DISTINCT FROM p_owner OR r.reserved THEN RETURN false; END IF;
    t := clock_timestamp();
    v_held := r.until > t;
    -- From one exclusive holder to the next, both alive: what lock_serve does, in fewer steps.
    SELECT * INTO w FROM stanchion.lock_waiters WHERE key = p_key ORDER BY ticket LIMIT 1;
    IF FOUND AND w.mode = 1 AND w.seen > t AND r.sharing = 0 THEN
      DELETE FROM stanchion.lock_waiters WHERE key = p_key AND ticket = w.ticket RETURNING
        (SELECT q.owner FROM stanchion.lock_waiters q WHERE q.key = p_key AND q.ticket > w.ticket ORDER BY q.ticket LIMIT 1)
        INTO v_next;
      UPDATE stanchion.locks SET owner = w.owner, reserved = true, identity = w.identity, since = t,
        until = t + interval '500 milliseconds', waiting = r.waiting - 1 WHERE key = p_key;
      PERFORM pg_notify('stanchion.wake', 'r' || right(w.owner, 16));
      IF v_next IS NOT NULL THEN PERFORM pg_notify('stanchion.wake', 's' || right(v_next, 16)); END IF;
      RETURN v_held;
    END IF;
  ELSE
    DELETE FROM stanchion.lock_shares WHERE key = p_key AND owner = p_owner AND NOT reserved
      RETURNING until > clock_timestamp() INTO v_held;
    IF NOT FOUND THEN RETURN false; END IF;
  END IF;
  PERFORM stanchion.lock_serve(p_key, NULL, p_mode = 1);
  RETURN v_held;
END $$;

-- Leaves the queue; a reservation goes to the next in line.
CREATE OR REPLACE FUNCTION stanchion.lock_withdraw(p_key text, p_owner text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  r stanchion.locks;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT * INTO r FROM stanchion.locks WHERE key = p_key FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  DELETE FROM stanchion.lock_waiters WHERE key = p_key AND owner = p_owner;
  DELETE FROM stanchion.lock_shares WHERE key = p_key AND owner = p_owner AND reserved;
  PERFORM stanchion.lock_serve(p_key, NULL, r.reserved AND r.owner = p_owner);
END $$;

CREATE OR REPLACE FUNCTION stanchion.lock_evict(p_key text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  t timestamptz;
  r stanchion.locks;
  v_held boolean;
BEGIN
  SELECT * INTO r FROM stanchion.locks WHERE key = p_key FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  t := clock_timestamp();
  v_held := (r.until > t AND NOT r.reserved)
    OR EXISTS (SELECT FROM stanchion.lock_shares WHERE key = p_key AND until > t AND NOT reserved);
  -- Who has been called, and not yet come, keeps its turn.
  DELETE FROM stanchion.lock_shares WHERE key = p_key AND NOT reserved;
  PERFORM stanchion.lock_serve(p_key, NULL, NOT r.reserved);
  RETURN v_held;
END $$;

-- Holders and waiters of the first p_limit busy keys in the range, in order; `waiting` tells them apart.
CREATE OR REPLACE FUNCTION stanchion.lock_list(p_prefix text, p_upper text, p_after text, p_limit bigint)
RETURNS TABLE (key text, waiting boolean, identity text, lease text, mode int, slots int, fence bigint,
  held_ms bigint, left_ms bigint)
LANGUAGE sql AS $$
  WITH now AS MATERIALIZED (SELECT clock_timestamp() AS t),
  people AS (
    SELECT l.key, false AS waiting, 0::bigint AS place, l.identity, l.owner, 1 AS mode, 0 AS slots, l.fence, l.since, l.until
      FROM stanchion.locks l, now WHERE l.until > t AND NOT l.reserved
        AND l.key >= p_prefix AND (p_upper IS NULL OR l.key < p_upper) AND (p_after IS NULL OR l.key > p_after)
    UNION ALL
    SELECT h.key, false, h.fence, h.identity, h.owner, h.mode, h.slots, h.fence, h.since, h.until
      FROM stanchion.lock_shares h, now WHERE h.until > t AND NOT h.reserved
        AND h.key >= p_prefix AND (p_upper IS NULL OR h.key < p_upper) AND (p_after IS NULL OR h.key > p_after)
    UNION ALL
    SELECT q.key, true, q.ticket, q.identity, q.owner, q.mode, q.slots, 0, q.since, q.seen
      FROM stanchion.lock_waiters q, now WHERE q.seen > t
        AND q.key >= p_prefix AND (p_upper IS NULL OR q.key < p_upper) AND (p_after IS NULL OR q.key > p_after)
  ),
  page AS (SELECT DISTINCT p.key FROM people p ORDER BY p.key LIMIT p_limit)
  SELECT p.key, p.waiting, p.identity, right(p.owner, 16), p.mode, p.slots, p.fence,
    (extract(epoch FROM t - p.since) * 1000)::bigint, (extract(epoch FROM p.until - t) * 1000)::bigint
  FROM people p JOIN page USING (key), now
  ORDER BY p.key, p.waiting, p.place
$$;
