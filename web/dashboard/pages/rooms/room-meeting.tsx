/** Who is inside a room now. */
import { meetingPage } from "../../address/links.ts";
import { nowSeconds } from "../../api/now.ts";
import type { Meeting, Room } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { insideOf } from "../../live/meetings.ts";
import { inText } from "../../text/in-text.ts";
import { openingOf, people } from "../../text/room-text.ts";
import { Empty, Notice } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { Badge, Time } from "../../ui/values.tsx";
import { EndMeeting, Participants } from "../meetings/participants.tsx";
import { RecordButton, RecordingMark } from "../meetings/recording-state.tsx";
import { HostButton } from "./join-as-host.tsx";

interface RoomMeetingProps {
  readonly app: string;
  readonly room: Room;
  readonly meeting: Meeting | undefined;
  readonly reload: () => Promise<void>;
}

export function RoomMeeting({ app, room, meeting, reload }: RoomMeetingProps) {
  const { _id, roomName } = room;
  const inside = meeting ? insideOf(meeting) : [];
  return (
    <Card title="Inside now">
      <Waiting app={app} room={room} />
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

/** A lobby may be full: not every name is in the sentence. */
const NAMES_MAX = 5;

function Waiting({ app, room }: Pick<RoomMeetingProps, "app" | "room">) {
  const { waiting = [] } = room;
  const more = waiting.length - NAMES_MAX;
  const names = waiting.slice(0, NAMES_MAX).map(({ name }) => inText(name));
  const isHostPossible = mayChange.value && openingOf(room, nowSeconds.value) !== "over";
  return (
    <div role="status">
      {waiting.length > 0 && (
        <Notice kind="warn">
          <p class="waiting">
            <span>
              <strong>{waiting.length} waiting:</strong> {names.join(", ")}
              {more > 0 && ` and ${more} more`}
            </span>
            {isHostPossible ? (
              <HostButton app={app} room={room} class="small push">
                Join as host to let them in
              </HostButton>
            ) : (
              <span class="muted">A host inside the room lets them in.</span>
            )}
          </p>
        </Notice>
      )}
    </div>
  );
}
