-- The generation of an application's secret, and the earlier secrets that still work for a while: a JSON list of {seq, digest, ends}, newest first.
-- Their digests are enough to recognise them.
ALTER TABLE apps ADD COLUMN secret_seq BIGINT NOT NULL DEFAULT 1;
ALTER TABLE apps ADD COLUMN previous_secrets TEXT NOT NULL DEFAULT '[]';
