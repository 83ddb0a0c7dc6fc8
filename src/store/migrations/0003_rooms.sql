-- Rooms of applications. An archived room keeps its row, and its name can be used again.
CREATE TABLE rooms (
  id TEXT PRIMARY KEY,
  app TEXT NOT NULL REFERENCES apps (id),
  name TEXT NOT NULL,
  -- The fields that were set, as JSON; all others have their defaults.
  fields TEXT NOT NULL,
  created BIGINT NOT NULL,
  -- When the room is archived automatically.
  archive_at BIGINT,
  archived BIGINT,
  -- Raised by every change. An edit is written only if the version is still the one that it has read.
  version BIGINT NOT NULL
);
CREATE UNIQUE INDEX rooms_live_name ON rooms (app, name) WHERE archived IS NULL;
CREATE INDEX rooms_live ON rooms (app, id) WHERE archived IS NULL;
CREATE INDEX rooms_due ON rooms (archive_at) WHERE archived IS NULL AND archive_at IS NOT NULL;
