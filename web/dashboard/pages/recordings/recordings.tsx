/** The recordings of an application: find, play, download, delete. */
import { useComputed, useSignal } from "@preact/signals";
import { parameters } from "../../address/router.ts";
import { query, remove } from "../../api/client.ts";
import type { Recording } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import type { App } from "../../api/types.ts";
import { currentApp } from "../../live/apps.ts";
import { CHANGES_EVERY_MS, isSettled, type LiveList, useDelayed, useKept, useList } from "../../live/live.ts";
import { filterOf, filters, recordingsPath } from "../../live/recordings.ts";
import { useRoomName } from "../../live/room-name.ts";
import { bytes, whole } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { confirm } from "../../ui/dialog.tsx";
import { DownloadCsv } from "../../ui/download.tsx";
import { Empty, toast } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";
import { NotFound } from "../not-found.tsx";
import { columnsOf, FILE_COLUMNS } from "./columns.tsx";
import { RecordingFilters } from "./filters.tsx";
import { RecordingLimit } from "./limit.tsx";
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
  const roomName = useRoomName(app._id, filterOf("room"), list.data);
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
        <RecordingFilters roomName={roomName} />
      </Card>
      <Card>
        <Summary
          app={app}
          root={root}
          list={list}
          roomName={roomName}
          isCurrent={delayed === filtered.value && list.data !== undefined}
          chosen={chosen.value}
          mark={(all) => (chosen.value = new Set(all.map(({ _id }) => _id)))}
        />
        <Table
          label="Recordings"
          isVirtual
          sortIn="sort"
          total={list.total}
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
      To record meetings, edit a room: choose "Hosts can record", or "Record from the start". Your backend can upload
      files too, with <code>POST /api/v1/recording</code>.
    </Empty>
  );

interface SummaryProps {
  readonly app: App;
  readonly root: string;
  readonly list: LiveList<Recording>;
  /** The name of the room whose id is a filter. */
  readonly roomName: string | undefined;
  /** The list is that of the present filters. */
  readonly isCurrent: boolean;
  readonly chosen: ReadonlySet<string>;
  /** Selects these, and no others. */
  readonly mark: (these: readonly Recording[]) => void;
}

/** How many there are and what they take, and what can be done with several at once. */
function Summary({ app, root, list, roomName, isCurrent, chosen, mark }: SummaryProps) {
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
            onClick={() => deleteMatching({ app, root, list, roomName, given, clear })}
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
        {these.length === 1
          ? `That of ${inText(these[0]?.participantUsername ?? "")} is`
          : `${plural(these.length)} are`}{" "}
        deleted with {bytes(size)} of files. Links to {these.length === 1 ? "it" : "them"} end. This cannot be undone.
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

interface DeleteMatching extends Pick<SummaryProps, "app" | "root" | "list" | "roomName"> {
  readonly clear: () => void;
  readonly given: Readonly<Record<string, string>>;
}

function deleteMatching({ app, root, list: { total = 0, reload }, roomName, given, clear }: DeleteMatching): void {
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
              {name === "room" && roomName !== undefined && ` (${inText(roomName)})`}
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
