-- Who is or was in a room. Times are Unix ms. A stay that has not ended counts for its room's limit, and so does a held place.
CREATE TABLE meetings (
  id TEXT PRIMARY KEY,
  app TEXT NOT NULL REFERENCES apps (id),
  room TEXT NOT NULL,
  room_name TEXT NOT NULL,
  began BIGINT NOT NULL,
  ended BIGINT,
  is_locked BIGINT NOT NULL,
  -- 1 while no stay is open, and when the last one ended: this finds meetings that are over without reading stays.
  is_empty BIGINT NOT NULL,
  last_end BIGINT NOT NULL
);
CREATE UNIQUE INDEX meetings_open ON meetings (app, room) WHERE ended IS NULL;
CREATE INDEX meetings_active ON meetings (app, began, id) WHERE ended IS NULL;
CREATE INDEX meetings_empty ON meetings (last_end) WHERE ended IS NULL AND is_empty = 1;
CREATE INDEX meetings_ended ON meetings (app, ended) WHERE ended IS NOT NULL;
CREATE INDEX meetings_app ON meetings (app, began, id);
CREATE INDEX meetings_room ON meetings (app, room, began, id);

-- How many meetings are kept, per room; the row of the room '' counts all of the application.
CREATE TABLE meeting_counters (
  app TEXT NOT NULL REFERENCES apps (id),
  room TEXT NOT NULL,
  meetings BIGINT NOT NULL,
  PRIMARY KEY (app, room)
);

CREATE TABLE stays (
  id TEXT PRIMARY KEY,
  meeting TEXT NOT NULL REFERENCES meetings (id),
  app TEXT NOT NULL,
  room TEXT NOT NULL,
  name TEXT NOT NULL,
  external_user_id TEXT,
  is_admin BIGINT NOT NULL,
  is_guest BIGINT NOT NULL,
  access_token TEXT,
  eject_at BIGINT,
  -- The node with its connection; NULL while it has none, and when it has ended.
  node TEXT,
  seen BIGINT NOT NULL,
  began BIGINT NOT NULL,
  ended BIGINT,
  why TEXT
);
CREATE INDEX stays_meeting ON stays (meeting, began, id);
CREATE INDEX stays_token ON stays (meeting, access_token, began) WHERE access_token IS NOT NULL;
CREATE INDEX stays_open ON stays (app, room) WHERE ended IS NULL;
CREATE INDEX stays_node ON stays (node) WHERE ended IS NULL AND node IS NOT NULL;
CREATE INDEX stays_lost ON stays (seen) WHERE ended IS NULL AND node IS NULL;

-- Places for people who have joined and are not connected yet. Only nodes that share the store write them; others have them in memory.
CREATE TABLE held_places (
  id TEXT PRIMARY KEY,
  app TEXT NOT NULL,
  room TEXT NOT NULL,
  until_ms BIGINT NOT NULL,
  -- A digest of the address that it is held for.
  holder TEXT
);
CREATE INDEX held_places_room ON held_places (app, room, until_ms);
CREATE INDEX held_places_until ON held_places (until_ms);

-- Access tokens (kind 'token', by digest) and users (kind 'user') that were put out of a meeting that has not ended.
CREATE TABLE meeting_bans (
  meeting TEXT NOT NULL,
  kind TEXT NOT NULL,
  who TEXT NOT NULL,
  PRIMARY KEY (meeting, kind, who)
);

-- When each node has last said that it is alive.
CREATE TABLE meeting_nodes (
  node TEXT PRIMARY KEY,
  beat BIGINT NOT NULL
);

CREATE TABLE lobby_tickets (
  ticket TEXT PRIMARY KEY,
  app TEXT NOT NULL,
  room TEXT NOT NULL,
  name TEXT NOT NULL,
  address TEXT NOT NULL,
  since BIGINT NOT NULL,
  gone_since BIGINT,
  state TEXT NOT NULL,
  decided BIGINT
);
CREATE INDEX lobby_tickets_room ON lobby_tickets (app, room, since);
CREATE INDEX lobby_tickets_since ON lobby_tickets (since);
CREATE INDEX lobby_tickets_gone ON lobby_tickets (gone_since) WHERE gone_since IS NOT NULL;
CREATE INDEX lobby_tickets_declined ON lobby_tickets (decided) WHERE state = 'declined';

-- Origins whose pages may frame the meeting page (a JSON list), and how many days meetings that have ended are kept.
ALTER TABLE apps ADD COLUMN allowed_frame_origins TEXT NOT NULL DEFAULT '[]';
ALTER TABLE apps ADD COLUMN meeting_retention_days BIGINT NOT NULL DEFAULT 90;
