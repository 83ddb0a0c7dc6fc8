-- Deletes the oldest messages of a stream up to an offset, but at most `max_rows`. A stream that is being appended to is skipped:
-- trimming never waits for a publish. Returns how many were deleted.
CREATE FUNCTION history_delete_oldest(trimmed BIGINT, last BIGINT, max_rows BIGINT) RETURNS BIGINT LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  s history_streams;
  following history_messages;
  final BIGINT;
  freed BIGINT;
BEGIN
  SELECT * INTO s FROM history_streams WHERE id = trimmed FOR UPDATE SKIP LOCKED;
  IF NOT FOUND OR last < s.low THEN RETURN 0; END IF;
  final := least(last, s.top, s.low + max_rows - 1);
  SELECT * INTO following FROM history_messages m WHERE m.stream = s.id AND m.off = final + 1;
  SELECT coalesce(sum(size), 0) INTO freed FROM history_messages m WHERE m.stream = s.id AND m.off <= final;
  UPDATE history_streams SET low = final + 1, low_check = coalesce(history_check(s, final), low_check), bytes = bytes - freed,
      low_time = coalesce(following.time, 0), expires = following.time + keep_ms
    WHERE id = s.id;
  DELETE FROM history_messages m WHERE m.stream = s.id AND m.off <= final;
  RETURN final - s.low + 1;
END $$;

-- One slice of trimming, by one node at a time: -1 if another node has the lock. Returns how many rows were deleted.
-- `large` are applications with more bytes than they may have, and `excess` by how much; `crowded` have `surplus` streams too many.
CREATE FUNCTION history_trim(
  lock_space INT, skew BIGINT, id_ms BIGINT, max_rows BIGINT, empty_ms BIGINT, expired_ms BIGINT,
  large TEXT[], excess BIGINT[], crowded TEXT[], surplus BIGINT[]
) RETURNS BIGINT LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  now_ms BIGINT := history_now(skew);
  done BIGINT := 0;
  forgotten BIGINT[];
  one RECORD;
BEGIN
  IF NOT pg_try_advisory_xact_lock(lock_space, 1) THEN RETURN -1; END IF;
  -- Losing a slice in a crash costs nothing: it is done again.
  PERFORM set_config('synchronous_commit', 'off', true);
  FOR one IN SELECT id, top - keep_messages AS last FROM history_streams WHERE top - low + 1 > keep_messages LIMIT 20 LOOP
    done := done + history_delete_oldest(one.id, one.last, greatest(max_rows - done, 1));
    EXIT WHEN done >= max_rows;
  END LOOP;
  FOR one IN SELECT s.id, history_first(s, now_ms) - 1 AS last FROM history_streams s WHERE s.expires <= now_ms ORDER BY s.expires LIMIT 20 LOOP
    EXIT WHEN done >= max_rows;
    done := done + history_delete_oldest(one.id, one.last, max_rows - done);
  END LOOP;
  -- The oldest messages of the largest channel go first: at the average size no more than are over the limit, and at least one.
  FOR one IN SELECT s.id, s.low + ceil(n.extra::NUMERIC * (s.top - s.low + 1) / greatest(s.bytes, 1))::BIGINT - 1 AS last
      FROM unnest(large, excess) AS n (app, extra)
      CROSS JOIN LATERAL (SELECT * FROM history_streams l WHERE l.app = n.app AND l.low <= l.top ORDER BY l.bytes DESC LIMIT 1) s
  LOOP
    EXIT WHEN done >= max_rows;
    done := done + history_delete_oldest(one.id, one.last, max_rows - done);
  END LOOP;
  FOR one IN SELECT stream FROM history_gone LIMIT 20 LOOP
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
    SELECT id FROM history_streams WHERE low > top AND used <= now_ms - empty_ms AND (top = 0 OR used <= now_ms - expired_ms)
      ORDER BY used LIMIT max_rows FOR UPDATE SKIP LOCKED) AS unused;
  done := done + history_forget(forgotten);
  SELECT array_agg(s.id) INTO forgotten FROM unnest(crowded, surplus) AS n (app, extra)
    CROSS JOIN LATERAL (SELECT c.id FROM history_streams c WHERE c.app = n.app
      ORDER BY c.used LIMIT least(n.extra, max_rows) FOR UPDATE SKIP LOCKED) AS s;
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
    VALUES (s.app, s.channel, history_epoch(), s.keep_messages, s.keep_ms, history_now(skew), history_now(skew))
    ON CONFLICT (app, channel) DO NOTHING;
  RETURN true;
END $$;

-- What streams keep after a change of rules.
CREATE FUNCTION history_keep(kept BIGINT[], keeps BIGINT[], keeps_ms BIGINT[]) RETURNS VOID LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM 1 FROM history_streams s WHERE s.id = ANY (kept) ORDER BY s.app, s.channel FOR UPDATE OF s;
  UPDATE history_streams s SET keep_messages = n.keep, keep_ms = n.keep_ms,
      expires = CASE WHEN s.low > s.top THEN NULL ELSE s.low_time + n.keep_ms END
    FROM unnest(kept, keeps, keeps_ms) AS n (id, keep, keep_ms)
    WHERE s.id = n.id AND (s.keep_messages <> n.keep OR s.keep_ms <> n.keep_ms);
END $$;
