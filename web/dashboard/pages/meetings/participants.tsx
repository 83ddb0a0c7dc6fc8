/** Who is or was in a meeting, and what an operator does about them. */
import type { ComponentChildren } from "preact";
import { nowSeconds } from "../../api/now.ts";
import type { Meeting, Participant } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { END_REASONS, endMeeting, insideOf, people, putOut } from "../../live/meetings.ts";
import { duration } from "../../text/format.ts";
import { confirm } from "../../ui/dialog.tsx";
import { toast } from "../../ui/notice.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Name, Time } from "../../ui/values.tsx";

interface ParticipantsProps {
  readonly app: string;
  /** Its id, because a room may be renamed while people are inside. */
  readonly room: string;
  readonly rows: readonly Participant[];
  /** All of them are inside: when they left and why is left out. */
  readonly isNow?: boolean;
  readonly empty: ComponentChildren;
  readonly reload: () => Promise<void>;
}

/** Longer tables are not stacked where it is narrow. */
const STACKED_MAX = 60;

export function Participants({ app, room, rows, isNow = false, empty, reload }: ParticipantsProps) {
  const columns: readonly (Column<Participant> | false)[] = [
    { title: "Name", cell: (one) => <Who of={one} /> },
    {
      title: "User id",
      width: isNow ? 18 : 12,
      isMinor: true,
      cell: ({ externalUserId }) => (externalUserId === undefined ? "–" : <Name>{externalUserId}</Name>),
    },
    { title: "Entered", width: 12, cell: ({ startTime }) => <Time at={startTime} /> },
    {
      title: "Stayed",
      width: 11,
      isNumber: true,
      cell: ({ startTime, endTime }) => duration((endTime ?? nowSeconds.value) - startTime),
    },
    !isNow && {
      title: "Left",
      width: 11,
      isMinor: true,
      cell: ({ endTime }) => (endTime === undefined ? "–" : <Time at={endTime} />),
    },
    !isNow && {
      title: "State",
      width: 15,
      cell: ({ endReason }) => (endReason === undefined ? <Badge kind="good">inside</Badge> : END_REASONS[endReason]),
    },
    mayChange.value &&
      rows.some(({ endTime }) => endTime === undefined) && {
        title: "Actions",
        width: 11,
        cell: (one) =>
          one.endTime === undefined && (
            <button
              type="button"
              class="small danger"
              aria-label={`Put out ${one.name}`}
              onClick={() => askToPutOut(app, room, one, reload)}
            >
              Put out
            </button>
          ),
      },
  ];
  return (
    <Table
      label={isNow ? "People inside" : "Participants"}
      columns={columns.filter((one) => one !== false)}
      rows={rows}
      keyOf={({ _id }) => _id}
      isVirtual
      isStacked={rows.length <= STACKED_MAX}
      empty={empty}
    />
  );
}

const Who = ({ of: { name, isAdmin, isGuest } }: { readonly of: Participant }) => (
  <span class="row tight">
    <span class="name" title={name}>
      {name}
    </span>
    {isAdmin && <Badge kind="accent">admin</Badge>}
    {isGuest && (
      <span title="No access token vouches for this name.">
        <Badge>guest</Badge>
      </span>
    )}
  </span>
);

function askToPutOut(app: string, room: string, one: Participant, reload: () => Promise<void>): void {
  confirm({
    title: `Put out ${one.name}?`,
    text: one.isGuest
      ? "The person's page closes and says that they were removed. A guest cannot be recognised and could come in again: lock the meeting from inside, or make the room private."
      : "The person's page closes and says that they were removed. Their access token and user id are refused until this meeting is over.",
    submit: "Put out",
    isDanger: true,
    run: async () => {
      await putOut(app, room, one);
      toast(`${one.name} is put out.`);
      await reload();
    },
  });
}

interface EndProps {
  readonly app: string;
  readonly meeting: Meeting;
  readonly reload: () => Promise<void>;
}

export const EndMeeting = (props: EndProps) => (
  <button type="button" class="danger" onClick={() => askToEnd(props)}>
    End the meeting …
  </button>
);

function askToEnd({ app, meeting, reload }: EndProps): void {
  const { room, roomName } = meeting;
  confirm({
    title: `End the meeting in ${roomName}?`,
    text: `${people(insideOf(meeting).length)} inside: all of them are put out at once. The room stays, and the next person who enters begins a new meeting.`,
    submit: "End the meeting",
    isDanger: true,
    run: async () => {
      await endMeeting(app, room);
      toast(`The meeting in ${roomName} is over.`);
      await reload();
    },
  });
}
