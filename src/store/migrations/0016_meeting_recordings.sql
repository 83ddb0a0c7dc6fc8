-- Recordings that the pages of a meeting make.

-- Who started the recording of a meeting, and when (Unix ms). NULL: it is not recorded.
ALTER TABLE meetings ADD COLUMN recording_by TEXT;
ALTER TABLE meetings ADD COLUMN recording_since BIGINT;

-- The stay whose page sends the upload, and what that page records. NULL: the upload was begun with a secret key.
ALTER TABLE uploads ADD COLUMN stay TEXT;
ALTER TABLE uploads ADD COLUMN source TEXT;
-- How many bytes it had when they were last noted.
ALTER TABLE uploads ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
-- Unix ms. Set when its file is finished: nothing is written to it any more, and it waits to be mended and listed.
ALTER TABLE uploads ADD COLUMN finished BIGINT;
-- The place of the mended file, noted before its first byte is written, and how often mending has begun.
ALTER TABLE uploads ADD COLUMN mended_as TEXT;
ALTER TABLE uploads ADD COLUMN tries BIGINT NOT NULL DEFAULT 0;
CREATE INDEX uploads_stay ON uploads (stay) WHERE stay IS NOT NULL;
CREATE INDEX uploads_finished ON uploads (finished) WHERE finished IS NOT NULL;
CREATE INDEX uploads_mended_as ON uploads (mended_as) WHERE mended_as IS NOT NULL;

-- The place of its bytes. NULL: the id of the recording.
ALTER TABLE recordings ADD COLUMN file TEXT;
-- Whether a recording of a meeting's page was mended. NULL: it was not made by such a page.
ALTER TABLE recordings ADD COLUMN mended BIGINT;
CREATE INDEX recordings_file ON recordings (file) WHERE file IS NOT NULL;

-- Places whose bytes are not used any more. A row stays until the bytes are removed.
CREATE TABLE files_to_remove (
  app TEXT NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY (app, id)
);
CREATE INDEX files_to_remove_id ON files_to_remove (id);

-- How many bytes the recordings and open uploads of an application may have together: 100 GiB.
ALTER TABLE apps ADD COLUMN max_recording_bytes_total BIGINT NOT NULL DEFAULT 107374182400;
