-- Webhooks: endpoints, the events they ask for, what waits to be sent, and the log of attempts. Times are Unix ms.
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  app TEXT NOT NULL REFERENCES apps (id),
  -- 'control': made by operators; 'application': made with the application's secret; 'room': the URL of a field of its rooms.
  kind TEXT NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  channel_patterns TEXT,
  description TEXT,
  -- Extra headers: names in clear text, all values sealed together.
  header_names TEXT NOT NULL,
  headers_sealed TEXT,
  created BIGINT NOT NULL,
  disabled BIGINT,
  -- 'request', 'gone' (the endpoint answered 410) or 'failing' (no success for days).
  disabled_why TEXT
);
CREATE INDEX webhooks_app ON webhooks (app, created, id);

CREATE TABLE webhook_secrets (
  webhook TEXT NOT NULL REFERENCES webhooks (id),
  seq BIGINT NOT NULL,
  sealed TEXT NOT NULL,
  created BIGINT NOT NULL,
  -- NULL: the current one.
  ends BIGINT,
  PRIMARY KEY (webhook, seq)
);

-- Applications that have, or once had, someone to tell: all others write no events. One row per application.
CREATE TABLE webhook_apps (
  app TEXT PRIMARY KEY REFERENCES apps (id)
);

-- What happened and was not given to endpoints yet: written in the transaction of the change itself.
CREATE TABLE webhook_events (
  id TEXT PRIMARY KEY,
  -- In the order in which changes of one subject happened, by the database's clock or counter.
  nr BIGINT NOT NULL,
  app TEXT NOT NULL,
  type TEXT NOT NULL,
  -- What is kept in order: a channel, a room, a peer, a key, a recording.
  subject TEXT NOT NULL,
  happened BIGINT NOT NULL,
  -- The rows it is about, as JSON; what receivers get is made of it when it is given to endpoints.
  fact TEXT NOT NULL,
  -- Only for this endpoint; NULL: for all of the application that ask for it.
  webhook TEXT
);
CREATE INDEX webhook_events_nr ON webhook_events (nr, id);
CREATE INDEX webhook_events_app ON webhook_events (app);

