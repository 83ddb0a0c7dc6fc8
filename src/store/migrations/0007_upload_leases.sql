-- One writer per upload over all nodes: who holds the upload, until when by the database's clock, and the generation of that
-- lease. Whatever a writer changes is conditional on its generation, so that one that was overtaken changes nothing.
ALTER TABLE uploads ADD COLUMN lease_owner TEXT;
ALTER TABLE uploads ADD COLUMN lease_until BIGINT;
ALTER TABLE uploads ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
-- The last generation whose writer ended in order. One behind the current: its writer is overtaken, and may still be writing.
ALTER TABLE uploads ADD COLUMN released BIGINT NOT NULL DEFAULT 0;
-- How many bytes are flushed for certain. Absent: begun by an earlier version, and what the storage has counts.
ALTER TABLE uploads ADD COLUMN kept BIGINT;
