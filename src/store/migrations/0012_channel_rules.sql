-- Which channels of an application keep history and for how long lost members stay; how many bytes of history it may have.
ALTER TABLE apps ADD COLUMN channel_rules TEXT NOT NULL DEFAULT '[]';
ALTER TABLE apps ADD COLUMN max_history_bytes BIGINT NOT NULL DEFAULT 1073741824;
