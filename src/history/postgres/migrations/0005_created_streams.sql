-- Created streams: channels that exist from their creation on. Their messages are beside those of histories, in a space of their own, and
-- `keep_messages`, `keep_ms` and `used` of their rows in `history_streams` are so large that nothing trims or forgets them. Whoever changes
-- a created stream has locked that row. `changed` is a full second, and `due` the earliest time at which it can have expired: a write
-- changes no indexed column more often than once a second. `closed` is NULL while it is open; otherwise the write of a producer that has closed it.
CREATE TABLE history_created (
  stream BIGINT PRIMARY KEY,
  type TEXT NOT NULL,
  media TEXT NOT NULL,
  ttl_ms BIGINT,
  expires_at BIGINT,
  idle_ms BIGINT NOT NULL,
  made BIGINT NOT NULL,
  used BIGINT NOT NULL,
  ends BIGINT NOT NULL,
  due BIGINT NOT NULL,
  changed BIGINT NOT NULL,
  closed TEXT,
  seq TEXT COLLATE "C",
  fork TEXT,
  source BIGINT,
  lineage TEXT NOT NULL DEFAULT '[]',
  is_gone BOOLEAN NOT NULL DEFAULT false
) WITH (fillfactor = 60);
CREATE INDEX history_created_changed ON history_created (changed);
CREATE INDEX history_created_due ON history_created (due) WHERE NOT is_gone;
CREATE INDEX history_created_source ON history_created (source) WHERE source IS NOT NULL;

-- `stream` is that of the ids of its channel, so that producers outlive the removal of a history. `day`: the day of its last use, NULL if it
-- stays as long as its stream, which was created.
CREATE TABLE history_producers (
  stream BIGINT NOT NULL,
  owner TEXT COLLATE "C" NOT NULL,
  pid TEXT COLLATE "C" NOT NULL,
  epoch BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  used BIGINT NOT NULL,
  day BIGINT,
  PRIMARY KEY (stream, owner, pid)
) WITH (fillfactor = 60);
CREATE INDEX history_producers_day ON history_producers (day) WHERE day IS NOT NULL;

-- Names of created streams that have ended lately.
CREATE TABLE history_ended (
  app TEXT COLLATE "C" NOT NULL,
  channel TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (app, channel)
);
CREATE INDEX history_ended_at ON history_ended (at);

-- How many created streams an application has, and their bytes: the sum of several rows, so that nodes seldom wait for each other. Locked
-- last, and by application.
CREATE TABLE history_held (
  app TEXT COLLATE "C" NOT NULL,
  part INT NOT NULL,
  streams BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  PRIMARY KEY (app, part)
) WITH (fillfactor = 20);

CREATE FUNCTION history_hold(apps TEXT[], more_streams BIGINT[], more_bytes BIGINT[]) RETURNS VOID LANGUAGE sql VOLATILE AS $$
  INSERT INTO history_held AS h (app, part, streams, bytes)
    SELECT n.app, pg_backend_pid() % 16, n.streams, n.bytes FROM unnest(apps, more_streams, more_bytes) AS n (app, streams, bytes)
      WHERE n.streams <> 0 OR n.bytes <> 0 ORDER BY n.app COLLATE "C"
    ON CONFLICT (app, part) DO UPDATE SET streams = h.streams + excluded.streams, bytes = h.bytes + excluded.bytes
$$;

