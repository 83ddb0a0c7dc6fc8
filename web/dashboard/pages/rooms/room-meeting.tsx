/** Who is inside a room now. */
import { meetingPage } from "../../address/links.ts";
import type { Meeting, Room } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { insideOf } from "../../live/meetings.ts";
import { people } from "../../text/room-text.ts";
import { Empty } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { Badge, Time } from "../../ui/values.tsx";
import { EndMeeting, Participants } from "../meetings/participants.tsx";
import { RecordButton, RecordingMark } from "../meetings/recording-state.tsx";

interface RoomMeetingProps {
  readonly app: string;
  readonly room: Room;
  readonly meeting: Meeting | undefined;
  readonly reload: () => Promise<void>;
}

export function RoomMeeting({ app, room: { _id, roomName }, meeting, reload }: RoomMeetingProps) {
  const inside = meeting ? insideOf(meeting) : [];
  return (
    <Card title="Inside now">
      {meeting && (
        <div class="toolbar list-head">
          <span role="status">
            <Badge kind="good">live</Badge> {people(inside.length)} inside,{" "}
            <a href={meetingPage(app, meeting._id)}>
              started <Time at={meeting.startTime} />
            </a>
            {meeting.locked && ", locked"} <RecordingMark of={meeting} />
          </span>
          {mayChange.value && (
            <span class="row push">
              <RecordButton app={app} meeting={meeting} inside={inside.length} reload={reload} />
              <EndMeeting app={app} meeting={meeting} reload={reload} />
            </span>
          )}
        </div>
      )}
      <Participants
        app={app}
        room={_id}
        roomName={roomName}
        rows={inside}
        isNow
        reload={reload}
        empty={
          <Empty title={meeting ? "The last person has just left." : "No one is inside."}>
            People who open the link appear here.
            {mayChange.value && " To manage the meeting, join as host."}
          </Empty>
        }
      />
    </Card>
  );
}
