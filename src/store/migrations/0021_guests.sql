-- What guests of rooms use of what an application may use: of all of it they have a share together. What is older counts for no guest.

-- Those of the messages that guests have sent.
ALTER TABLE usage ADD COLUMN guest_messages BIGINT NOT NULL DEFAULT 0;

-- 1: the page of a guest sends it, or has sent it; and how many bytes such recordings of an application have.
ALTER TABLE uploads ADD COLUMN by_guest BIGINT NOT NULL DEFAULT 0;
ALTER TABLE recordings ADD COLUMN by_guest BIGINT NOT NULL DEFAULT 0;
ALTER TABLE recording_counters ADD COLUMN guest_bytes BIGINT NOT NULL DEFAULT 0;
