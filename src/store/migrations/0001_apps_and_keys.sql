-- Applications, their keys, and the secrets of the keys. Times are Unix milliseconds; lists are JSON texts.
-- The same statements run on SQLite and PostgreSQL.

CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

-- One row. Every change to apps and keys raises the revision first, so that changes run one at a time.
CREATE TABLE revisions (
  id INTEGER PRIMARY KEY,
  revision BIGINT NOT NULL
);
INSERT INTO revisions (id, revision) VALUES (1, 0);

CREATE TABLE apps (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  secret_sealed TEXT NOT NULL,
  secret_digest TEXT NOT NULL,
  plan_name TEXT NOT NULL,
  max_concurrent_connections BIGINT,
  max_messages_per_period BIGINT,
  retention_days BIGINT,
  created BIGINT NOT NULL,
  deleted BIGINT
);
-- The name of a deleted application can be used again.
CREATE UNIQUE INDEX apps_live_name ON apps (name) WHERE deleted IS NULL;

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  app TEXT NOT NULL REFERENCES apps (id),
  type TEXT NOT NULL,
  label TEXT,
  channel_patterns TEXT NOT NULL,
  actions TEXT NOT NULL,
  allowed_origins TEXT,
  created BIGINT NOT NULL,
  rotated BIGINT,
  revoked BIGINT
);
CREATE INDEX keys_app ON keys (app);

-- The signing secrets of secret keys. The newest secret of a key has no end; earlier ones end with their grace period.
CREATE TABLE key_secrets (
  key_id TEXT NOT NULL REFERENCES keys (id),
  seq BIGINT NOT NULL,
  sealed TEXT NOT NULL,
  digest TEXT NOT NULL,
  created BIGINT NOT NULL,
  ends BIGINT,
  PRIMARY KEY (key_id, seq)
);
