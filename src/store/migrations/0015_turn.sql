-- Whether those who connect with a key get ICE servers, with credentials for TURN.
ALTER TABLE keys ADD COLUMN turn BIGINT NOT NULL DEFAULT 0;
