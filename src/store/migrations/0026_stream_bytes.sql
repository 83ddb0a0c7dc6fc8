-- How many bytes the streams of an application may have together.
ALTER TABLE apps ADD COLUMN max_stream_bytes BIGINT NOT NULL DEFAULT 1073741824;
