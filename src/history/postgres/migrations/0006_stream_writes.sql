-- Decides the writes of a batch, one after the other, and stores those that are accepted: contract/created-streams.ts has the order in which
-- they are refused. Everything is read first, then decided without a statement, then stored.
--
-- `apps`, `channels`, `keeps`, `keeps_ms`: the streams, without `keeps` those that must have been created. `begins`: a history that is missing has to
-- begin. `held_of`: the number of its application in `held_apps`. `p_*`: the producers; `w_*`: the writes, with numbers of their stream and their
-- producer, how many messages each has, and whether one of them has an id; `k_*`: the ids of messages; the rest: the messages, with the number of their id.
-- Returns NULL if the generation is not the writer's, and an empty text if histories are missing: the call is to be repeated after
-- `history_begin`. Nothing is stored then. Otherwise returns the results as contract/write-result.ts has them.
CREATE FUNCTION history_write(
  writer TEXT, expected BIGINT, batch_check TEXT, skew BIGINT, id_ms BIGINT, ahead_ms BIGINT, owner_max BIGINT, producers_max BIGINT,
  apps TEXT[], channels TEXT[], keeps BIGINT[], keeps_ms BIGINT[], begins BOOLEAN[], held_of BIGINT[], held_apps TEXT[],
  p_streams BIGINT[], p_owners TEXT[], p_pids TEXT[],
  w_streams BIGINT[], w_counts BIGINT[], w_listed BOOLEAN[], w_bytes BIGINT[], w_medias TEXT[], w_malformed BOOLEAN[], w_closes BOOLEAN[], w_seqs TEXT[],
  w_producers BIGINT[], w_epochs BIGINT[], w_numbers BIGINT[], w_closers TEXT[], w_stream_max BIGINT[], w_app_max BIGINT[],
  k_streams BIGINT[], k_scopes TEXT[], k_mids TEXT[],
  m_ids BIGINT[], senders TEXT[], connections TEXT[], metadatas TEXT[], datas TEXT[], sizes BIGINT[]
) RETURNS TEXT LANGUAGE plpgsql VOLATILE
  -- Planning its statements anew would take longer than they do. They find their rows by a key, however small the tables were when they were planned.
  SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  now_ms BIGINT;
  id_now BIGINT;
  locked BIGINT[];
  -- Of the streams.
  s_ids BIGINT[];
  s_of BIGINT[];
  s_epochs TEXT[];
  s_tops BIGINT[];
  s_checks TEXT[];
  s_times BIGINT[];
  s_bytes BIGINT[];
  s_states TEXT[];
  s_medias TEXT[];
  s_closed TEXT[];
  s_seqs TEXT[];
  s_written BOOLEAN[] := array_fill(false, ARRAY[cardinality(channels)]);
  -- Of the producers: NULL if it is new.
  p_epochs BIGINT[] := '{}';
  p_numbers BIGINT[] := '{}';
  p_written BOOLEAN[] := array_fill(false, ARRAY[cardinality(p_pids)]);
  -- Of the ids: where the first message is, NULL if there is none.
  k_offs BIGINT[] := '{}';
  k_checks TEXT[] := '{}';
  k_times BIGINT[] := '{}';
  k_epochs TEXT[] := '{}';
  k_new BOOLEAN[] := array_fill(false, ARRAY[cardinality(k_mids)]);
  -- Of the messages: NULL if it is not stored.
  m_offs BIGINT[] := array_fill(NULL::BIGINT, ARRAY[cardinality(datas)]);
  m_streams BIGINT[] := array_fill(NULL::BIGINT, ARRAY[cardinality(datas)]);
  held BIGINT[];
  held_more BIGINT[] := array_fill(0::BIGINT, ARRAY[cardinality(held_apps)]);
  at BIGINT := 0;
  first_at BIGINT;
  p BIGINT;
  q BIGINT;
  k BIGINT;
  is_repeated BOOLEAN;
  is_many BOOLEAN;
  has_body BOOLEAN;
  ended JSONB;
  result JSONB;
  stored JSONB[];
  results JSONB[] := '{}';
  answer TEXT;
