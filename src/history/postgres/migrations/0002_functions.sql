-- Each statement of a VOLATILE function sees what was committed before that statement. That is why `append` is a function: what it
-- finds after it has locked its streams includes the ids that other nodes have stored meanwhile. A STABLE function sees one moment.

CREATE FUNCTION history_now(skew BIGINT) RETURNS BIGINT LANGUAGE sql VOLATILE AS $$
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::BIGINT + skew
$$;

-- The end of the second, so that nothing that was changed since a time has an earlier one.
CREATE FUNCTION history_second(ms BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS $$
  SELECT (ms / 1000 + 1) * 1000
$$;

CREATE FUNCTION history_epoch() RETURNS TEXT LANGUAGE sql VOLATILE AS $$
  SELECT substr(md5(gen_random_uuid()::TEXT), 1, 14)
$$;

-- The messages must not contain an id twice in one scope of one stream. `places` has, for each message, the index of its stream.
-- Streams are locked in the order of their names, so that two batches never wait for each other.
-- Returns NULL if the generation is not the writer's, and an empty text if streams are missing: the call is to be repeated after
-- `history_begin`, in a transaction of its own because streams are created in the same order. Nothing is stored then.
-- Otherwise returns, for each stream, its epoch, its top before the batch, and the time of its new messages; and for each message
-- whose id was used before its number, offset, check and time.
CREATE FUNCTION history_append(
  writer TEXT, expected BIGINT, batch_check TEXT, skew BIGINT, id_ms BIGINT,
  apps TEXT[], channels TEXT[], keeps BIGINT[], keeps_ms BIGINT[],
  places BIGINT[], senders TEXT[], connections TEXT[], mids TEXT[], scopes TEXT[], metadatas TEXT[], datas TEXT[], sizes BIGINT[]
) RETURNS TEXT LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  now_ms BIGINT;
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
  WITH streams AS MATERIALIZED (
    SELECT s.id, s.epoch, s.top, s.last_time, n.keep, n.keep_ms, n.place
      FROM unnest(apps, channels, keeps, keeps_ms) WITH ORDINALITY AS n (app, channel, keep, keep_ms, place)
      JOIN history_streams s ON s.app = n.app AND s.channel = n.channel
  ), given AS MATERIALIZED (
    SELECT s.id AS stream, s.epoch, s.top, greatest(s.last_time, now_ms) AS new_time, m.*,
        d.off AS old_off, d.batch AS old_batch, d.time AS old_time
      FROM unnest(places, senders, connections, mids, scopes, metadatas, datas, sizes)
        WITH ORDINALITY AS m (place, sender, connection, mid, scope, metadata, data, size, nr)
      JOIN streams s ON s.place = m.place
      LEFT JOIN history_ids d ON m.mid IS NOT NULL
        AND d.stream = s.id AND d.scope = m.scope AND d.mid = m.mid AND abs(now_ms - d.time) < id_ms
  ), fresh AS MATERIALIZED (
    SELECT *, top + row_number() OVER (PARTITION BY stream ORDER BY nr) AS off FROM given WHERE old_off IS NULL
  ), stored AS (
    INSERT INTO history_messages (stream, off, time, size, batch, sender, connection, mid, metadata, data)
      SELECT stream, off, new_time, size, batch_check, sender, connection, mid, metadata, data FROM fresh
  ), remembered AS (
    INSERT INTO history_ids (stream, scope, mid, off, batch, time)
      -- Not the message's time: a clock that was ahead and was set back must not make an id last.
      SELECT stream, scope, mid, off, batch_check, now_ms FROM fresh WHERE mid IS NOT NULL
    ON CONFLICT (stream, scope, mid) DO UPDATE SET off = excluded.off, batch = excluded.batch, time = excluded.time
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
    'old', (SELECT json_agg(json_build_array(nr, old_off, old_batch, old_time)) FROM given WHERE old_off IS NOT NULL)
  )::TEXT INTO answer;
  UPDATE history_writers w SET batch = batch_check, result = answer, used = now_ms WHERE w.id = writer;
  RETURN answer;
END $$;

CREATE FUNCTION history_begin(apps TEXT[], channels TEXT[], keeps BIGINT[], keeps_ms BIGINT[], skew BIGINT)
RETURNS VOID LANGUAGE sql VOLATILE AS $$
  INSERT INTO history_streams (app, channel, epoch, keep_messages, keep_ms, changed, used)
    SELECT n.app, n.channel, history_epoch(), n.keep, n.keep_ms, history_second(history_now(skew)), history_second(history_now(skew))
      FROM unnest(apps, channels, keeps, keeps_ms) AS n (app, channel, keep, keep_ms)
      WHERE NOT EXISTS (SELECT 1 FROM history_streams s WHERE s.app = n.app AND s.channel = n.channel)
      ORDER BY n.app COLLATE "C", n.channel COLLATE "C"
    ON CONFLICT (app, channel) DO NOTHING
$$;

-- The first message that a stream holds: those that are too many or too old are no longer shown, although they may be stored.
CREATE FUNCTION history_first(s history_streams, now_ms BIGINT) RETURNS BIGINT LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN s.expires IS NULL OR s.expires > now_ms THEN greatest(s.low, s.top - s.keep_messages + 1)
    ELSE coalesce(
      (SELECT m.off FROM history_messages m
        WHERE m.stream = s.id AND m.off >= greatest(s.low, s.top - s.keep_messages + 1) AND m.time > now_ms - s.keep_ms
        ORDER BY m.off LIMIT 1),
      s.top + 1)
  END
$$;

CREATE FUNCTION history_check(s history_streams, named BIGINT) RETURNS TEXT LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN named = s.top THEN s.top_check
    WHEN named = s.low - 1 THEN s.low_check
    ELSE (SELECT m.batch FROM history_messages m WHERE m.stream = s.id AND m.off = named)
  END
$$;

CREATE FUNCTION history_state(s history_streams, first BIGINT) RETURNS JSON LANGUAGE sql STABLE AS $$
  SELECT json_build_object('epoch', s.epoch, 'top', s.top, 'topCheck', s.top_check,
    'first', first, 'firstCheck', coalesce(history_check(s, first - 1), '0'))
$$;

CREATE FUNCTION history_open(
  stream_app TEXT, stream_channel TEXT, keep BIGINT, new_keep_ms BIGINT, skew BIGINT, noted_ms BIGINT
) RETURNS TEXT LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  now_ms BIGINT := history_now(skew);
  s history_streams;
BEGIN
  SELECT * INTO s FROM history_streams WHERE app = stream_app AND channel = stream_channel;
  IF NOT FOUND THEN
    INSERT INTO history_streams (app, channel, epoch, keep_messages, keep_ms, changed, used)
      VALUES (stream_app, stream_channel, history_epoch(), keep, new_keep_ms, history_second(now_ms), history_second(now_ms))
      ON CONFLICT (app, channel) DO NOTHING;
  ELSIF s.keep_messages <> keep OR s.keep_ms <> new_keep_ms OR s.used < now_ms - noted_ms THEN
    UPDATE history_streams SET keep_messages = keep, keep_ms = new_keep_ms,
        expires = CASE WHEN low > top THEN NULL ELSE low_time + new_keep_ms END,
        is_overfull = top - low + 1 > keep, used = greatest(used, history_second(now_ms))
      WHERE id = s.id;
  END IF;
  SELECT * INTO s FROM history_streams WHERE app = stream_app AND channel = stream_channel;
  RETURN history_state(s, history_first(s, now_ms))::TEXT;
END $$;

CREATE FUNCTION history_read(
  stream_app TEXT, stream_channel TEXT, skew BIGINT,
  after_off BIGINT, before_off BIGINT, since BIGINT, up_to BIGINT, max_messages BIGINT, max_bytes BIGINT
) RETURNS TEXT LANGUAGE plpgsql STABLE AS $$
DECLARE
  s history_streams;
  first BIGINT;
  low_bound BIGINT;
  high_bound BIGINT;
  named BIGINT := coalesce(after_off, before_off);
  direction INT := CASE WHEN after_off IS NULL THEN -1 ELSE 1 END;
  entries JSON;
BEGIN
  SELECT * INTO s FROM history_streams WHERE app = stream_app AND channel = stream_channel;
  IF NOT FOUND THEN RETURN NULL; END IF;
  first := history_first(s, history_now(skew));
  low_bound := greatest(first, after_off + 1);
  IF since IS NOT NULL THEN
    low_bound := coalesce(
      (SELECT m.off FROM history_messages m WHERE m.stream = s.id AND m.off >= low_bound AND m.time >= since ORDER BY m.off LIMIT 1),
      s.top + 1);
  END IF;
  high_bound := least(s.top, up_to, CASE WHEN after_off IS NULL THEN before_off - 1 END);
  IF direction = 1 THEN
    SELECT json_agg(entry ORDER BY nr) INTO entries FROM (
      SELECT json_build_array(off, batch, time, sender, metadata, data, connection, mid) AS entry,
          row_number() OVER w AS nr, sum(size) OVER w AS total
        FROM (SELECT * FROM history_messages m WHERE m.stream = s.id AND m.off BETWEEN low_bound AND high_bound
          ORDER BY m.off LIMIT max_messages) AS page
        WINDOW w AS (ORDER BY off)) AS counted
      WHERE nr = 1 OR total <= max_bytes;
  ELSE
    SELECT json_agg(entry ORDER BY nr) INTO entries FROM (
      SELECT json_build_array(off, batch, time, sender, metadata, data, connection, mid) AS entry,
          row_number() OVER w AS nr, sum(size) OVER w AS total
        FROM (SELECT * FROM history_messages m WHERE m.stream = s.id AND m.off BETWEEN low_bound AND high_bound
          ORDER BY m.off DESC LIMIT max_messages) AS page
        WINDOW w AS (ORDER BY off DESC)) AS counted
      WHERE nr = 1 OR total <= max_bytes;
  END IF;
  RETURN json_build_object(
    'state', history_state(s, first),
    'check', CASE WHEN named BETWEEN first - 1 AND s.top THEN history_check(s, named) END,
    'messages', coalesce(entries, '[]'::JSON),
    'count', high_bound - low_bound + 1)::TEXT;
END $$;
