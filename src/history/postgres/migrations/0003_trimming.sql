-- Trimming is in two transactions. The first raises `low` of some streams, which is short and the only part that a publish may have
-- to wait for; the second deletes what lies below, which is no longer visible and belongs to no other transaction.

-- Takes the oldest messages of a stream out of it, up to an offset, but at most `max_rows`; returns how many. `waits`: otherwise a
-- stream that is being appended to is skipped. A transaction may wait for its first stream only, so that it never blocks another.
CREATE FUNCTION history_raise_low(trimmed BIGINT, last BIGINT, max_rows BIGINT, waits BOOLEAN) RETURNS BIGINT LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  s history_streams;
  following history_messages;
  final BIGINT;
  freed BIGINT;
BEGIN
  IF waits THEN
    SELECT * INTO s FROM history_streams WHERE id = trimmed FOR UPDATE;
  ELSE
    SELECT * INTO s FROM history_streams WHERE id = trimmed FOR UPDATE SKIP LOCKED;
  END IF;
  IF s.id IS NULL OR last < s.low THEN RETURN 0; END IF;
  final := least(last, s.top, s.low + max_rows - 1);
  SELECT * INTO following FROM history_messages m WHERE m.stream = s.id AND m.off = final + 1;
  SELECT coalesce(sum(size), 0) INTO freed FROM history_messages m WHERE m.stream = s.id AND m.off BETWEEN s.low AND final;
  UPDATE history_streams SET low = final + 1, low_check = coalesce(history_check(s, final), low_check), bytes = bytes - freed,
      low_time = coalesce(following.time, 0), expires = following.time + keep_ms, is_overfull = top - final > keep_messages
    WHERE id = s.id;
  RETURN final - s.low + 1;
END $$;

-- Which streams of an application lose messages, and up to which offset, so that together they lose `extra` bytes: each that is larger
-- than a common level comes down to it, and loses at least one message.
CREATE FUNCTION history_cuts(large_app TEXT, extra BIGINT) RETURNS TABLE (id BIGINT, last BIGINT) LANGUAGE sql STABLE AS $$
  WITH largest AS (
    SELECT s.id, s.low, s.top, s.bytes FROM history_streams s WHERE s.app = large_app AND s.low <= s.top ORDER BY s.bytes DESC LIMIT 200
  ), summed AS (
    SELECT l.*, sum(l.bytes) OVER w AS total, row_number() OVER w AS nr FROM largest l WINDOW w AS (ORDER BY l.bytes DESC, l.id)
  ), level AS (
    SELECT greatest(max((s.total - extra) / s.nr), CASE WHEN count(*) = 200 THEN min(s.bytes) ELSE 0 END) AS bytes FROM summed s
  )
  SELECT s.id, s.low + greatest(ceil((s.bytes - level.bytes) * (s.top - s.low + 1) / greatest(s.bytes, 1))::BIGINT, 1) - 1
    FROM summed s, level WHERE s.bytes >= level.bytes ORDER BY s.bytes DESC
$$;

-- The first transaction of a slice, by one node at a time. Returns the streams that it has trimmed, separated by commas; NULL if
-- another node is trimming. `large` are applications with more bytes than they may have, and `excess` by how much.
CREATE FUNCTION history_trim(lock_space INT, skew BIGINT, max_rows BIGINT, large TEXT[], excess BIGINT[])
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
    (SELECT cut.id, cut.last FROM unnest(large, excess) AS n (app, extra) CROSS JOIN LATERAL history_cuts(n.app, n.extra) AS cut)
  LOOP
    EXIT WHEN done >= max_rows;
    raised := history_raise_low(one.id, one.last, max_rows - done, done = 0 AND cardinality(trimmed) = 0);
    done := done + raised;
    -- Also one that had nothing: its lock is held.
    trimmed := trimmed || one.id;
  END LOOP;
  RETURN array_to_string(trimmed, ',');
END $$;

