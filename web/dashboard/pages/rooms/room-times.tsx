/** When a room is open next, and the meetings that were in it. */
import { editRoomPage, meetingPage, meetingsPage } from "../../address/links.ts";
import { put } from "../../api/client.ts";
import { nowSeconds } from "../../api/now.ts";
import type { Meeting, Room } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import type { LiveList } from "../../live/live.ts";
import { roomPath } from "../../live/meetings.ts";
import { appointment, duration, whole } from "../../text/format.ts";
import { audienceOf, openHours, openingOf, openNow, scheduleOf, timesOf } from "../../text/room-text.ts";
import { confirm } from "../../ui/dialog.tsx";
import { Empty, messageOf, toast } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Time } from "../../ui/values.tsx";

interface RoomTimesProps {
  readonly app: string;
  readonly room: Room;
}

interface NextMeetingProps extends RoomTimesProps {
  readonly reload: () => Promise<unknown>;
}

export const NextMeeting = ({ app, room, reload }: NextMeetingProps) => (
  <Card
    title={openingOf(room, nowSeconds.value) === "later" ? "Next meeting" : "Open"}
    aside={mayChange.value && <a href={editRoomPage(app, room.roomName, "Schedule")}>Change the schedule</a>}
  >
    <When room={room} />
    {mayChange.value && openingOf(room, nowSeconds.value) === "later" && (
      <p class="spaced">
        <button type="button" onClick={() => askToOpen(app, room, reload)}>
          Open now …
        </button>
      </p>
    )}
  </Card>
);

/** The access token of a person may have a time of its own, which wins. */
function askToOpen(app: string, room: Room, reload: () => Promise<unknown>): void {
  const { roomName } = room;
  const { opens = 0 } = timesOf(room);
  const { closes } = timesOf(openNow(room, nowSeconds.peek()));
  const set = async (times: object): Promise<void> => {
    await put(roomPath(app, roomName), times);
    await reload();
  };
  const undo = (): Promise<void> =>
    set(scheduleOf(room)).then(
      () => toast(`${roomName} is closed until ${appointment(opens)}.`),
      (error) => toast(messageOf(error), "bad"),
    );
  confirm({
    title: `Open ${roomName} now`,
    text: (
      <>
        <p>
          It opens now{closes !== undefined && ` and closes ${appointment(closes)}`}
          {room.deleteOnExp === true && closes !== undefined && ", and is deleted then"}. People who wait on its page{" "}
          {audienceOf(room) === "lobby" ? "can ask to join" : "get in"} within about 15 seconds.
        </p>
        <p>
          This replaces the time in its schedule, {openHours(room)}. To go back to that time, undo this or edit the
          schedule. Access tokens with a start of their own do not work earlier.
        </p>
      </>
    ),
    submit: "Open the room",
    run: async () => {
      await set(openNow(room, nowSeconds.peek()));
      toast(`${roomName} is open.`, "good", { label: "Undo", run: () => void undo() });
    },
  });
}

function When({ room }: { readonly room: Room }) {
  const { opens, closes } = timesOf(room);
  switch (openingOf(room, nowSeconds.value)) {
    case "always":
      return <p>At any time: a meeting starts when someone joins.</p>;
    case "over":
      return (
        <p>
          No: the room closed <Time at={closes} />, and no one can enter.
        </p>
      );
    case "later":
      return (
        <p>
          <strong>{openHours(room)}</strong>{" "}
          <Badge kind="accent">
            opens <Time at={opens} />
          </Badge>
        </p>
      );
    case "now":
      return (
        <p>
          <strong>{openHours(room)}</strong>{" "}
          <Badge kind="good">
            closes <Time at={closes} />
          </Badge>
        </p>
      );
  }
}

/** How many of them the page of a room lists. */
export const PAST_MAX = 5;

interface PastMeetingsProps extends RoomTimesProps {
  readonly list: Pick<LiveList<Meeting>, "data" | "total">;
  /** The last one is not in the list yet. */
  readonly isEnding: boolean;
}

export function PastMeetings({ app, room, list: { data = [], total = 0 }, isEnding }: PastMeetingsProps) {
  const columns: readonly Column<Meeting>[] = [
    {
      title: "Started",
      cell: ({ _id, startTime }) => <a href={meetingPage(app, _id)}>{appointment(startTime)}</a>,
    },
    {
      title: "Lasted",
      width: 30,
      isNumber: true,
      cell: ({ startTime, endTime = startTime }) => duration(endTime - startTime),
    },
  ];
  return (
    <Card
      title="Past meetings"
      aside={total > 0 && <a href={meetingsPage(app, room._id)}>{total > PAST_MAX ? `All ${whole(total)}` : "All"}</a>}
    >
      <Table
        label="Past meetings"
        columns={columns}
        rows={data.slice(0, PAST_MAX)}
        keyOf={({ _id }) => _id}
        empty={
          <Empty title={isEnding ? "Ending …" : "None yet."}>
            {isEnding
              ? "The last meeting is listed here in a moment."
              : "Meetings are listed here once they have ended."}
          </Empty>
        }
      />
      {isEnding && data.length > 0 && <p class="muted small">The last meeting is ending, and is listed in a moment.</p>}
    </Card>
  );
}
