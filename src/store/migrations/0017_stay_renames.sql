-- How often a guest has renamed itself in a stay.
ALTER TABLE stays ADD COLUMN renames BIGINT NOT NULL DEFAULT 0;
