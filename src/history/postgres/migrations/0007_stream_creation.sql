-- Creates a stream, or a fork of one: contract/created-streams.ts has what may come out instead. `fork_text` is what is asked for, as it is compared
-- with that of a stream that exists. `fork_epoch` and `fork_last` say what the caller has found it to mean, which holds as long as the source has
-- this epoch: NULL for its end, and -1 if it means nothing. The messages are those of the body, behind what a fork takes of a message.
-- Returns an empty text if another node has changed something meanwhile: the call is to be repeated.
CREATE FUNCTION history_create(
  stream_app TEXT, stream_channel TEXT, skew BIGINT, new_type TEXT, new_media TEXT, new_ttl_ms BIGINT, new_expires_at BIGINT, new_idle_ms BIGINT,
  new_closed BOOLEAN, streams_max BIGINT, stream_bytes BIGINT, app_bytes BIGINT,
  fork_text TEXT, source_channel TEXT, fork_epoch TEXT, fork_last BIGINT, fork_messages BIGINT, fork_bytes BIGINT,
  new_keep BIGINT, new_keep_ms BIGINT, new_used BIGINT,
  batch_check TEXT, senders TEXT[], connections TEXT[], mids TEXT[], scopes TEXT[], metadatas TEXT[], datas TEXT[], sizes BIGINT[]
) RETURNS TEXT LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  locked BIGINT[] := history_created_lock(ARRAY(
    SELECT s.id FROM history_streams s WHERE s.app = stream_app AND s.channel IN (stream_channel, source_channel)));
  now_ms BIGINT := history_now(skew);
  s history_streams;
  c history_created;
  source history_streams;
  origin history_created;
  state TEXT;
  held_streams BIGINT;
  held_bytes BIGINT;
  last BIGINT := 0;
  copied BIGINT := 0;
  added BIGINT := coalesce((SELECT sum(size) FROM unnest(sizes) AS size), 0);
  new_lineage TEXT := '[]';
  new_time BIGINT;
  first_time BIGINT;
