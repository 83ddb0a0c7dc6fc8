/** The recordings of an application: find, play, download, delete. */
import { useComputed, useSignal } from "@preact/signals";
import { addressOf, query, remove, segment } from "../api/client.ts";
import type { App, Recording } from "../api/types.ts";
import { currentApp } from "../lib/apps.ts";
import { bytes, duration, whole } from "../lib/format.ts";
import { type LiveList, useDelayed, useList } from "../lib/live.ts";
import { filters } from "../lib/recordings.ts";
import { parameters } from "../lib/router.ts";
import { mayChange } from "../lib/session.ts";
import { confirm } from "../ui/dialog.tsx";
import { Empty, toast } from "../ui/notice.tsx";
import { Card, Page } from "../ui/page.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Badge, Name, Time } from "../ui/values.tsx";
import { NotFound } from "./not-found.tsx";
import { RecordingFilters } from "./recording-filters.tsx";
import { Player } from "./recording-player.tsx";
import { Retention } from "./retention.tsx";

export function Recordings() {
  const app = currentApp.value;
  return app ? <RecordingsOf key={app._id} app={app} /> : <NotFound />;
}

const plural = (count: number): string => (count === 1 ? "1 recording" : `${whole(count)} recordings`);
const NONE: ReadonlySet<string> = new Set();

function RecordingsOf({ app }: { readonly app: App }) {
  const root = `/apps/${segment(app._id)}/recordings`;
  const filtered = useComputed(() => query({ ...filters(), order: parameters.value.get("order") ?? "" }));
  const list = useList<Recording>(`${root}${useDelayed(filtered)}`);
  const chosen = useSignal(NONE);
  const played = useSignal<Recording | undefined>(undefined);
  const fileOf = ({ _id }: Recording): string => addressOf(`${root}/${segment(_id)}/file`);
  const isFiltered = Object.keys(filters()).length > 0;
  return (
    <Page
      title="Recordings"
      error={list.error}
      isReady={list.data !== undefined || list.error !== undefined}
      intro="Files that your backend has uploaded for a room, newest first."
    >
      <Card>
        <RecordingFilters />
      </Card>
      <Card>
        <Summary app={app} root={root} list={list} chosen={chosen.value} clear={() => (chosen.value = NONE)} />
        <Table
          label="Recordings"
          isVirtual
          rows={list.data ?? []}
          keyOf={({ _id }) => _id}
          hasMore={list.hasMore}
          loadMore={list.loadMore}
          columns={columnsOf({
            fileOf,
            play: (one) => (played.value = one),
            isChosen: (one) => chosen.value.has(one._id),
            choose: (one, isOn) => {
              const next = new Set(chosen.value);
              if (isOn) next.add(one._id);
              else next.delete(one._id);
              chosen.value = next;
            },
            deleteOne: (one) => deleteThese(root, [one], list),
          })}
          empty={<NoRecordings isFiltered={isFiltered} />}
        />
      </Card>
      <Retention app={app} />
      {played.value && (
        <Player recording={played.value} address={fileOf(played.value)} onClose={() => (played.value = undefined)} />
      )}
    </Page>
  );
}

const NoRecordings = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <Empty title="No recording matches these filters." />
  ) : (
    <Empty title="There are no recordings yet.">
      Your backend uploads them with <code>POST /api/v1/recording</code>, or you do with{" "}
      <code>parley recordings upload take.ogg --room studio --username alice --type audio</code>.
    </Empty>
  );

interface SummaryProps {
  readonly app: App;
  readonly root: string;
  readonly list: LiveList<Recording>;
  readonly chosen: ReadonlySet<string>;
  readonly clear: () => void;
}

/** How many there are and what they take, and what can be done with several at once. */
function Summary({ app, root, list, chosen, clear }: SummaryProps) {
  const { data = [], total, sizeInBytes } = list;
  const marked = data.filter(({ _id }) => chosen.has(_id));
  const given = filters();
  return (
    <div class="toolbar list-head">
      <span role="status">
        {total !== undefined && <strong>{plural(total)}</strong>}
        {sizeInBytes !== undefined && `, ${bytes(sizeInBytes)}`}
        {marked.length > 0 && `, ${whole(marked.length)} selected`}
      </span>
      {mayChange.value && data.length > 0 && (
        <div class="row push">
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
            disabled={Object.keys(given).length === 0}
            title="Set at least one filter first"
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
        {these.length === 1 ? `${these[0]?.fileName} is` : `${plural(these.length)} are`} deleted with {bytes(size)} of
        files. Links to {these.length === 1 ? "it" : "them"} end. This cannot be undone.
      </p>
    ),
    submit: `Delete ${plural(these.length)}`,
    isDanger: true,
    run: async () => {
      try {
        // One by one: each also removes a file, and other requests should not have to wait for them.
        for (const { _id } of these) await remove(`${root}/${segment(_id)}`);
        clear();
        toast(`${plural(these.length)} deleted.`);
      } finally {
        await reload();
      }
    },
  });
}

interface DeleteMatching extends Omit<SummaryProps, "chosen"> {
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

interface RowActions {
  readonly fileOf: (one: Recording) => string;
  readonly play: (one: Recording) => void;
  readonly isChosen: (one: Recording) => boolean;
  readonly choose: (one: Recording, isOn: boolean) => void;
  readonly deleteOne: (one: Recording) => void;
}

function columnsOf({ fileOf, play, isChosen, choose, deleteOne }: RowActions): readonly Column<Recording>[] {
  const mark: Column<Recording> = {
    title: "Select",
    width: 6,
    cell: (one) => (
      <label class="pick">
        <span class="hidden-text">Select {one.fileName}</span>
        <input type="checkbox" checked={isChosen(one)} onChange={(event) => choose(one, event.currentTarget.checked)} />
      </label>
    ),
  };
  return [
    ...(mayChange.value ? [mark] : []),
    { title: "File", cell: ({ fileName }) => <Name>{fileName}</Name> },
    { title: "Room", width: 12, isMinor: true, cell: ({ room, roomName }) => <Name>{roomName ?? room}</Name> },
    { title: "Participant", width: 12, isMinor: true, cell: ({ participantUsername: name }) => <Name>{name}</Name> },
    { title: "Type", width: 10, isMinor: true, cell: ({ type }) => <Badge>{type}</Badge> },
    { title: "Size", width: 8, isNumber: true, isMinor: true, cell: ({ sizeInBytes }) => bytes(sizeInBytes) },
    {
      title: "Length",
      width: 9,
      isNumber: true,
      isMinor: true,
      cell: ({ startTime, endTime }) => duration(endTime - startTime),
    },
    { title: "Ended", width: 10, isMinor: true, cell: ({ endTime }) => <Time at={endTime} /> },
    {
      title: "Actions",
      width: 20,
      cell: (one) => (
        <div class="row tight">
          <button type="button" class="small" aria-label={`Play ${one.fileName}`} onClick={() => play(one)}>
            Play
          </button>
          <a class="button small" aria-label={`Download ${one.fileName}`} href={fileOf(one)} download={one.fileName}>
            Download
          </a>
          {mayChange.value && (
            <button
              type="button"
              class="small danger"
              aria-label={`Delete ${one.fileName}`}
              onClick={() => deleteOne(one)}
            >
              Delete
            </button>
          )}
        </div>
      ),
    },
  ];
}