-- The second transaction of a slice: deletes what is below `low`, messages of removed streams, old ids, and streams that nothing
-- uses. It skips whatever is locked. `crowded` are applications with `surplus` streams too many: those
-- without messages go first, because a client that may only subscribe can make such streams. Returns how many rows it deleted.
CREATE FUNCTION history_sweep(
  lock_space INT, skew BIGINT, id_ms BIGINT, max_rows BIGINT, empty_ms BIGINT, expired_ms BIGINT,
  trimmed BIGINT[], crowded TEXT[], surplus BIGINT[]
) RETURNS BIGINT LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  now_ms BIGINT := history_now(skew);
  done BIGINT;
  forgotten BIGINT[];
  one RECORD;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  WITH deleted AS (
    DELETE FROM history_messages m USING history_streams s
      WHERE s.id = ANY (trimmed) AND m.stream = s.id AND m.off < s.low RETURNING 1)
  SELECT count(*) INTO done FROM deleted;
  IF NOT pg_try_advisory_xact_lock(lock_space, 1) THEN RETURN done; END IF;
  FOR one IN SELECT stream FROM history_gone LIMIT 100 LOOP
    EXIT WHEN done >= max_rows;
    WITH slice AS (SELECT off FROM history_messages m WHERE m.stream = one.stream ORDER BY off LIMIT max_rows - done),
      deleted AS (DELETE FROM history_messages m USING slice WHERE m.stream = one.stream AND m.off = slice.off RETURNING 1)
    SELECT done + count(*) INTO done FROM deleted;
    DELETE FROM history_gone WHERE stream = one.stream AND done < max_rows;
  END LOOP;
  WITH slice AS (SELECT stream, scope, mid FROM history_ids WHERE time <= now_ms - id_ms ORDER BY time LIMIT max_rows FOR UPDATE SKIP LOCKED),
    deleted AS (DELETE FROM history_ids i USING slice WHERE i.stream = slice.stream AND i.scope = slice.scope AND i.mid = slice.mid RETURNING 1)
  SELECT done + count(*) INTO done FROM deleted;
  SELECT array_agg(id) INTO forgotten FROM (
    SELECT id FROM history_streams
      WHERE expires IS NULL AND used <= now_ms - empty_ms AND (top = 0 OR used <= now_ms - expired_ms)
      ORDER BY used LIMIT max_rows FOR UPDATE SKIP LOCKED) AS unused;
  done := done + history_forget(forgotten);
  SELECT array_agg(s.id) INTO forgotten FROM unnest(crowded, surplus) AS n (app, extra)
    CROSS JOIN LATERAL (SELECT c.id FROM history_streams c WHERE c.app = n.app
      ORDER BY c.expires IS NOT NULL, c.used LIMIT least(n.extra, max_rows) FOR UPDATE SKIP LOCKED) AS s;
  done := done + history_forget(forgotten);
  DELETE FROM history_writers WHERE id IN (
    SELECT w.id FROM history_writers w WHERE w.used < now_ms - expired_ms LIMIT 100 FOR UPDATE SKIP LOCKED);
  RETURN done;
END $$;

-- Removes streams at once; their messages are deleted later. Locked in the order of their names, as `append` does.
CREATE FUNCTION history_forget(forgotten BIGINT[]) RETURNS BIGINT LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  removed BIGINT;
BEGIN
  PERFORM 1 FROM history_streams s WHERE s.id = ANY (forgotten) ORDER BY s.app, s.channel FOR UPDATE OF s;
  WITH deleted AS (DELETE FROM history_streams s WHERE s.id = ANY (forgotten) RETURNING s.id),
    noted AS (INSERT INTO history_gone (stream) SELECT id FROM deleted ON CONFLICT DO NOTHING)
  SELECT count(*) INTO removed FROM deleted;
  RETURN removed;
END $$;

-- The new stream begins at once, so that `tops` shows its epoch to those who watch the channel.
CREATE FUNCTION history_remove(stream_app TEXT, stream_channel TEXT, skew BIGINT) RETURNS BOOLEAN LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  s history_streams;
BEGIN
  SELECT * INTO s FROM history_streams WHERE app = stream_app AND channel = stream_channel FOR UPDATE;
  -- The same call of another node, which this has waited for, leaves a new stream.
  IF NOT FOUND THEN
    SELECT * INTO s FROM history_streams WHERE app = stream_app AND channel = stream_channel FOR UPDATE;
  END IF;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM history_forget(ARRAY[s.id]);
  INSERT INTO history_streams (app, channel, epoch, keep_messages, keep_ms, changed, used)
    VALUES (s.app, s.channel, history_epoch(), s.keep_messages, s.keep_ms, history_second(history_now(skew)), history_second(history_now(skew)))
    ON CONFLICT (app, channel) DO NOTHING;
  RETURN true;
END $$;

-- What streams keep after a change of rules.
CREATE FUNCTION history_keep(kept BIGINT[], keeps BIGINT[], keeps_ms BIGINT[]) RETURNS VOID LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM 1 FROM history_streams s WHERE s.id = ANY (kept) ORDER BY s.app, s.channel FOR UPDATE OF s;
  UPDATE history_streams s SET keep_messages = n.keep, keep_ms = n.keep_ms,
      expires = CASE WHEN s.low > s.top THEN NULL ELSE s.low_time + n.keep_ms END, is_overfull = s.top - s.low + 1 > n.keep
    FROM unnest(kept, keeps, keeps_ms) AS n (id, keep, keep_ms)
    WHERE s.id = n.id AND (s.keep_messages <> n.keep OR s.keep_ms <> n.keep_ms);
END $$;
