-- Ids of messages outlive the removal of a history: a retry must not bring back a message that was deleted. `ids_of` is the stream under
-- which the ids of a channel are stored, NULL if it is the stream itself; `epoch` is that of the message, NULL in rows of earlier versions.
ALTER TABLE history_streams ADD COLUMN ids_of BIGINT;
ALTER TABLE history_ids ADD COLUMN epoch TEXT;

-- As `history_append`, with ids that outlive a removal: for a message whose id was used before, also the epoch of the first one. A clock
-- that was set back does not make the ids of the last minutes new: their time goes on from the newest one. `ahead_ms`: one that is further
-- ahead does not count, because all ids would be remembered for as long as that.
CREATE FUNCTION history_append_2(
  writer TEXT, expected BIGINT, batch_check TEXT, skew BIGINT, id_ms BIGINT, ahead_ms BIGINT,
  apps TEXT[], channels TEXT[], keeps BIGINT[], keeps_ms BIGINT[],
  places BIGINT[], senders TEXT[], connections TEXT[], mids TEXT[], scopes TEXT[], metadatas TEXT[], datas TEXT[], sizes BIGINT[]
) RETURNS TEXT LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  now_ms BIGINT;
  id_now BIGINT;
  answer TEXT;
  locked BIGINT;
BEGIN
  PERFORM 1 FROM history_writers w WHERE w.id = writer AND w.generation = expected FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  SELECT count(*) INTO locked FROM (
    SELECT 1 FROM history_streams s
      JOIN unnest(apps, channels) AS n (app, channel) ON s.app = n.app AND s.channel = n.channel
      ORDER BY s.app, s.channel FOR UPDATE OF s) AS rows;
  IF locked < cardinality(apps) THEN RETURN ''; END IF;
  now_ms := history_now(skew);
  id_now := now_ms;
  IF cardinality(array_remove(mids, NULL)) > 0 THEN
    SELECT greatest(now_ms, max(d.time)) INTO id_now FROM history_ids d WHERE d.time <= now_ms + ahead_ms;
  END IF;
  WITH streams AS MATERIALIZED (
    SELECT s.id, coalesce(s.ids_of, s.id) AS ids_of, s.epoch, s.top, s.last_time, n.keep, n.keep_ms, n.place
      FROM unnest(apps, channels, keeps, keeps_ms) WITH ORDINALITY AS n (app, channel, keep, keep_ms, place)
      JOIN history_streams s ON s.app = n.app AND s.channel = n.channel
  ), given AS MATERIALIZED (
    SELECT s.id AS stream, s.ids_of, s.epoch, s.top, greatest(s.last_time, now_ms) AS new_time, m.*,
        d.off AS old_off, d.batch AS old_batch, d.time AS old_time,
        -- Without an epoch: an earlier version has stored it. If the history was removed since, its position is nowhere.
        coalesce(d.epoch, CASE WHEN s.ids_of = s.id THEN s.epoch ELSE '0' END) AS old_epoch
      FROM unnest(places, senders, connections, mids, scopes, metadatas, datas, sizes)
        WITH ORDINALITY AS m (place, sender, connection, mid, scope, metadata, data, size, nr)
      JOIN streams s ON s.place = m.place
      LEFT JOIN history_ids d ON m.mid IS NOT NULL
        AND d.stream = s.ids_of AND d.scope = m.scope AND d.mid = m.mid AND abs(id_now - d.time) < id_ms
  ), fresh AS MATERIALIZED (
    SELECT *, top + row_number() OVER (PARTITION BY stream ORDER BY nr) AS off FROM given WHERE old_off IS NULL
  ), stored AS (
    INSERT INTO history_messages (stream, off, time, size, batch, sender, connection, mid, metadata, data)
      SELECT stream, off, new_time, size, batch_check, sender, connection, mid, metadata, data FROM fresh
  ), remembered AS (
    INSERT INTO history_ids (stream, scope, mid, off, batch, time, epoch)
      -- Not the message's time: a clock that was ahead by a day and was set back must not make an id last.
      SELECT ids_of, scope, mid, off, batch_check, id_now, epoch FROM fresh WHERE mid IS NOT NULL
    ON CONFLICT (stream, scope, mid) DO UPDATE SET off = excluded.off, batch = excluded.batch, time = excluded.time, epoch = excluded.epoch
  ), raised AS (
    UPDATE history_streams s SET
        top = f.top, top_check = batch_check, last_time = f.time, bytes = s.bytes + f.bytes,
        keep_messages = n.keep, keep_ms = n.keep_ms,
        low_time = CASE WHEN s.low > s.top THEN f.time ELSE s.low_time END,
        expires = CASE WHEN s.low > s.top THEN f.time ELSE s.low_time END + n.keep_ms,
        is_overfull = f.top - s.low + 1 > n.keep,
        changed = history_second(now_ms), used = history_second(now_ms)
      FROM (SELECT stream, max(off) AS top, max(new_time) AS time, sum(size) AS bytes FROM fresh GROUP BY stream) f
      JOIN streams n ON n.id = f.stream
      WHERE s.id = f.stream
  )
  SELECT json_build_object(
    'streams', (SELECT json_agg(json_build_array(epoch, top, greatest(last_time, now_ms)) ORDER BY place) FROM streams),
    'old', (SELECT json_agg(json_build_array(nr, old_off, old_batch, old_time, old_epoch)) FROM given WHERE old_off IS NOT NULL)
  )::TEXT INTO answer;
  UPDATE history_writers w SET batch = batch_check, result = answer, used = now_ms WHERE w.id = writer;
  RETURN answer;
END $$;

-- As `history_remove`: the new stream knows the ids of the one before.
CREATE FUNCTION history_remove_2(stream_app TEXT, stream_channel TEXT, skew BIGINT) RETURNS BOOLEAN LANGUAGE plpgsql VOLATILE AS $$
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
  INSERT INTO history_streams (app, channel, epoch, keep_messages, keep_ms, changed, used, ids_of)
    VALUES (s.app, s.channel, history_epoch(), s.keep_messages, s.keep_ms, history_second(history_now(skew)), history_second(history_now(skew)),
      coalesce(s.ids_of, s.id))
    ON CONFLICT (app, channel) DO NOTHING;
  RETURN true;
END $$;
