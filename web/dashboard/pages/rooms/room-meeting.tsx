/** The way into a room, and who is inside now. */
import { meetingPage, meetingsPage } from "../../address/links.ts";
import type { Meeting } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { insideOf, people } from "../../live/meetings.ts";
import { Empty } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { Badge, Copy, Time } from "../../ui/values.tsx";
import { EndMeeting, Participants } from "../meetings/participants.tsx";
import { RecordButton, RecordingMark } from "../meetings/recording-state.tsx";

interface RoomMeetingProps {
  readonly app: string;
  readonly room: { readonly _id: string; readonly roomName: string };
  /** The address of the room, which anyone may have. */
  readonly link: string;
  readonly meeting: Meeting | undefined;
  readonly reload: () => Promise<void>;
}

export function RoomMeeting({ app, room: { _id, roomName }, link, meeting, reload }: RoomMeetingProps) {
  const inside = meeting ? insideOf(meeting) : [];
  return (
    <Card title="Meeting" aside={<a href={meetingsPage(app, _id)}>Past meetings</a>}>
      <div class="toolbar list-head">
        <span class="row">
          <code>{link}</code> <Copy text={link} what="link to the room" />
        </span>
      </div>
      {meeting && (
        <div class="toolbar list-head">
          <span role="status">
            <Badge kind="good">live</Badge> {people(inside.length)} inside,{" "}
            <a href={meetingPage(app, meeting._id)}>
              since <Time at={meeting.startTime} />
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
            {mayChange.value && " Without an access token no one is an admin: join as host."}
          </Empty>
        }
      />
    </Card>
  );
}
