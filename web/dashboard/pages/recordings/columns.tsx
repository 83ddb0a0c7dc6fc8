/** What the list of recordings shows of each, and what its file has. */
import { playbackPage } from "../../address/links.ts";
import type { Recording } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { sourceOf } from "../../live/recordings.ts";
import type { CsvColumn } from "../../text/csv.ts";
import { bytes, exactTime, position } from "../../text/format.ts";
import type { Column } from "../../ui/table.tsx";
import { Badge, Name, Time } from "../../ui/values.tsx";
import { PlayLink } from "./meeting-recordings.tsx";

/** A CSV file has everything that the call says of a recording. */
export const FILE_COLUMNS: readonly CsvColumn<Recording>[] = [
  { title: "Name", value: ({ participantUsername }) => participantUsername },
  { title: "Room", value: ({ room, roomName }) => roomName ?? room },
  { title: "Source", value: sourceOf },
  { title: "Started", value: ({ startTime }) => startTime, isTime: true },
  { title: "Ended", value: ({ endTime }) => endTime, isTime: true },
  { title: "Seconds", value: ({ startTime, endTime }) => endTime - startTime },
  { title: "Seconds of speech", value: ({ speechMs }) => (speechMs === undefined ? undefined : speechMs / 1000) },
  { title: "Bytes", value: ({ sizeInBytes }) => sizeInBytes },
  { title: "Completed", value: ({ completed }) => completed, isTime: true },
  { title: "File", value: ({ downloadName }) => downloadName },
  { title: "Id", value: ({ _id }) => _id },
  { title: "meetingSession", value: ({ meetingSession }) => meetingSession },
  { title: "participantSession", value: ({ participantSession }) => participantSession },
];

interface RowActions {
  readonly isChosen: (one: Recording) => boolean;
  readonly choose: (one: Recording, isOn: boolean) => void;
}

export function columnsOf(app: string, { isChosen, choose }: RowActions): readonly Column<Recording>[] {
  const mark: Column<Recording> = {
    title: "Select",
    rem: 4.5,
    cell: (one) => (
      <label class="pick">
        <span class="hidden-text">
          Select {one.participantUsername}, {sourceOf(one)}, {exactTime(one.startTime)}
        </span>
        <input type="checkbox" checked={isChosen(one)} onChange={(event) => choose(one, event.currentTarget.checked)} />
      </label>
    ),
  };
  return [
    ...(mayChange.value ? [mark] : []),
    {
      title: "Name",
      value: ({ participantUsername }) => participantUsername,
      cell: (one) => <PlayLink app={app} of={one} />,
      below: (one) => (
        <>
          <Time at={one.startTime} /> · {position(one.endTime - one.startTime)} · {sourceOf(one)} ·{" "}
          {one.roomName ?? one.room}
        </>
      ),
    },
    {
      title: "Meeting",
      rem: 6,
      isMinor: true,
      cell: (one) => (
        <a
          href={playbackPage(app, one.meetingSession)}
          aria-label={`Play all of the meeting with ${one.participantUsername}, ${exactTime(one.startTime)}`}
        >
          Play all
        </a>
      ),
    },
    {
      title: "Room",
      width: 16,
      isMinor: true,
      value: ({ room, roomName }) => roomName ?? room,
      cell: ({ room, roomName }) => <Name>{roomName ?? room}</Name>,
    },
    { title: "Source", rem: 8, isMinor: true, value: sourceOf, cell: (one) => <Badge>{sourceOf(one)}</Badge> },
    {
      title: "Started",
      rem: 8,
      isMinor: true,
      isTime: true,
      value: ({ startTime }) => startTime,
      cell: ({ startTime }) => <Time at={startTime} />,
    },
    {
      title: "Length",
      rem: 6,
      isNumber: true,
      isMinor: true,
      value: ({ startTime, endTime }) => endTime - startTime,
      cell: ({ startTime, endTime }) => position(endTime - startTime),
    },
    {
      title: "Size",
      rem: 6,
      isNumber: true,
      isMinor: true,
      value: ({ sizeInBytes }) => sizeInBytes,
      cell: ({ sizeInBytes }) => bytes(sizeInBytes),
    },
  ];
}
