-- One index per field that a list of recordings can be filtered by, in the order of `seq`, instead of one per pair of fields.
-- docs/recordings-performance.md has the plans and the measurements.
DROP INDEX recordings_participant;
DROP INDEX recordings_meeting;
DROP INDEX recordings_room_username;
DROP INDEX recordings_username_start;
DROP INDEX recordings_room_start;
DROP INDEX recordings_room_type;
DROP INDEX recordings_username_type;
DROP INDEX recordings_type_start;
DROP INDEX recordings_type;
-- The columns behind `seq` answer the other conditions without reading the row. recordings_room, recordings_username and
-- recordings_start, which stay, have all that are common; a session has few recordings, and the index of a type is used when
-- nothing else narrows the list.
CREATE INDEX recordings_participant ON recordings (app, participant_session, seq, type, start_time);
CREATE INDEX recordings_meeting ON recordings (app, meeting_session, seq, type, start_time);
CREATE INDEX recordings_type ON recordings (app, type, seq, start_time);