-- Numbers and health of each endpoint; apart from `webhooks`, because they change with every message. Whatever has messages, attempts or cursors has
-- a row here: what is left of an endpoint is found by it.
CREATE TABLE webhook_states (
  webhook TEXT PRIMARY KEY,
  app TEXT NOT NULL,
  -- The last `data.seq`, and the last number of an attempt.
  last_seq BIGINT NOT NULL,
  last_attempt BIGINT NOT NULL,
  -- Up to this number, the log has attempts that have failed only.
  trimmed BIGINT NOT NULL DEFAULT 0,
  -- Messages that wait, and messages that were dropped because too many waited.
  backlog BIGINT NOT NULL,
  dropped BIGINT NOT NULL,
  delivered BIGINT NOT NULL,
  failed BIGINT NOT NULL,
  attempted_at BIGINT,
  succeeded_at BIGINT,
  -- Since when no attempt has succeeded; NULL: the last one did, or there was none.
  failing_since BIGINT,
  -- HTTP status of the last attempt; NULL: there was no answer.
  last_status BIGINT,
  last_error TEXT,
  -- It asked for fewer requests: none before this time.
  slow_until BIGINT,
  -- 1: a URL of rooms. It has the same id when it was forgotten and is made again.
  is_room BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX webhook_states_app ON webhook_states (app);
CREATE INDEX webhook_states_backlog ON webhook_states (webhook) WHERE backlog > 0;

-- One row per event and endpoint. Those that succeeded stay while the log names them, so that they can be sent again.
CREATE TABLE webhook_messages (
  webhook TEXT NOT NULL,
  seq BIGINT NOT NULL,
  app TEXT NOT NULL,
  type TEXT NOT NULL,
  subject TEXT NOT NULL,
  happened BIGINT NOT NULL,
  -- What is sent as `data`, without `seq`: JSON.
  data TEXT NOT NULL,
  -- 'waiting', 'done', or 'failed': no attempt is left.
  state TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  -- When the next attempt is due.
  due BIGINT NOT NULL,
  -- 1: an earlier message of its subject must go first.
  is_blocked BIGINT NOT NULL,
  -- 1: later messages of its subject do not wait for it: it has failed too often, or was sent again on request.
  is_beside BIGINT NOT NULL,
  -- 1: it may be dropped when too many wait.
  is_lossy BIGINT NOT NULL,
  -- The number of its newest attempt in the log; 0: there was none.
  last_attempt BIGINT NOT NULL,
  PRIMARY KEY (webhook, seq)
);
CREATE INDEX webhook_messages_due ON webhook_messages (webhook, due, seq) WHERE state = 'waiting' AND is_blocked = 0;
CREATE INDEX webhook_messages_subject ON webhook_messages (webhook, subject, seq) WHERE state = 'waiting' AND is_beside = 0;
CREATE INDEX webhook_messages_drop ON webhook_messages (webhook, is_lossy, seq) WHERE state = 'waiting';
CREATE INDEX webhook_messages_failed ON webhook_messages (webhook, due) WHERE state = 'failed';

CREATE TABLE webhook_attempts (
  webhook TEXT NOT NULL,
  nr BIGINT NOT NULL,
  app TEXT NOT NULL,
  seq BIGINT NOT NULL,
  type TEXT NOT NULL,
  -- The how manieth of its message.
  attempt BIGINT NOT NULL,
  at BIGINT NOT NULL,
  took_ms BIGINT NOT NULL,
  is_success BIGINT NOT NULL,
  status BIGINT,
  error TEXT,
  response TEXT,
  PRIMARY KEY (webhook, nr)
);
CREATE INDEX webhook_attempts_failed ON webhook_attempts (webhook, nr) WHERE is_success = 0;
CREATE INDEX webhook_attempts_message ON webhook_attempts (webhook, seq) WHERE is_success = 0;

-- One row: the process that gives events to endpoints and sends them.
CREATE TABLE webhook_lease (
  id BIGINT PRIMARY KEY,
  holder TEXT NOT NULL,
  -- Raised with every holder: changes of an earlier one are refused.
  number BIGINT NOT NULL,
  -- By the clock of the store.
  until BIGINT NOT NULL,
  -- No URL of rooms that was forgotten has had a larger `data.seq`: those that are made begin behind it.
  room_seq BIGINT NOT NULL DEFAULT 0
);
INSERT INTO webhook_lease (id, holder, number, until) VALUES (1, '', 0, 0);

-- How far the messages of a channel were given to an endpoint.
CREATE TABLE webhook_cursors (
  webhook TEXT NOT NULL,
  app TEXT NOT NULL,
  channel TEXT NOT NULL,
  epoch TEXT NOT NULL,
  position BIGINT NOT NULL,
  used BIGINT NOT NULL,
  PRIMARY KEY (webhook, channel)
);
CREATE INDEX webhook_cursors_used ON webhook_cursors (webhook, used);

-- Who is connected, and in which channels, of applications with an endpoint that asks: what each node says of itself.
CREATE TABLE tracked_nodes (
  node TEXT PRIMARY KEY,
  -- By the clock of the store; 0: the node has stopped, or was silent, and its rows are being closed.
  beat BIGINT NOT NULL
);

CREATE TABLE tracked_connections (
  id TEXT PRIMARY KEY,
  node TEXT NOT NULL,
  app TEXT NOT NULL,
  peer_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  metadata TEXT,
  opened BIGINT NOT NULL,
  closed BIGINT,
  code BIGINT,
  reason TEXT,
  -- 1: its connection.opened was written, or it was there before anyone asked.
  is_said BIGINT NOT NULL
);
CREATE INDEX tracked_connections_node ON tracked_connections (node);
CREATE INDEX tracked_connections_app ON tracked_connections (app);
CREATE INDEX tracked_connections_new ON tracked_connections (opened) WHERE is_said = 0 OR closed IS NOT NULL;

-- A peer in a channel, as a node shows it: also while it lingers without a connection.
CREATE TABLE tracked_members (
  node TEXT NOT NULL,
  app TEXT NOT NULL,
  channel TEXT NOT NULL,
  peer_id TEXT NOT NULL,
  metadata TEXT,
  since BIGINT NOT NULL,
  -- It has left, or its node has: from then on the row counts for nothing. NULL: it is there.
  until BIGINT,
  is_said BIGINT NOT NULL,
  PRIMARY KEY (node, app, channel, peer_id)
);
CREATE INDEX tracked_members_app ON tracked_members (app, channel, peer_id);
CREATE INDEX tracked_members_new ON tracked_members (since) WHERE is_said = 0;
CREATE INDEX tracked_members_until ON tracked_members (until) WHERE until IS NOT NULL;

-- What endpoints were told: compared with the rows above.
CREATE TABLE said_members (
  app TEXT NOT NULL,
  channel TEXT NOT NULL,
  peer_id TEXT NOT NULL,
  metadata TEXT,
  PRIMARY KEY (app, channel, peer_id)
);

CREATE TABLE said_channels (
  app TEXT NOT NULL,
  channel TEXT NOT NULL,
  -- It has no member any more: vacated is said then, unless someone comes back. NULL: it is occupied.
  vacated_at BIGINT,
  PRIMARY KEY (app, channel)
);
CREATE INDEX said_channels_vacated ON said_channels (vacated_at) WHERE vacated_at IS NOT NULL;

-- Quotas that were reached: said once per period and kind.
CREATE TABLE said_quotas (
  app TEXT NOT NULL,
  -- Unix seconds of its beginning.
  period BIGINT NOT NULL,
  kind TEXT NOT NULL,
  PRIMARY KEY (app, period, kind)
);

INSERT INTO webhook_apps (app)
  SELECT DISTINCT app FROM rooms WHERE archived IS NULL AND fields LIKE '%Webhook":"%';
