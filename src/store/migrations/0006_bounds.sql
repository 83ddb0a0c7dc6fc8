-- Rooms of an application that are not archived: creating and archiving change it in the same transaction, and first. Who holds
-- its row is alone in doing so, so that a cap holds however many create at once.
CREATE TABLE room_counters (
  app TEXT PRIMARY KEY REFERENCES apps (id),
  live BIGINT NOT NULL
);
INSERT INTO room_counters (app, live) SELECT app, COUNT(*) FROM rooms WHERE archived IS NULL GROUP BY app;

-- Blocks that have ended are looked for once a minute.
CREATE INDEX blocks_until ON blocks (until_ms);

-- One row, written by /readyz to see whether anything can be written.
CREATE TABLE trials (
  id INTEGER PRIMARY KEY,
  filler TEXT NOT NULL
);
