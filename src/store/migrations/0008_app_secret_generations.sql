-- Which generation of its secret an application is at, and the earlier ones that still work for a while: a JSON list of
-- {seq, digest, ends}, newest first. Their digests are enough to recognise them; nothing needs them in clear any more.
ALTER TABLE apps ADD COLUMN secret_seq BIGINT NOT NULL DEFAULT 1;
ALTER TABLE apps ADD COLUMN previous_secrets TEXT NOT NULL DEFAULT '[]';