BEGIN
  PERFORM 1 FROM history_writers w WHERE w.id = writer AND w.generation = expected FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  SELECT coalesce(array_agg(rows.id), '{}') INTO locked FROM (
    SELECT s.id FROM history_streams s JOIN unnest(apps, channels) AS n (app, channel) ON s.app = n.app AND s.channel = n.channel
      ORDER BY s.app, s.channel FOR UPDATE OF s) AS rows;
  now_ms := history_now(skew);
  SELECT array_agg(s.id ORDER BY n.nr), array_agg(coalesce(s.ids_of, s.id) ORDER BY n.nr), array_agg(s.epoch ORDER BY n.nr),
      array_agg(s.top ORDER BY n.nr), array_agg(s.top_check ORDER BY n.nr), array_agg(greatest(s.last_time, now_ms) ORDER BY n.nr),
      array_agg(s.bytes ORDER BY n.nr), array_agg(c.media ORDER BY n.nr), array_agg(c.closed ORDER BY n.nr), array_agg(c.seq ORDER BY n.nr),
      array_agg(CASE WHEN n.keep IS NULL THEN history_created_state(c, now_ms) ELSE 'ready' END ORDER BY n.nr)
    INTO s_ids, s_of, s_epochs, s_tops, s_checks, s_times, s_bytes, s_medias, s_closed, s_seqs, s_states
    FROM unnest(apps, channels, keeps) WITH ORDINALITY AS n (app, channel, keep, nr)
    -- Not one that was not there yet to be locked.
    LEFT JOIN history_streams s ON s.app = n.app AND s.channel = n.channel AND s.id = ANY (locked)
    LEFT JOIN history_created c ON c.stream = s.id;
  FOR i IN 1 .. cardinality(channels) LOOP
    IF begins[i] AND s_ids[i] IS NULL THEN RETURN ''; END IF;
  END LOOP;
  IF cardinality(p_pids) > 0 THEN
    SELECT array_agg(r.epoch ORDER BY n.nr), array_agg(r.seq ORDER BY n.nr) INTO p_epochs, p_numbers
      FROM unnest(p_streams, p_owners, p_pids) WITH ORDINALITY AS n (place, owner, pid, nr)
      LEFT JOIN history_producers r ON r.stream = s_of[n.place] AND r.owner = n.owner AND r.pid = n.pid;
  END IF;
  id_now := now_ms;
  IF cardinality(k_mids) > 0 THEN
    SELECT greatest(now_ms, max(d.time)) INTO id_now FROM history_ids d WHERE d.time <= now_ms + ahead_ms;
    SELECT array_agg(d.off ORDER BY n.nr), array_agg(d.batch ORDER BY n.nr), array_agg(d.time ORDER BY n.nr),
        array_agg(coalesce(d.epoch, CASE WHEN s_of[n.place] = s_ids[n.place] THEN s_epochs[n.place] ELSE '0' END) ORDER BY n.nr)
      INTO k_offs, k_checks, k_times, k_epochs
      FROM unnest(k_streams, k_scopes, k_mids) WITH ORDINALITY AS n (place, scope, mid, nr)
      LEFT JOIN history_ids d ON d.stream = s_of[n.place] AND d.scope = n.scope AND d.mid = n.mid AND abs(id_now - d.time) < id_ms;
  END IF;
  SELECT array_agg(coalesce((SELECT sum(h.bytes) FROM history_held h WHERE h.app = n.app), 0)::BIGINT ORDER BY n.nr)
    INTO held FROM unnest(held_apps) WITH ORDINALITY AS n (app, nr);

  FOR i IN 1 .. cardinality(w_streams) LOOP
    p := w_streams[i];
    q := w_producers[i];
    first_at := at + 1;
    at := at + w_counts[i];
    has_body := w_counts[i] > 0 OR w_malformed[i];
    is_repeated := CASE WHEN q IS NULL THEN w_closes[i] AND NOT has_body ELSE s_closed[p] = w_closers[i] END;
    ended := jsonb_build_object(
      'end', jsonb_build_object('epoch', s_epochs[p], 'offset', s_tops[p], 'check', s_checks[p]), 'isClosed', s_closed[p] IS NOT NULL);
    result := CASE
      WHEN s_states[p] = 'gone' THEN '{"outcome":"gone"}'::JSONB
      WHEN s_states[p] = 'none' THEN '{"outcome":"not found"}'::JSONB
      WHEN w_epochs[i] < p_epochs[q] THEN jsonb_build_object('outcome', 'stale epoch', 'epoch', p_epochs[q]) || ended
      WHEN s_closed[p] IS NOT NULL AND is_repeated
        THEN jsonb_build_object('outcome', 'duplicate', 'appended', '[]'::JSONB, 'producerSeq', p_numbers[q]) || ended
      WHEN s_closed[p] IS NOT NULL THEN jsonb_build_object('outcome', 'closed') || ended
      WHEN has_body AND w_medias[i] IS DISTINCT FROM coalesce(s_medias[p], 'application/json') THEN '{"outcome":"other type"}'::JSONB
      WHEN w_malformed[i] THEN '{"outcome":"malformed"}'::JSONB
      WHEN p_epochs[q] IS NULL AND w_numbers[i] > 0 THEN '{"outcome":"gap","expected":0}'::JSONB
      WHEN w_epochs[i] > p_epochs[q] AND w_numbers[i] > 0 THEN '{"outcome":"bad epoch"}'::JSONB
      WHEN w_epochs[i] = p_epochs[q] AND w_numbers[i] <= p_numbers[q]
        THEN jsonb_build_object('outcome', 'duplicate', 'appended', '[]'::JSONB, 'producerSeq', p_numbers[q]) || ended
      WHEN w_epochs[i] = p_epochs[q] AND w_numbers[i] > p_numbers[q] + 1
        THEN jsonb_build_object('outcome', 'gap', 'expected', p_numbers[q] + 1)
      WHEN w_seqs[i] COLLATE "C" <= s_seqs[p] THEN '{"outcome":"seq not increasing"}'::JSONB
    END;
    IF result IS NULL AND q IS NOT NULL AND p_epochs[q] IS NULL THEN
      SELECT count(*) >= producers_max OR count(*) FILTER (WHERE r.owner = p_owners[q]) >= owner_max INTO is_many
        FROM history_producers r WHERE r.stream = s_of[p];
      IF is_many THEN result := '{"outcome":"too many producers"}'; END IF;
    END IF;
    IF result IS NULL AND keeps[p] IS NULL AND w_counts[i] > 0 THEN
      result := CASE
        WHEN s_bytes[p] + w_bytes[i] > w_stream_max[i] THEN '{"outcome":"stream full"}'::JSONB
        WHEN held[held_of[p]] + held_more[held_of[p]] + w_bytes[i] > w_app_max[i] THEN '{"outcome":"application full"}'::JSONB
      END;
    END IF;
    IF result IS NOT NULL THEN
      results := array_append(results, result);
      CONTINUE;
    END IF;

    IF q IS NOT NULL THEN
      -- At once: it counts for the next one.
      IF p_epochs[q] IS NULL THEN
        INSERT INTO history_producers (stream, owner, pid, epoch, seq, used, day)
          VALUES (s_of[p], p_owners[q], p_pids[q], w_epochs[i], w_numbers[i], now_ms, CASE WHEN keeps[p] IS NOT NULL THEN now_ms / 86400000 END);
      ELSE
        p_written[q] := true;
      END IF;
      p_epochs[q] := w_epochs[i];
      p_numbers[q] := w_numbers[i];
    END IF;
    stored := '{}';
    FOR m IN first_at .. at LOOP
      k := m_ids[m];
      IF k_offs[k] IS NOT NULL THEN
        stored := array_append(stored, jsonb_build_object('epoch', k_epochs[k], 'offset', k_offs[k], 'check', k_checks[k], 'time', k_times[k],
          'isDuplicate', true, 'isRemoved', CASE WHEN k_epochs[k] <> s_epochs[p] THEN true END));
        CONTINUE;
      END IF;
      s_tops[p] := s_tops[p] + 1;
      s_checks[p] := batch_check;
      s_bytes[p] := s_bytes[p] + sizes[m];
      IF keeps[p] IS NULL THEN held_more[held_of[p]] := held_more[held_of[p]] + sizes[m]; END IF;
      m_offs[m] := s_tops[p];
      m_streams[m] := s_ids[p];
      IF k IS NOT NULL THEN
        k_offs[k] := s_tops[p];
        k_checks[k] := batch_check;
        k_times[k] := s_times[p];
        k_epochs[k] := s_epochs[p];
        k_new[k] := true;
      END IF;
      -- Without ids they are contiguous: the first one and their number say it all.
      IF w_listed[i] OR m = first_at THEN
        stored := array_append(stored, jsonb_build_object(
          'epoch', s_epochs[p], 'offset', s_tops[p], 'check', batch_check, 'time', s_times[p], 'isDuplicate', false));
      END IF;
    END LOOP;
    s_written[p] := true;
    IF w_closes[i] THEN s_closed[p] := w_closers[i]; END IF;
    s_seqs[p] := coalesce(w_seqs[i], s_seqs[p]);
    results := array_append(results, jsonb_build_object('outcome', 'written', 'appended', to_jsonb(stored),
      'count', CASE WHEN cardinality(stored) < w_counts[i] THEN w_counts[i] END, 'producerSeq', w_numbers[i],
      'end', jsonb_build_object('epoch', s_epochs[p], 'offset', s_tops[p], 'check', s_checks[p]), 'isClosed', w_closes[i]));
  END LOOP;

  INSERT INTO history_messages (stream, off, time, size, batch, sender, connection, mid, metadata, data)
    SELECT m.stream, m.off, s.time, m.size, batch_check, m.sender, m.connection, k_mids[m.id], m.metadata, m.data
      FROM unnest(m_streams, m_offs, m_ids, senders, connections, metadatas, datas, sizes)
        AS m (stream, off, id, sender, connection, metadata, data, size)
      JOIN unnest(s_ids, s_times) AS s (id, time) ON s.id = m.stream;
  IF true = ANY (k_new) THEN
    INSERT INTO history_ids (stream, scope, mid, off, batch, time, epoch)
      SELECT s_of[n.place], n.scope, n.mid, n.off, batch_check, id_now, n.epoch
        FROM unnest(k_streams, k_scopes, k_mids, k_offs, k_epochs, k_new) AS n (place, scope, mid, off, epoch, is_new) WHERE n.is_new
      ON CONFLICT (stream, scope, mid) DO UPDATE SET off = excluded.off, batch = excluded.batch, time = excluded.time, epoch = excluded.epoch;
  END IF;
  UPDATE history_streams s SET
      top = n.top, top_check = batch_check, last_time = n.time, bytes = n.bytes,
      keep_messages = coalesce(n.keep, s.keep_messages), keep_ms = coalesce(n.keep_ms, s.keep_ms),
      low_time = CASE WHEN s.low > s.top THEN n.time ELSE s.low_time END,
      expires = CASE WHEN s.low > s.top THEN n.time ELSE s.low_time END + coalesce(n.keep_ms, s.keep_ms),
      is_overfull = n.top - s.low + 1 > coalesce(n.keep, s.keep_messages),
      changed = history_second(now_ms), used = CASE WHEN n.keep IS NULL THEN s.used ELSE history_second(now_ms) END
    FROM unnest(s_ids, s_tops, s_times, s_bytes, keeps, keeps_ms) AS n (id, top, time, bytes, keep, keep_ms)
    WHERE s.id = n.id AND n.top > s.top;
  UPDATE history_created c SET
      used = now_ms, ends = history_ends(now_ms, c.ttl_ms, c.idle_ms, c.expires_at), changed = history_second(now_ms),
      closed = n.closed, seq = n.seq
    FROM unnest(s_ids, s_closed, s_seqs, s_written) AS n (id, closed, seq, is_written)
    WHERE c.stream = n.id AND n.is_written;
  IF true = ANY (p_written) THEN
    UPDATE history_producers r SET
        epoch = n.epoch, seq = n.number, used = now_ms, day = CASE WHEN r.day IS NOT NULL THEN now_ms / 86400000 END
      FROM unnest(p_streams, p_owners, p_pids, p_epochs, p_numbers, p_written) AS n (place, owner, pid, epoch, number, is_written)
      WHERE n.is_written AND r.stream = s_of[n.place] AND r.owner = n.owner AND r.pid = n.pid;
  END IF;
  PERFORM history_hold(held_apps, array_fill(0::BIGINT, ARRAY[cardinality(held_apps)]), held_more);
  answer := jsonb_strip_nulls(to_jsonb(results))::TEXT;
  UPDATE history_writers w SET batch = batch_check, result = answer, used = now_ms WHERE w.id = writer;
  RETURN answer;
END $$;
