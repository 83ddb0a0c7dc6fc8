-- Histories of channels. `low` is the oldest offset that is stored, `low_check` the check before it, and `low_time` its time; `expires`
-- is when that message is too old, NULL in an empty stream. `changed` and `used` are full seconds, and `is_overfull` says that trimming
-- has work: indexed columns that seldom change make an append a heap-only update of its streams. Names are compared as bytes, which is faster and the same everywhere.
CREATE TABLE history_streams (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  app TEXT COLLATE "C" NOT NULL,
  channel TEXT COLLATE "C" NOT NULL,
  epoch TEXT NOT NULL,
  top BIGINT NOT NULL DEFAULT 0,
  top_check TEXT NOT NULL DEFAULT '0',
  low BIGINT NOT NULL DEFAULT 1,
  low_check TEXT NOT NULL DEFAULT '0',
  low_time BIGINT NOT NULL DEFAULT 0,
  last_time BIGINT NOT NULL DEFAULT 0,
  bytes BIGINT NOT NULL DEFAULT 0,
  keep_messages BIGINT NOT NULL,
  keep_ms BIGINT NOT NULL,
  expires BIGINT,
  is_overfull BOOLEAN NOT NULL DEFAULT false,
  changed BIGINT NOT NULL,
  used BIGINT NOT NULL,
  UNIQUE (app, channel)
) WITH (fillfactor = 60);
CREATE INDEX history_streams_changed ON history_streams (changed);
CREATE INDEX history_streams_expires ON history_streams (expires) WHERE expires IS NOT NULL;
CREATE INDEX history_streams_overfull ON history_streams (id) WHERE is_overfull;
CREATE INDEX history_streams_empty ON history_streams (used) WHERE expires IS NULL;

CREATE TABLE history_messages (
  stream BIGINT NOT NULL,
  off BIGINT NOT NULL,
  time BIGINT NOT NULL,
  size BIGINT NOT NULL,
  batch TEXT NOT NULL,
  sender TEXT NOT NULL,
  connection TEXT,
  mid TEXT,
  metadata TEXT,
  data TEXT NOT NULL,
  PRIMARY KEY (stream, off)
);

-- Ids of messages outlive the messages, which trimming may remove sooner.
CREATE TABLE history_ids (
  stream BIGINT NOT NULL,
  scope TEXT COLLATE "C" NOT NULL,
  mid TEXT COLLATE "C" NOT NULL,
  off BIGINT NOT NULL,
  batch TEXT NOT NULL,
  time BIGINT NOT NULL,
  PRIMARY KEY (stream, scope, mid)
);
CREATE INDEX history_ids_time ON history_ids (time);

-- Removed streams whose messages have not been deleted yet.
CREATE TABLE history_gone (stream BIGINT PRIMARY KEY);

-- One row per running process. A batch is stored only under the current generation of its writer: raising it keeps out a batch that
-- is still under way. The last batch and its result tell what became of one that was not answered.
CREATE TABLE history_writers (
  id TEXT PRIMARY KEY,
  generation BIGINT NOT NULL,
  batch TEXT,
  result TEXT,
  used BIGINT NOT NULL
) WITH (fillfactor = 20);
