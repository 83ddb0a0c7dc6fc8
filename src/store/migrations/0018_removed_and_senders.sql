-- Recordings: people who were removed, and whose files wait to be mended.

-- A digest of the address from which the page of a stay began the upload. The files of one sender take turns with those of others.
ALTER TABLE uploads ADD COLUMN sender TEXT;

-- Stays whose pages may not record any more: of a person who was removed, and earlier ones of the same user in that meeting.
CREATE VIEW barred_stays AS
  SELECT s.id FROM stays s WHERE s.why = 'removed' OR (s.external_user_id IS NOT NULL AND EXISTS (
    SELECT 1 FROM stays r
    WHERE r.meeting = s.meeting AND r.why = 'removed' AND r.external_user_id = s.external_user_id));
