-- Operators with tokens of their own, sessions of the dashboard, and the audit. Of tokens and cookies only digests are kept.
CREATE TABLE operators (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  digest TEXT NOT NULL,
  created BIGINT NOT NULL,
  last_used BIGINT,
  revoked BIGINT
);
-- The name of a revoked operator can be used again.
CREATE UNIQUE INDEX operators_live_name ON operators (name) WHERE revoked IS NULL;

-- `operator` is null for the admin token. `credential` is derived from the token that the session was made with: another admin token
-- ends the sessions of the earlier one.
CREATE TABLE dashboard_sessions (
  digest TEXT PRIMARY KEY,
  operator TEXT,
  credential TEXT NOT NULL,
  created BIGINT NOT NULL,
  ends BIGINT NOT NULL
);

-- Changes by operators, applications and commands. Ids are ordered by time. `by_app` is 1 for changes that an application made with its own secret key: their
-- number is limited per application.
CREATE TABLE audit (
  id TEXT PRIMARY KEY,
  at BIGINT NOT NULL,
  who TEXT NOT NULL,
  what TEXT NOT NULL,
  target TEXT NOT NULL,
  app TEXT,
  address TEXT,
  before_json TEXT,
  after_json TEXT,
  by_app BIGINT NOT NULL
);
CREATE INDEX audit_app ON audit (app, by_app, id);
CREATE INDEX audit_who ON audit (who, id);
CREATE INDEX audit_what ON audit (what, id);

-- Whether operators may see messages of the application. Off, except for the demo application.
ALTER TABLE apps ADD COLUMN console_payloads BIGINT NOT NULL DEFAULT 0;
