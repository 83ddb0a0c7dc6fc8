/** The recordings of one meeting: who, from where, when in the meeting, how long. */
import type { ComponentChildren } from "preact";
import { playbackPage, recordingPage } from "../../address/links.ts";
import type { Meeting, Recording } from "../../api/room-types.ts";
import { CHANGES_EVERY_MS, useList } from "../../live/live.ts";
import { recordingsPath, sourceOf } from "../../live/recordings.ts";
import { bytes, exactTime, position } from "../../text/format.ts";
import { Empty } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Time } from "../../ui/values.tsx";
import { Thumbnail } from "./thumbnail.tsx";
import { WhoSpoke } from "./who-spoke.tsx";

/** The most recordings that the call lists at once. */
const PAGE_MAX = 100;
/** Longer tables are not stacked where it is narrow. */
const STACKED_MAX = 60;

export function MeetingRecordings({ app, meeting }: { readonly app: string; readonly meeting: Meeting }) {
  const { _id, startTime } = meeting;
  const filter = new URLSearchParams({ meetingSession: _id, order: "asc" });
  const list = useList<Recording>(`${recordingsPath(app)}?${filter}`, {
    limitMax: PAGE_MAX,
    everyMs: CHANGES_EVERY_MS,
    idOf: (one) => one._id,
  });
  if (!list.data) return null;
  return (
    <>
      <WhoSpoke app={app} meeting={_id} rows={list.data} hasMore={list.hasMore} />
      <Card title="Recordings" aside={list.data.length > 0 && <a href={playbackPage(app, _id)}>Play all together</a>}>
        <RecordingTable
          app={app}
          rows={list.data}
          meetingStart={startTime}
          hasMore={list.hasMore}
          loadMore={list.loadMore}
          empty={<NoRecordings of={meeting} />}
        />
      </Card>
    </>
  );
}

const NoRecordings = ({ of: { recording, active } }: { readonly of: Meeting }) =>
  recording ? (
    <Empty title="No recordings are complete yet.">
      A file is listed when its person has left, or when recording has stopped, and all of it has arrived.
    </Empty>
  ) : active ? (
    <Empty title="This meeting is not being recorded.">Start recording above, or from inside as an admin.</Empty>
  ) : (
    <Empty title="This meeting has no recordings." />
  );

interface RecordingTableProps {
  readonly app: string;
  readonly rows: readonly Recording[];
  /** undefined: the meeting is not known, and the time of day is shown instead. */
  readonly meetingStart: number | undefined;
  readonly hasMore: boolean;
  readonly loadMore: () => Promise<void>;
  readonly empty: ComponentChildren;
}

export function RecordingTable({ app, rows, meetingStart, hasMore, loadMore, empty }: RecordingTableProps) {
  // The list has the order of completion.
  const sorted = [...rows].sort((one, other) => one.startTime - other.startTime);
  const columns: readonly Column<Recording>[] = [
    { title: "Name", cell: (one) => <PlayLink app={app} of={one} /> },
    { title: "Source", width: 18, cell: (one) => sourceOf(one) },
    {
      title: meetingStart === undefined ? "Started" : "Starts at",
      width: 16,
      isNumber: true,
      cell: ({ startTime }) =>
        meetingStart === undefined ? (
          <Time at={startTime} />
        ) : (
          <span title={exactTime(startTime)}>{position(startTime - meetingStart)}</span>
        ),
    },
    { title: "Length", width: 16, isNumber: true, cell: ({ startTime, endTime }) => position(endTime - startTime) },
    { title: "Size", width: 14, isNumber: true, cell: ({ sizeInBytes }) => bytes(sizeInBytes) },
  ];
  return (
    <Table
      label="Recordings"
      columns={columns}
      rows={sorted}
      keyOf={({ _id }) => _id}
      isVirtual
      isStacked={rows.length <= STACKED_MAX}
      hasMore={hasMore}
      loadMore={loadMore}
      empty={empty}
    />
  );
}

/** Several recordings have the same name: a screen reader needs to say which one it is. */
export const PlayLink = ({ app, of: one }: { readonly app: string; readonly of: Recording }) => (
  <span class="row tight">
    <Thumbnail app={app} of={one} />
    <a
      class="name"
      href={recordingPage(app, one._id)}
      title={one.participantUsername}
      aria-label={`${one.participantUsername}, ${sourceOf(one)}, ${exactTime(one.startTime)}`}
    >
      {one.participantUsername}
    </a>
    {one.mended === false && (
      <span title="The file could not be mended: it has no duration and no index, as it came from the browser.">
        <Badge kind="warn">may not seek</Badge>
      </span>
    )}
  </span>
);
