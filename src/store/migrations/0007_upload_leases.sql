-- One writer per upload over all nodes: the holder of the lease, its end by the database's clock, and its generation. Every change by a writer is
-- conditional on its generation, so that a writer that was overtaken changes nothing.
ALTER TABLE uploads ADD COLUMN lease_owner TEXT;
ALTER TABLE uploads ADD COLUMN lease_until BIGINT;
ALTER TABLE uploads ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
-- The last generation that was released cleanly. If it is not the one before the current lease, an earlier writer may still be writing.
ALTER TABLE uploads ADD COLUMN released BIGINT NOT NULL DEFAULT 0;
-- How many bytes are flushed. NULL: the upload was begun by an earlier version, and all bytes of the storage count.
ALTER TABLE uploads ADD COLUMN kept BIGINT;