-- When a stream ends that was used then. `least` leaves out what is NULL.
CREATE FUNCTION history_ends(used_ms BIGINT, ttl_ms BIGINT, idle_ms BIGINT, expires_at BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS $$
  SELECT least(used_ms + least(ttl_ms, idle_ms), expires_at)
$$;

-- `ready`, `gone` or `none`. One that has expired is none, and gone if it has forks, also before it is removed.
CREATE FUNCTION history_created_state(c history_created, now_ms BIGINT) RETURNS TEXT LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN c.stream IS NULL THEN 'none'
    WHEN c.is_gone THEN 'gone'
    WHEN c.ends > now_ms THEN 'ready'
    WHEN EXISTS (SELECT 1 FROM history_created f WHERE f.source = c.stream) THEN 'gone'
    ELSE 'none'
  END
$$;

CREATE FUNCTION history_created_json(s history_streams, c history_created) RETURNS JSON LANGUAGE sql STABLE AS $$
  SELECT json_build_object('epoch', s.epoch, 'top', s.top, 'topCheck', s.top_check, 'first', s.low, 'firstCheck', s.low_check,
    'contentType', c.type, 'ttlMs', c.ttl_ms, 'expiresAtMs', c.expires_at, 'isClosed', c.closed IS NOT NULL,
    'createdMs', c.made, 'usedMs', c.used, 'endsMs', c.ends, 'bytes', s.bytes, 'lineage', c.lineage::JSON)
$$;

-- A created stream as JSON, `"gone"`, or NULL. With `page`: a page of it, both of one moment.
CREATE FUNCTION history_created_read(
  stream_app TEXT, stream_channel TEXT, skew BIGINT, has_page BOOLEAN,
  after_off BIGINT, before_off BIGINT, since BIGINT, up_to BIGINT, max_messages BIGINT, max_bytes BIGINT
) RETURNS TEXT LANGUAGE plpgsql STABLE AS $$
DECLARE
  s history_streams;
  c history_created;
  state TEXT;
BEGIN
  SELECT * INTO s FROM history_streams WHERE app = stream_app AND channel = stream_channel;
  SELECT * INTO c FROM history_created WHERE stream = s.id;
  state := history_created_state(c, history_now(skew));
  IF state <> 'ready' THEN RETURN CASE state WHEN 'gone' THEN '"gone"' END; END IF;
  RETURN json_build_object('stream', history_created_json(s, c), 'page', CASE WHEN has_page THEN
    history_read(stream_app, stream_channel, skew, after_off, before_off, since, up_to, max_messages, max_bytes)::JSON END)::TEXT;
END $$;

-- Locks created streams and what they are forks of, in the order of their names, as all others do. Returns those that are there.
CREATE FUNCTION history_created_lock(wanted BIGINT[]) RETURNS BIGINT[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  locked BIGINT[];
BEGIN
  WITH RECURSIVE line AS (
    SELECT c.stream, c.source FROM history_created c WHERE c.stream = ANY (wanted)
    UNION SELECT c.stream, c.source FROM history_created c JOIN line ON c.stream = line.source
  )
  SELECT coalesce(array_agg(rows.id), '{}') INTO locked FROM (
    SELECT s.id FROM history_streams s WHERE s.id IN (SELECT stream FROM line) ORDER BY s.app, s.channel FOR UPDATE OF s) AS rows;
  RETURN locked;
END $$;

-- Ends streams that are locked, with what they are forks of: they are removed, or gone as long as they have forks (but for `is_forced`). With its
-- last fork, a stream that is gone is removed too.
CREATE FUNCTION history_created_end(ended BIGINT[], now_ms BIGINT, is_forced BOOLEAN) RETURNS VOID LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  one BIGINT;
  above BIGINT;
  removed BIGINT[] := '{}';
BEGIN
  INSERT INTO history_ended (app, channel, at)
    SELECT s.app, s.channel, history_second(now_ms) FROM history_streams s WHERE s.id = ANY (ended) ORDER BY s.app, s.channel
    ON CONFLICT (app, channel) DO UPDATE SET at = excluded.at;
  DELETE FROM history_producers WHERE stream = ANY (ended);
  FOREACH one IN ARRAY ended LOOP
    IF NOT is_forced AND EXISTS (SELECT 1 FROM history_created f WHERE f.source = one) THEN
      UPDATE history_created SET is_gone = true, changed = history_second(now_ms) WHERE stream = one;
      CONTINUE;
    END IF;
    WHILE one IS NOT NULL LOOP
      removed := removed || one;
      DELETE FROM history_created WHERE stream = one RETURNING source INTO above;
      SELECT c.stream INTO one FROM history_created c
        WHERE c.stream = above AND c.is_gone AND NOT EXISTS (SELECT 1 FROM history_created f WHERE f.source = c.stream);
    END LOOP;
  END LOOP;
  PERFORM history_hold(array_agg(sums.app), array_agg(-sums.streams), array_agg(-sums.bytes)) FROM (
    SELECT s.app, count(*) AS streams, sum(s.bytes)::BIGINT AS bytes FROM history_streams s WHERE s.id = ANY (removed) GROUP BY s.app) AS sums;
  PERFORM history_forget(removed);
END $$;

-- With `is_forced`: by a change of rules, also those with forks. Returns the state that was found of the last one.
CREATE FUNCTION history_created_delete(stream_app TEXT, channels TEXT[], skew BIGINT, is_forced BOOLEAN) RETURNS TEXT LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  locked BIGINT[] := history_created_lock(ARRAY(SELECT s.id FROM history_streams s WHERE s.app = stream_app AND s.channel = ANY (channels)));
  now_ms BIGINT := history_now(skew);
  ended BIGINT[];
  state TEXT;
BEGIN
  SELECT array_agg(c.stream), max(history_created_state(c, now_ms)) INTO ended, state
    FROM history_streams s JOIN history_created c ON c.stream = s.id
    WHERE s.app = stream_app AND s.channel = ANY (channels) AND s.id = ANY (locked);
  IF ended IS NOT NULL AND (is_forced OR state = 'ready') THEN PERFORM history_created_end(ended, now_ms, is_forced); END IF;
  RETURN coalesce(state, 'none');
END $$;

-- Its time to live begins again: noted when a tenth of it has passed.
CREATE FUNCTION history_created_use(stream_app TEXT, stream_channel TEXT, skew BIGINT) RETURNS VOID LANGUAGE sql VOLATILE AS $$
  UPDATE history_created c SET used = n.ms, ends = history_ends(n.ms, c.ttl_ms, c.idle_ms, c.expires_at)
    FROM (SELECT history_now(skew) AS ms) AS n, history_streams s
    WHERE s.app = stream_app AND s.channel = stream_channel AND c.stream = s.id
      AND NOT c.is_gone AND c.ends > n.ms AND abs(n.ms - c.used) >= least(c.ttl_ms, c.idle_ms) / 10
$$;

-- Ends some of the streams that have expired, and forgets old producers and ends. Returns how much it did.
CREATE FUNCTION history_created_expire(skew BIGINT, max_rows BIGINT, producer_ms BIGINT, ended_ms BIGINT) RETURNS BIGINT LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  now_ms BIGINT := history_now(skew);
  wanted BIGINT[] := ARRAY(SELECT c.stream FROM history_created c WHERE c.due <= now_ms AND NOT c.is_gone ORDER BY c.due LIMIT max_rows);
  over BIGINT[];
  done BIGINT := 0;
  more BIGINT;
BEGIN
  IF cardinality(wanted) > 0 THEN
    PERFORM history_created_lock(wanted);
    -- A use may be under way, which does not lock the stream.
    over := ARRAY(SELECT c.stream FROM history_created c WHERE c.stream = ANY (wanted) AND NOT c.is_gone ORDER BY c.stream FOR UPDATE OF c);
    UPDATE history_created c SET due = c.ends WHERE c.stream = ANY (over) AND c.ends > now_ms;
    GET DIAGNOSTICS done = ROW_COUNT;
    over := ARRAY(SELECT c.stream FROM history_created c WHERE c.stream = ANY (over) AND c.ends <= now_ms);
    PERFORM history_created_end(over, now_ms, false);
    done := done + cardinality(over);
  END IF;
  DELETE FROM history_producers WHERE (stream, owner, pid) IN (
    SELECT p.stream, p.owner, p.pid FROM history_producers p
      WHERE p.day < (now_ms - producer_ms) / 86400000 ORDER BY p.day LIMIT max_rows FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS more = ROW_COUNT;
  done := done + more;
  DELETE FROM history_ended WHERE (app, channel) IN (
    SELECT e.app, e.channel FROM history_ended e WHERE e.at < now_ms - ended_ms ORDER BY e.at LIMIT max_rows FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS more = ROW_COUNT;
  RETURN done + more;
END $$;
