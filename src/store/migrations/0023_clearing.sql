-- What is left of a deleted application, and rows that are too old, are removed (src/durable/sweep).

-- Unix ms. Set when nothing is left of a deleted application but what src/durable/inventory says is kept.
ALTER TABLE apps ADD COLUMN cleared BIGINT;
CREATE INDEX apps_to_clear ON apps (id) WHERE deleted IS NOT NULL AND cleared IS NULL;

-- By what is removed: the rows of an application, and the oldest rows.
CREATE INDEX rooms_archived_app ON rooms (app, id) WHERE archived IS NOT NULL;
CREATE INDEX rooms_archived ON rooms (archived, id) WHERE archived IS NOT NULL;
CREATE INDEX deleted_recordings_app ON deleted_recordings (app, seq);
CREATE INDEX deleted_recordings_removed ON deleted_recordings (removed, id) WHERE removed IS NOT NULL;
CREATE INDEX keys_revoked ON keys (revoked) WHERE revoked IS NOT NULL;

-- Earlier versions kept the secrets of what they revoked and deleted.
DELETE FROM key_secrets WHERE key_id IN (SELECT id FROM keys WHERE revoked IS NOT NULL);
UPDATE apps SET secret_sealed = '', secret_digest = '', previous_secrets = '[]' WHERE deleted IS NOT NULL;
