-- Recordings: uploads that are open, recordings that are complete, and what is left of those that were deleted.
-- The bytes are elsewhere (src/recordings/storage.ts); a row here says that they are whole.

CREATE TABLE uploads (
  id TEXT PRIMARY KEY,
  app TEXT NOT NULL REFERENCES apps (id),
  room TEXT NOT NULL,
  participant_session TEXT NOT NULL,
  meeting_session TEXT NOT NULL,
  participant_username TEXT NOT NULL,
  type TEXT NOT NULL,
  -- Unix seconds, as the API has it.
  start_time BIGINT NOT NULL,
  -- What the storage needs to find the bytes again.
  ticket TEXT NOT NULL,
  -- How many bytes are to come: fixed by the first that do.
  total BIGINT,
  -- Unix ms of the last sign of life.
  touched BIGINT NOT NULL,
  -- Set: it is over, and only its bytes have to go yet.
  ended BIGINT
);
CREATE INDEX uploads_open ON uploads (app) WHERE ended IS NULL;
CREATE INDEX uploads_touched ON uploads (touched) WHERE ended IS NULL;
CREATE INDEX uploads_ended ON uploads (ended) WHERE ended IS NOT NULL;

-- One row an application: completing and deleting change it in the same transaction. Who holds it is alone in giving out the
-- next number, so numbers become visible in their order.
CREATE TABLE recording_counters (
  app TEXT PRIMARY KEY REFERENCES apps (id),
  last_seq BIGINT NOT NULL,
  live BIGINT NOT NULL
);

CREATE TABLE recordings (
  id TEXT PRIMARY KEY,
  app TEXT NOT NULL REFERENCES apps (id),
  -- The order of completion within the application.
  seq BIGINT NOT NULL,
  room TEXT NOT NULL,
  participant_session TEXT NOT NULL,
  meeting_session TEXT NOT NULL,
  participant_username TEXT NOT NULL,
  type TEXT NOT NULL,
  start_time BIGINT NOT NULL,
  end_time BIGINT NOT NULL,
  file_name TEXT NOT NULL,
  -- What the bytes themselves say they are: webm, ogg, mp4, other.
  format TEXT NOT NULL,
  size_in_bytes BIGINT NOT NULL,
  -- Unix ms.
  completed BIGINT NOT NULL
);
CREATE UNIQUE INDEX recordings_order ON recordings (app, seq);
-- One for each filter, and for each pair of those that may both match many: see listing in sql-listing.ts.
CREATE INDEX recordings_participant ON recordings (app, participant_session, seq);
CREATE INDEX recordings_meeting ON recordings (app, meeting_session, seq);
CREATE INDEX recordings_room_username ON recordings (app, room, participant_username, seq);
CREATE INDEX recordings_username_start ON recordings (app, participant_username, start_time, seq);
CREATE INDEX recordings_room_start ON recordings (app, room, start_time, seq);
CREATE INDEX recordings_room_type ON recordings (app, room, type, seq);
CREATE INDEX recordings_username_type ON recordings (app, participant_username, type, seq);
CREATE INDEX recordings_type_start ON recordings (app, type, start_time, seq);
CREATE INDEX recordings_username ON recordings (app, participant_username, seq);
CREATE INDEX recordings_room ON recordings (app, room, seq);
CREATE INDEX recordings_start ON recordings (app, start_time, seq);
CREATE INDEX recordings_type ON recordings (app, type, seq);

-- A deleted recording leaves its place in the order, so that it is still good as a cursor.
CREATE TABLE deleted_recordings (
  id TEXT PRIMARY KEY,
  app TEXT NOT NULL REFERENCES apps (id),
  seq BIGINT NOT NULL,
  -- Its bytes are gone too.
  removed BIGINT
);
CREATE INDEX deleted_recordings_to_remove ON deleted_recordings (id) WHERE removed IS NULL;
