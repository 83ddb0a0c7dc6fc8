-- The number of rooms of an application that are not archived. Transactions that add or archive rooms update this row first; the lock on it
-- makes the limit hold however many rooms are added at once.
CREATE TABLE room_counters (
  app TEXT PRIMARY KEY REFERENCES apps (id),
  live BIGINT NOT NULL
);
INSERT INTO room_counters (app, live) SELECT app, COUNT(*) FROM rooms WHERE archived IS NULL GROUP BY app;

-- Ended blocks are searched for once a minute.
CREATE INDEX blocks_until ON blocks (until_ms);

-- One row, which /readyz writes to check that the store can be written.
CREATE TABLE trials (
  id INTEGER PRIMARY KEY,
  filler TEXT NOT NULL
);
