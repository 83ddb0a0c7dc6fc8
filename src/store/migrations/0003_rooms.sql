-- Rooms of applications. An archived one keeps its row, and frees its name.
CREATE TABLE rooms (
  id TEXT PRIMARY KEY,
  app TEXT NOT NULL REFERENCES apps (id),
  name TEXT NOT NULL,
  -- What was set, as JSON; the rest is as defaults have it.
  fields TEXT NOT NULL,
  created BIGINT NOT NULL,
  -- When it is to be archived by itself.
  archive_at BIGINT,
  archived BIGINT,
  -- Raised by every change: who edits what he has read does so only if it is still that.
  version BIGINT NOT NULL
);
CREATE UNIQUE INDEX rooms_live_name ON rooms (app, name) WHERE archived IS NULL;
CREATE INDEX rooms_live ON rooms (app, id) WHERE archived IS NULL;
CREATE INDEX rooms_due ON rooms (archive_at) WHERE archived IS NULL AND archive_at IS NOT NULL;

-- What access tokens of an application are signed with: made when the first one is minted.
CREATE TABLE access_token_secrets (
  app TEXT PRIMARY KEY REFERENCES apps (id),
  sealed TEXT NOT NULL,
  created BIGINT NOT NULL
);
