/** Who is or was in a meeting, and what an operator does about them. */
import type { ComponentChildren } from "preact";
import { get } from "../../api/client.ts";
import { nowSeconds } from "../../api/now.ts";
import type { Meeting, Participant, Room } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { END_REASONS, endMeeting, insideOf, makePrivate, removePerson, roomPath } from "../../live/meetings.ts";
import { clock, duration, exactTime } from "../../text/format.ts";
import { people } from "../../text/room-text.ts";
import { confirm, nameToType } from "../../ui/dialog.tsx";
import { toast } from "../../ui/notice.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Name, Time } from "../../ui/values.tsx";

interface ParticipantsProps {
  readonly app: string;
  /** Its id, because a room may be renamed while people are inside. */
  readonly room: string;
  /** The name it had, or has. */
  readonly roomName: string;
  readonly rows: readonly Participant[];
  /** All of them are inside: when they left and why is left out. */
  readonly isNow?: boolean;
  readonly empty: ComponentChildren;
  readonly reload: () => Promise<void>;
}

/** Longer tables are not stacked where it is narrow. */
const STACKED_MAX = 60;

export function Participants({ app, room, roomName, rows, isNow = false, empty, reload }: ParticipantsProps) {
  // In a record of a meeting, what counts is the time on the clock.
  const at = (time: number) => (isNow ? <Time at={time} /> : <span title={exactTime(time)}>{clock(time * 1000)}</span>);
  const isStacked = rows.length <= STACKED_MAX;
  const columns: readonly (Column<Participant> | false)[] = [
    { title: "Name", cell: (one) => <Who of={one} />, ...(!isStacked && { below: timesOf }) },
    {
      title: "User ID",
      width: isNow ? 18 : 13,
      isMedium: true,
      cell: ({ externalUserId }) => (externalUserId === undefined ? "–" : <Name>{externalUserId}</Name>),
    },
    { title: "Joined", rem: isNow ? 7.25 : 6.5, isMedium: true, cell: ({ startTime }) => at(startTime) },
    {
      title: "Stayed",
      rem: 7,
      isNumber: true,
      isMedium: true,
      cell: (one) => stayOf(one),
    },
    !isNow && {
      title: "Left",
      rem: 6.5,
      isMinor: true,
      cell: ({ endTime }) => (endTime === undefined ? "–" : at(endTime)),
    },
    !isNow && {
      title: "Why they left",
      rem: 8.75,
      isMedium: true,
      cell: ({ endReason }) =>
        endReason === undefined ? <Badge kind="good">still inside</Badge> : END_REASONS[endReason],
    },
    mayChange.value &&
      rows.some(({ endTime }) => endTime === undefined) && {
        title: "Actions",
        rem: 7,
        cell: (one) =>
          one.endTime === undefined && (
            <button
              type="button"
              class="small danger"
              aria-label={`Remove ${one.name}`}
              onClick={() => askToRemove({ app, room, roomName, one, reload })}
            >
              Remove …
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
      isStacked={isStacked}
      empty={empty}
    />
  );
}

const stayOf = ({ startTime, endTime }: Participant): string => duration((endTime ?? nowSeconds.value) - startTime);

const timesOf = (one: Participant): string =>
  [clock(one.startTime * 1000), stayOf(one), one.endReason === undefined ? "inside" : END_REASONS[one.endReason]].join(
    " · ",
  );

const Who = ({ of: { name, isAdmin, isGuest } }: { readonly of: Participant }) => (
  <span class="row tight">
    <span class="name" title={name}>
      {name}
    </span>
    {isAdmin && <Badge kind="accent">host</Badge>}
    {isGuest && (
      <span title="No access token vouches for this name.">
        <Badge>guest</Badge>
      </span>
    )}
  </span>
);

interface Removal extends Pick<ParticipantsProps, "app" | "room" | "roomName" | "reload"> {
  readonly one: Participant;
}

async function askToRemove({ app, room, roomName, one, reload }: Removal): Promise<void> {
  const isOpenTo = (found: Room): boolean => found._id === room && found.privacy === "public";
  const isPublic = one.isGuest && (await get<Room>(roomPath(app, roomName)).then(isOpenTo, () => false));
  confirm({
    title: `Remove ${one.name}?`,
    text: `${one.name} leaves the meeting at once, and their page says why. ${returnOf(one, isPublic)}`,
    submit: "Remove",
    isDanger: true,
    option: isPublic
      ? {
          label: "Also make the room private",
          help: "From then on, people without an access token can join only if a host lets them in. Everyone inside stays.",
        }
      : undefined,
    run: async (isMadePrivate) => {
      if (isMadePrivate) await makePrivate(app, roomName);
      await removePerson(app, room, one);
      toast(`${one.name} was removed.${isMadePrivate ? " The room is now private." : ""}`);
      await reload();
    },
  });
}

/** Whether the person can come back. */
function returnOf({ isGuest }: Participant, isPublic: boolean): string {
  if (!isGuest) return "Their access token and user ID are refused until this meeting ends.";
  if (isPublic) return "A guest cannot be recognised: anyone with the link can come back.";
  return "A guest cannot be recognised: they can ask to join again, under another name too.";
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
    text: `${people(insideOf(meeting).length)} inside: this ends the meeting for everyone. The room stays, and the next person who joins starts a new meeting.`,
    submit: "End the meeting",
    isDanger: true,
    typed: nameToType(roomName, insideOf(meeting).length),
    run: async () => {
      await endMeeting(app, room);
      toast(`The meeting in ${roomName} has ended.`);
      await reload();
    },
  });
}
