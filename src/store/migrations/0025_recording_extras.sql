-- What the page of a meeting sends beside the file of a recording: a small picture, and when its person spoke.
CREATE TABLE recording_extras (
  -- The id of the upload, which is that of the recording later.
  id TEXT PRIMARY KEY,
  app TEXT NOT NULL,
  -- A JPEG, in base64.
  thumbnail TEXT,
  -- Intervals of speech as src/recordings/extras/speech.ts writes them, and their sum in ms. NULL: speech was not measured.
  speech TEXT,
  speech_ms BIGINT
);
CREATE INDEX recording_extras_app ON recording_extras (app, id);

-- Unix ms: when the recorder was started. NULL: only the second is known.
ALTER TABLE uploads ADD COLUMN started_ms BIGINT;
ALTER TABLE recordings ADD COLUMN started_ms BIGINT;

-- What recording_extras has of it: how many bytes, whether there is a picture, how long the person spoke.
ALTER TABLE recordings ADD COLUMN extra_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE recordings ADD COLUMN has_thumbnail BIGINT NOT NULL DEFAULT 0;
ALTER TABLE recordings ADD COLUMN speech_ms BIGINT;
