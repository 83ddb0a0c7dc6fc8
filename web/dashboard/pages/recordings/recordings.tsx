/** The recordings of an application: find, play, download, delete. */
import { useComputed, useSignal } from "@preact/signals";
import { playbackPage } from "../../address/links.ts";
import { parameters } from "../../address/router.ts";
import { query, remove } from "../../api/client.ts";
import type { Recording } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import type { App } from "../../api/types.ts";
import { currentApp } from "../../live/apps.ts";
import { CHANGES_EVERY_MS, isSettled, type LiveList, useDelayed, useKept, useList } from "../../live/live.ts";
import { filters, recordingsPath, sourceOf } from "../../live/recordings.ts";
import type { CsvColumn } from "../../text/csv.ts";
import { bytes, exactTime, position, whole } from "../../text/format.ts";
import { confirm } from "../../ui/dialog.tsx";
import { DownloadCsv } from "../../ui/download.tsx";
import { Empty, toast } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Name, Time } from "../../ui/values.tsx";
import { NotFound } from "../not-found.tsx";
import { RecordingFilters } from "./filters.tsx";
import { RecordingLimit } from "./limit.tsx";
import { PlayLink } from "./meeting-recordings.tsx";
import { Retention } from "./retention.tsx";

export function Recordings() {
  const app = currentApp.value;
  return app ? <RecordingsOf key={app._id} app={app} /> : <NotFound />;
}

const plural = (count: number): string => (count === 1 ? "1 recording" : `${whole(count)} recordings`);
const NONE: ReadonlySet<string> = new Set();
/** The most recordings that the call lists at once, and deletes by their ids. */
const PAGE_MAX = 100;

function RecordingsOf({ app }: { readonly app: App }) {
  const root = recordingsPath(app._id);
  const filtered = useComputed(() => query({ ...filters(), order: parameters.value.get("order") ?? "" }));
  const delayed = useDelayed(filtered);
  const list = useList<Recording>(`${root}${delayed}`, {
    limitMax: PAGE_MAX,
    everyMs: CHANGES_EVERY_MS,
    idOf: ({ _id }) => _id,
  });
  const rows = useKept(list.data);
  const chosen = useSignal(NONE);
  const choose = ({ _id }: Recording, isOn: boolean): void => {
    const next = new Set(chosen.value);
    if (isOn) next.add(_id);
    else next.delete(_id);
    chosen.value = next;
  };
  return (
    <Page
      title="Recordings"
      error={list.error}
      isReady={isSettled(rows, list.error)}
      intro="What was recorded in meetings, and files that your backend has uploaded for a room."
    >
      <Card>
        <RecordingFilters />
      </Card>
      <Card>
        <Summary
          app={app}
          root={root}
          list={list}
          isCurrent={delayed === filtered.value && list.data !== undefined}
          chosen={chosen.value}
          mark={(all) => (chosen.value = new Set(all.map(({ _id }) => _id)))}
        />
        <Table
          label="Recordings"
          isVirtual
          rows={rows ?? []}
          keyOf={({ _id }) => _id}
          hasMore={list.hasMore}
          loadMore={list.loadMore}
          columns={columnsOf(app.name, { isChosen: ({ _id }) => chosen.value.has(_id), choose })}
          empty={<NoRecordings isFiltered={Object.keys(filters()).length > 0} />}
        />
      </Card>
      <div class="halves">
        <RecordingLimit app={app} storage={list.storage} />
        <Retention app={app} />
      </div>
    </Page>
  );
}

const NoRecordings = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <Empty title="No recordings match these filters." />
  ) : (
    <Empty title="No recordings yet.">
      Record a meeting: turn on <code>enableRecording</code> of its room for a button inside, or <code>recordRoom</code>{" "}
      to record from the first second. Your backend can upload files too, with <code>POST /api/v1/recording</code>.
    </Empty>
  );

interface SummaryProps {
  readonly app: App;
  readonly root: string;
  readonly list: LiveList<Recording>;
  /** The list is that of the present filters. */
  readonly isCurrent: boolean;
  readonly chosen: ReadonlySet<string>;
  /** Selects these, and no others. */
  readonly mark: (these: readonly Recording[]) => void;
}

