-- Recordings: an access token without a user tells a removed person as well as it can be told.

CREATE INDEX stays_removed ON stays (meeting) WHERE why = 'removed';

-- Stays whose pages may not record any more: of a person who was removed, and in that meeting those of the same user, and earlier ones with the same access
-- token. Several people may share a token: a stay that goes on after the removal is another person's.
DROP VIEW barred_stays;
CREATE VIEW barred_stays AS
  SELECT s.id FROM stays s WHERE s.why = 'removed' OR EXISTS (
    SELECT 1 FROM stays r WHERE r.meeting = s.meeting AND r.why = 'removed'
      AND (r.external_user_id = s.external_user_id OR (r.access_token = s.access_token AND s.ended <= r.ended)));