BEGIN
  SELECT * INTO s FROM history_streams WHERE app = stream_app AND channel = stream_channel;
  SELECT * INTO c FROM history_created WHERE stream = s.id;
  IF NOT c.is_gone AND c.ends <= now_ms THEN
    IF s.id <> ALL (locked) THEN RETURN ''; END IF;
    PERFORM history_created_end(ARRAY[s.id], now_ms, false);
    SELECT * INTO s FROM history_streams WHERE app = stream_app AND channel = stream_channel;
    SELECT * INTO c FROM history_created WHERE stream = s.id;
  END IF;
  IF s.id IS NOT NULL THEN
    -- What a fork leaves out is as in its source, and is not compared.
    IF NOT c.is_gone AND (c.closed IS NOT NULL) = new_closed AND c.fork IS NOT DISTINCT FROM fork_text
      AND (c.media = new_media OR new_media IS NULL AND fork_text IS NOT NULL)
      AND (c.ttl_ms IS NOT DISTINCT FROM new_ttl_ms AND c.expires_at IS NOT DISTINCT FROM new_expires_at
        OR fork_text IS NOT NULL AND new_ttl_ms IS NULL AND new_expires_at IS NULL)
    THEN RETURN json_build_object('outcome', 'exists', 'stream', history_created_json(s, c))::TEXT; END IF;
    RETURN '{"outcome":"conflict"}';
  END IF;
  SELECT coalesce(sum(h.streams), 0), coalesce(sum(h.bytes), 0) INTO held_streams, held_bytes FROM history_held h WHERE h.app = stream_app;
  IF held_streams >= streams_max THEN RETURN '{"outcome":"too many streams"}'; END IF;

  IF fork_text IS NOT NULL THEN
    SELECT * INTO source FROM history_streams WHERE app = stream_app AND channel = source_channel;
    SELECT * INTO origin FROM history_created WHERE stream = source.id;
    state := history_created_state(origin, now_ms);
    IF state = 'gone' THEN RETURN '{"outcome":"source gone"}'; END IF;
    IF state = 'none' THEN RETURN '{"outcome":"no source"}'; END IF;
    IF new_media <> origin.media THEN RETURN '{"outcome":"other type"}'; END IF;
    IF source.id <> ALL (locked) OR fork_last IS NOT NULL AND source.epoch IS DISTINCT FROM fork_epoch THEN RETURN ''; END IF;
    IF fork_last = -1 THEN RETURN '{"outcome":"bad fork point"}'; END IF;
    last := coalesce(fork_last, source.top);
    IF last - source.low + 1 > fork_messages THEN RETURN '{"outcome":"fork too large"}'; END IF;
    copied := CASE WHEN last = source.top THEN source.bytes ELSE coalesce(
      (SELECT sum(m.size) FROM history_messages m WHERE m.stream = source.id AND m.off BETWEEN source.low AND last), 0) END;
    IF copied > fork_bytes THEN RETURN '{"outcome":"fork too large"}'; END IF;
    IF new_ttl_ms IS NULL AND new_expires_at IS NULL THEN
      new_ttl_ms := origin.ttl_ms;
      new_expires_at := origin.expires_at;
    END IF;
    new_type := origin.type;
    new_media := origin.media;
    SELECT json_agg(json_build_array(e.entry ->> 0, least((e.entry ->> 1)::BIGINT, last)) ORDER BY e.nr)::TEXT INTO new_lineage
      FROM json_array_elements((origin.lineage::JSONB || jsonb_build_array(jsonb_build_array(source.epoch, last)))::JSON)
        WITH ORDINALITY AS e (entry, nr);
  END IF;
  IF copied + added > stream_bytes THEN RETURN '{"outcome":"stream full"}'; END IF;
  IF held_bytes + copied + added > app_bytes THEN RETURN '{"outcome":"application full"}'; END IF;

  new_time := now_ms;
  IF last > 0 THEN
    SELECT greatest(now_ms, max(m.time)) INTO new_time FROM history_messages m WHERE m.stream = source.id AND m.off = last;
    SELECT m.time INTO first_time FROM history_messages m WHERE m.stream = source.id AND m.off = source.low AND m.off <= last;
  END IF;
  IF cardinality(datas) > 0 THEN first_time := coalesce(first_time, new_time); END IF;
  INSERT INTO history_streams (app, channel, epoch, top, top_check, low, low_check, low_time, last_time, bytes,
      keep_messages, keep_ms, expires, changed, used)
    VALUES (stream_app, stream_channel, history_epoch(), last + cardinality(datas),
      CASE WHEN cardinality(datas) > 0 THEN batch_check ELSE coalesce(history_check(source, last), '0') END,
      coalesce(source.low, 1), coalesce(source.low_check, '0'), coalesce(first_time, 0), new_time, copied + added,
      new_keep, new_keep_ms, first_time + new_keep_ms, history_second(now_ms), new_used)
    ON CONFLICT (app, channel) DO NOTHING RETURNING * INTO s;
  IF NOT FOUND THEN RETURN ''; END IF;
  INSERT INTO history_created (stream, type, media, ttl_ms, expires_at, idle_ms, made, used, ends, due, changed, closed, fork, source, lineage)
    SELECT s.id, new_type, new_media, new_ttl_ms, new_expires_at, new_idle_ms, now_ms, now_ms, n.ends, n.ends, history_second(now_ms),
        CASE WHEN new_closed THEN '' END, fork_text, source.id, new_lineage
      FROM (SELECT history_ends(now_ms, new_ttl_ms, new_idle_ms, new_expires_at) AS ends) AS n
    RETURNING * INTO c;
  INSERT INTO history_messages (stream, off, time, size, batch, sender, connection, mid, metadata, data)
    SELECT s.id, m.off, m.time, m.size, m.batch, m.sender, m.connection, m.mid, m.metadata, m.data
      FROM history_messages m WHERE m.stream = source.id AND m.off BETWEEN source.low AND last;
  INSERT INTO history_messages (stream, off, time, size, batch, sender, connection, mid, metadata, data)
    SELECT s.id, last + n.nr, new_time, n.size, batch_check, n.sender, n.connection, n.mid, n.metadata, n.data
      FROM unnest(senders, connections, mids, metadatas, datas, sizes)
        WITH ORDINALITY AS n (sender, connection, mid, metadata, data, size, nr);
  INSERT INTO history_ids (stream, scope, mid, off, batch, time, epoch)
    SELECT s.id, n.scope, n.mid, last + n.nr, batch_check, now_ms, s.epoch
      FROM unnest(scopes, mids) WITH ORDINALITY AS n (scope, mid, nr) WHERE n.mid IS NOT NULL;
  PERFORM history_hold(ARRAY[stream_app], ARRAY[1::BIGINT], ARRAY[s.bytes]);
  RETURN json_build_object('outcome', 'created', 'stream', history_created_json(s, c), 'streams',
    json_build_array(json_build_array(s.epoch, last, new_time)))::TEXT;
END $$;
