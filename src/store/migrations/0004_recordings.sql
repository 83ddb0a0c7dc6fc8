-- Open uploads, complete recordings, and the numbers of deleted ones. Their bytes are in a storage (src/recordings/storage/storage.ts), and those of a
-- recording are complete.

CREATE TABLE uploads (
  id TEXT PRIMARY KEY,
  app TEXT NOT NULL REFERENCES apps (id),
  room TEXT NOT NULL,
  participant_session TEXT NOT NULL,
  meeting_session TEXT NOT NULL,
  participant_username TEXT NOT NULL,
  type TEXT NOT NULL,
  -- Unix seconds, as in the API.
  start_time BIGINT NOT NULL,
  -- What the storage needs to find the bytes.
  ticket TEXT NOT NULL,
  -- The size of the whole upload in bytes: fixed by the first request that names it.
  total BIGINT,
  -- Unix ms of the last write.
  touched BIGINT NOT NULL,
  -- Set when the upload has ended, and its bytes are still to be removed.
  ended BIGINT
);
CREATE INDEX uploads_open ON uploads (app) WHERE ended IS NULL;
CREATE INDEX uploads_touched ON uploads (touched) WHERE ended IS NULL;
CREATE INDEX uploads_ended ON uploads (ended) WHERE ended IS NOT NULL;

-- One row per application, which completing and deleting update in the same transaction. A transaction that has locked the row is the only one that
-- assigns a number, so numbers become visible in order.
CREATE TABLE recording_counters (
  app TEXT PRIMARY KEY REFERENCES apps (id),
  last_seq BIGINT NOT NULL,
  live BIGINT NOT NULL
);

CREATE TABLE recordings (
  id TEXT PRIMARY KEY,
  app TEXT NOT NULL REFERENCES apps (id),
  -- The number of the recording in its application, in the order of completion.
  seq BIGINT NOT NULL,
  room TEXT NOT NULL,
  participant_session TEXT NOT NULL,
  meeting_session TEXT NOT NULL,
  participant_username TEXT NOT NULL,
  type TEXT NOT NULL,
  start_time BIGINT NOT NULL,
  end_time BIGINT NOT NULL,
  file_name TEXT NOT NULL,
  -- By the first bytes of the file: webm, ogg, mp4, other.
  format TEXT NOT NULL,
  size_in_bytes BIGINT NOT NULL,
  -- Unix ms.
  completed BIGINT NOT NULL
);
CREATE UNIQUE INDEX recordings_order ON recordings (app, seq);
-- Indexes for filters. Most were replaced by 0009_fewer_recording_indexes.sql.
CREATE INDEX recordings_participant
  ON recordings (app, participant_session, seq, meeting_session, room, participant_username, type, start_time);
CREATE INDEX recordings_meeting ON recordings (app, meeting_session, seq, room, participant_username, type, start_time);
CREATE INDEX recordings_room_username ON recordings (app, room, participant_username, seq, type, start_time);
CREATE INDEX recordings_username_start ON recordings (app, participant_username, start_time, seq, room, type);
CREATE INDEX recordings_room_start ON recordings (app, room, start_time, seq, participant_username, type);
CREATE INDEX recordings_room_type ON recordings (app, room, type, seq, participant_username, start_time);
CREATE INDEX recordings_username_type ON recordings (app, participant_username, type, seq, room, start_time);
CREATE INDEX recordings_type_start ON recordings (app, type, start_time, seq, room, participant_username);
CREATE INDEX recordings_username ON recordings (app, participant_username, seq, room, type, start_time);
CREATE INDEX recordings_room ON recordings (app, room, seq, participant_username, type, start_time);
CREATE INDEX recordings_start ON recordings (app, start_time, seq, room, participant_username, type);
CREATE INDEX recordings_type ON recordings (app, type, seq, room, participant_username, start_time);

-- A deleted recording keeps its number, so that it is still valid as a cursor.
CREATE TABLE deleted_recordings (
  id TEXT PRIMARY KEY,
  app TEXT NOT NULL REFERENCES apps (id),
  seq BIGINT NOT NULL,
  -- Set when its bytes are removed as well.
  removed BIGINT
);
CREATE INDEX deleted_recordings_to_remove ON deleted_recordings (id) WHERE removed IS NULL;
