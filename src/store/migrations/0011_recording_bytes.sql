-- How many bytes the recordings of an application have, kept like their number: summing a million rows for a page would be slow.
ALTER TABLE recording_counters ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
UPDATE recording_counters SET bytes = COALESCE((SELECT SUM(r.size_in_bytes) FROM recordings r WHERE r.app = recording_counters.app), 0);