/** How many there are and what they take, and what can be done with several at once. */
function Summary({ app, root, list, isCurrent, chosen, mark }: SummaryProps) {
  const { data = [], total, storage } = list;
  const marked = data.filter(({ _id }) => chosen.has(_id));
  const given = filters();
  const clear = (): void => mark([]);
  const isAll = marked.length === data.length;
  return (
    <div class="toolbar list-head">
      <span role="status">
        {total !== undefined && <strong>{plural(total)}</strong>}
        {total !== undefined && Object.keys(given).length > 0 && (total === 1 ? " matches" : " match")}
        {marked.length > 0 && `, ${whole(marked.length)} selected`}
        {storage && <span class="muted"> · {bytes(storage.bytes)} in all</span>}
      </span>
      <span class="row push">
        <DownloadCsv
          name={`recordings-${app.name}`}
          columns={FILE_COLUMNS}
          rows={data}
          all={list.hasMore ? list.all : undefined}
        />
      </span>
      {mayChange.value && data.length > 0 && (
        <div class="row">
          <button type="button" class="quiet" onClick={() => mark(isAll ? [] : data)}>
            {isAll ? "Select none" : `Select the ${whole(data.length)} loaded`}
          </button>
          <button
            type="button"
            class="danger"
            disabled={marked.length === 0}
            onClick={() => deleteThese(root, marked, list, clear)}
          >
            Delete {marked.length === 0 ? "selected" : `the ${whole(marked.length)} selected`} …
          </button>
          <button
            type="button"
            class="danger"
            disabled={!isCurrent || Object.keys(given).length === 0}
            title={Object.keys(given).length === 0 ? "Set at least one filter first" : undefined}
            onClick={() => deleteMatching({ app, root, list, given, clear })}
          >
            Delete all that match …
          </button>
        </div>
      )}
    </div>
  );
}

function deleteThese(
  root: string,
  these: readonly Recording[],
  { reload }: LiveList<Recording>,
  clear: () => void = () => undefined,
): void {
  const size = these.reduce((sum, { sizeInBytes }) => sum + sizeInBytes, 0);
  confirm({
    title: `Delete ${plural(these.length)}`,
    text: (
      <p>
        {these.length === 1 ? `That of ${these[0]?.participantUsername} is` : `${plural(these.length)} are`} deleted
        with {bytes(size)} of files. Links to {these.length === 1 ? "it" : "them"} end. This cannot be undone.
      </p>
    ),
    submit: `Delete ${plural(these.length)}`,
    isDanger: true,
    run: async () => {
      try {
        for (let at = 0; at < these.length; at += PAGE_MAX) {
          const ids = these.slice(at, at + PAGE_MAX).map(({ _id }) => ["id", _id]);
          await remove(`${root}?${new URLSearchParams(ids)}`);
        }
        clear();
        toast(`${plural(these.length)} deleted.`);
      } finally {
        await reload();
      }
    },
  });
}

interface DeleteMatching extends Pick<SummaryProps, "app" | "root" | "list"> {
  readonly clear: () => void;
  readonly given: Readonly<Record<string, string>>;
}

function deleteMatching({ app, root, list: { total = 0, reload }, given, clear }: DeleteMatching): void {
  confirm({
    title: "Delete all recordings that match the filters",
    text: (
      <>
        <p>
          {plural(total)} of {app.name} match, and are deleted with their files, also those that are not shown yet. This
          cannot be undone.
        </p>
        <ul>
          {Object.entries(given).map(([name, value]) => (
            <li key={name}>
              {name}: <code>{value}</code>
            </li>
          ))}
        </ul>
      </>
    ),
    submit: `Delete ${plural(total)}`,
    isDanger: true,
    typed: app.name,
    run: async () => {
      const { deleted } = await remove<{ readonly deleted?: number }>(`${root}${query(given)}`);
      clear();
      toast(`${plural(deleted ?? total)} deleted.`);
      await reload();
    },
  });
}

/** A CSV file has everything that the call says of a recording. */
const FILE_COLUMNS: readonly CsvColumn<Recording>[] = [
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

function columnsOf(app: string, { isChosen, choose }: RowActions): readonly Column<Recording>[] {
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
    { title: "Room", width: 16, isMinor: true, cell: ({ room, roomName }) => <Name>{roomName ?? room}</Name> },
    { title: "Source", rem: 8, isMinor: true, cell: (one) => <Badge>{sourceOf(one)}</Badge> },
    { title: "Started", rem: 8, isMinor: true, cell: ({ startTime }) => <Time at={startTime} /> },
    {
      title: "Length",
      rem: 6,
      isNumber: true,
      isMinor: true,
      cell: ({ startTime, endTime }) => position(endTime - startTime),
    },
    { title: "Size", rem: 6, isNumber: true, isMinor: true, cell: ({ sizeInBytes }) => bytes(sizeInBytes) },
  ];
}
