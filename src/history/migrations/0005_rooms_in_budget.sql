-- The history of an application's rooms, which is in a space of its own, counts within the application's bytes.

-- As `history_cuts`, over the streams of both.
CREATE FUNCTION history_cuts_2(large_app TEXT, rooms TEXT, extra BIGINT) RETURNS TABLE (id BIGINT, last BIGINT) LANGUAGE sql STABLE AS $$
  WITH largest AS (
    SELECT s.id, s.low, s.top, s.bytes FROM history_streams s WHERE s.app IN (large_app, rooms) AND s.low <= s.top ORDER BY s.bytes DESC LIMIT 200
  ), summed AS (
    SELECT l.*, sum(l.bytes) OVER w AS total, row_number() OVER w AS nr FROM largest l WINDOW w AS (ORDER BY l.bytes DESC, l.id)
  ), level AS (
    SELECT greatest(max((s.total - extra) / s.nr), CASE WHEN count(*) = 200 THEN min(s.bytes) ELSE 0 END) AS bytes FROM summed s
  )
  SELECT s.id, s.low + greatest(ceil((s.bytes - level.bytes) * (s.top - s.low + 1) / greatest(s.bytes, 1))::BIGINT, 1) - 1
    FROM summed s, level WHERE s.bytes >= level.bytes ORDER BY s.bytes DESC
$$;

-- As `history_trim`; `large_rooms` has the space of the rooms of each application in `large`.
CREATE FUNCTION history_trim_2(lock_space INT, skew BIGINT, max_rows BIGINT, large TEXT[], large_rooms TEXT[], excess BIGINT[])
RETURNS TEXT LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  now_ms BIGINT := history_now(skew);
  done BIGINT := 0;
  raised BIGINT;
  trimmed BIGINT[] := '{}';
  one RECORD;
BEGIN
  IF NOT pg_try_advisory_xact_lock(lock_space, 1) THEN RETURN NULL; END IF;
  -- Losing a slice in a crash costs nothing: it is done again.
  PERFORM set_config('synchronous_commit', 'off', true);
  FOR one IN
    (SELECT id, top - keep_messages AS last FROM history_streams WHERE is_overfull ORDER BY top - low - keep_messages DESC LIMIT 100)
    UNION ALL
    (SELECT s.id, history_first(s, now_ms) - 1 FROM history_streams s WHERE s.expires <= now_ms ORDER BY s.expires LIMIT 100)
    UNION ALL
    -- The oldest messages of the largest channel go first, until it is as large as the next ones.
    (SELECT cut.id, cut.last FROM unnest(large, large_rooms, excess) AS n (app, rooms, extra)
      CROSS JOIN LATERAL history_cuts_2(n.app, n.rooms, n.extra) AS cut)
  LOOP
    EXIT WHEN done >= max_rows;
    raised := history_raise_low(one.id, one.last, max_rows - done, done = 0 AND cardinality(trimmed) = 0);
    done := done + raised;
    -- Also one that had nothing: its lock is held.
    trimmed := trimmed || one.id;
  END LOOP;
  RETURN array_to_string(trimmed, ',');
END $$;
