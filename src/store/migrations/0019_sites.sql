-- Who waits for a room or is about to enter it, also by the site: one IPv6 site has many networks.

-- A digest of the client's /48; null for IPv4.
ALTER TABLE lobby_tickets ADD COLUMN site TEXT;

-- 1: the place of a caller with an access token, or of a visitor who was let in. Such callers may take the place that a guest holds.
ALTER TABLE held_places ADD COLUMN is_verified BIGINT NOT NULL DEFAULT 0;
