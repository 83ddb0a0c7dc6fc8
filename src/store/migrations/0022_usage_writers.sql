-- The last write of usage of each process that counts it: a write that is repeated, because its answer was lost, must not be added again.
CREATE TABLE usage_writers (
  writer TEXT PRIMARY KEY,
  seq BIGINT NOT NULL,
  -- Unix ms of that write: rows of processes that have ended are removed by their age.
  written BIGINT NOT NULL
);
