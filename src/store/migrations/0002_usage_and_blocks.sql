-- Usage of an application in a period: a calendar month in UTC, named by its first second.
CREATE TABLE usage (
  app TEXT NOT NULL,
  period BIGINT NOT NULL,
  messages BIGINT NOT NULL,
  peak_connections BIGINT NOT NULL,
  PRIMARY KEY (app, period)
);

-- Peers that may not connect before a time, in Unix ms.
CREATE TABLE blocks (
  app TEXT NOT NULL,
  peer_id TEXT NOT NULL,
  until_ms BIGINT NOT NULL,
  PRIMARY KEY (app, peer_id)
);
