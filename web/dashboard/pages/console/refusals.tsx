/** What was refused lately, for those who were not looking when it happened. */
import { channelPage, keyPage, peerPage, refusalsPage, whyNotPage } from "../../address/links.ts";
import { type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { query } from "../../api/client.ts";
import type { Key, List, Refusal } from "../../api/types.ts";
import { apps, currentApp } from "../../live/apps.ts";
import { CHANGES_EVERY_MS, isSettled, useDelayed, useKept, useList, useLive } from "../../live/live.ts";
import type { CsvColumn } from "../../text/csv.ts";
import { refusalOf } from "../../text/event-text.ts";
import { whole } from "../../text/format.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { Select, Text } from "../../ui/fields.tsx";
import { ListFoot } from "../../ui/list-foot.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name, Time } from "../../ui/values.tsx";
import { NotFound } from "../not-found.tsx";

const KINDS = [
  ["", "All"],
  ["refuse", "Connects"],
  ["error", "Frames"],
] as const;
const whatOf = ({ kind }: Refusal): string => (kind === "refuse" ? "Connect" : "Frame");

/** In the choice of applications; no application can be named like that. */
const UNKNOWN = "~unknown";
const NO_FILTERS = { app: "", credentials: "", kind: "", code: "", peer: "", from: "" };
const TYPED = ["code", "peer", "from"] as const;

/** What people call the keys, by their ids. */
type Labels = ReadonlyMap<string, string>;

/** The longest, such as channel_not_authorized, in full: it is what one looks for. */
const REASON_REM = 12.5;

const appOf = ({ app, appName }: Refusal): string => appName ?? app ?? "Unknown credentials";
const fromOf = ({ origin, address }: Refusal): string => origin ?? address ?? "";

const whyOf = ({ appName, keyId, origin, channel, code, peerId, last }: Refusal): string =>
  whyNotPage(appName, { key: keyId, origin, channel, code, peer: peerId, at: String(last * 1000) });

/** A name with a page of its own, if the application still exists. */
const linked = (app: string | undefined, name: string | undefined, page: (app: string, name: string) => string) =>
  name !== undefined && (app === undefined ? <Name>{name}</Name> : <Name href={page(app, name)}>{name}</Name>);

const APPLICATION: Column<Refusal> = {
  title: "Application",
  rem: 7.5,
  isMedium: true,
  value: appOf,
  cell: (row) =>
    row.app === undefined ? (
      <span class="muted" title={appOf(row)}>
        Unknown
      </span>
    ) : (
      <Name>{appOf(row)}</Name>
    ),
};

const WHY: Column<Refusal> = {
  title: "Explain",
  rem: 5,
  cell: (row) => (
    <a class="why" href={whyOf(row)}>
      Why?
    </a>
  ),
};

/** Beside the application, a tablet has room for the peer or for where it came from. */
const peerColumn = (isOfApp: boolean): Column<Refusal> => ({
  title: "Peer",
  width: 11,
  ...(isOfApp ? { isMedium: true } : { isMinor: true }),
  value: ({ peerId }) => peerId,
  cell: ({ appName, peerId }) => linked(appName, peerId, peerPage),
});

const CHANNEL: Column<Refusal> = {
  title: "Channel",
  width: 11,
  isMinor: true,
  value: ({ channel }) => channel,
  cell: ({ appName, channel }) => linked(appName, channel, channelPage),
};

/** Peers and channels only where a row has one: the others need the room. */
const columnsOf = (isOfApp: boolean, labels: Labels, rows: readonly Refusal[]): readonly Column<Refusal>[] => [
  {
    title: "Last",
    rem: 7.25,
    isMedium: true,
    value: ({ last }) => last,
    isTime: true,
    cell: ({ last }) => <Time at={last} />,
  },
  {
    title: "Reason",
    rem: REASON_REM,
    value: ({ code }) => code,
    cell: ({ code, peerId }) => (
      <span title={refusalOf(code, peerId)}>
        <Name>{code}</Name>
      </span>
    ),
    below: (row) => (
      <>
        <Time at={row.last} />
        {row.count > 1 && `, ${whole(row.count)} times`}
        {nameOfKey(row, labels) && ` · ${nameOfKey(row, labels)}`}
        <div class="third-line">{[fromOf(row), row.channel, row.peerId].filter(Boolean).join(" · ")}</div>
      </>
    ),
  },
  ...(isOfApp ? [] : [APPLICATION]),
  {
    title: "Key",
    isMinor: true,
    value: ({ keyId }) => keyId,
    cell: (row) => <KeyOf row={row} labels={labels} />,
  },
  ...(rows.some(({ peerId }) => peerId !== undefined) ? [peerColumn(isOfApp)] : []),
  ...(rows.some(({ channel }) => channel !== undefined) ? [CHANNEL] : []),
  { title: "From", isMedium: true, value: fromOf, cell: (row) => fromOf(row) && <From of={row} /> },
  {
    title: "Times",
    rem: 5,
    isNumber: true,
    isMedium: true,
    value: ({ count }) => count,
    cell: ({ count }) => whole(count),
  },
  WHY,
];

/** What people call the key; of an unknown one, what was sent. */
const nameOfKey = ({ keyId, offered }: Refusal, labels: Labels): string | undefined =>
  keyId === undefined ? offered : (labels.get(keyId) ?? keyId);

function KeyOf({ row, labels }: { readonly row: Refusal; readonly labels: Labels }) {
  const { appName, keyId, offered } = row;
  const name = nameOfKey(row, labels);
  if (name === undefined) return null;
  if (keyId === undefined)
    return (
      <span class="muted" title={offered}>
        {offered}
      </span>
    );
  return (
    <span title={keyId}>
      {appName === undefined ? (
        name
      ) : (
        <a href={keyPage(appName, keyId)}>
          <bdi>{name}</bdi>
        </a>
      )}
    </span>
  );
}

const From = ({ of: { origin, address } }: { readonly of: Refusal }) => (
  <span title={[origin, address].filter(Boolean).join(", from ")}>
    <Name>{origin ?? address ?? ""}</Name>
  </span>
);

const inFile = (columns: readonly Column<Refusal>[], labels: Labels): readonly CsvColumn<Refusal>[] => [
  ...columns.filter(({ title }) => title !== "From"),
  { title: "Label of the key", value: ({ keyId = "" }) => labels.get(keyId) },
  { title: "Unknown credential", value: ({ offered }) => offered },
  { title: "Refused", value: whatOf },
  { title: "First", value: ({ first }) => first, isTime: true },
  { title: "Origin", value: ({ origin }) => origin },
  { title: "Address", value: ({ address }) => address },
  { title: "Node", value: ({ nodeId }) => nodeId },
];

const keyOf = ({ nodeId, kind, app, code, keyId, peerId, offered, channel, origin, address }: Refusal): string =>
  [nodeId, kind, app, code, keyId, peerId, offered, channel, origin, address].join("\n");

/** All are there: how often it happened, and in how many ways. */
function sumOf(rows: readonly Refusal[]): string {
  const times = rows.reduce((sum, { count }) => sum + count, 0);
  const all = times === 1 ? "1 refusal" : `${whole(times)} refusals`;
  return times === rows.length ? `${all}.` : `${all} in ${rows.length === 1 ? "1 row" : `${whole(rows.length)} rows`}.`;
}

export function Refusals({ at }: { readonly at: PageParameters }) {
  const app = currentApp.value;
  const given = parameters.value;
  const typed = useDelayed(
    { value: query(Object.fromEntries(TYPED.map((name) => [name, given.get(name)?.trim() ?? ""]))) },
    300,
  );
  const filters = {
    app: app?._id ?? given.get("app") ?? "",
    credentials: app ? "" : (given.get("credentials") ?? ""),
    kind: given.get("kind") ?? "",
    ...Object.fromEntries(new URLSearchParams(typed)),
  };
  const isFiltered = Object.keys(NO_FILTERS).some((name) => given.has(name));
  const isUnknown = at.app !== undefined && !app;
  const list = useList<Refusal>(isUnknown ? undefined : `/refusals${query(filters)}`, { everyMs: CHANGES_EVERY_MS });
  const rows = useKept(list.data);
  // One page: an application's keys, or the oldest of all.
  const hasKeys = rows?.some(({ keyId }) => keyId !== undefined);
  const keys = useLive<List<Key>>(hasKeys ? `/signalling/keys${query({ app: filters.app })}` : undefined);
  if (isUnknown) return <NotFound />;
  const labels: Labels = new Map(
    keys.data?.data.flatMap(({ keyId, label }) => (label === null ? [] : [[keyId, label] as const])),
  );
  const columns = columnsOf(app !== undefined, labels, rows ?? []);
  return (
    <Page
      title="Refusals"
      intro="Connects and frames that were refused in the last 24 hours, newest first. Each node keeps them in memory, so its restart clears them."
      isReady={isSettled(rows, list.error)}
      error={list.error}
      isComplete={list.isComplete}
      actions={
        <DownloadCsv
          name={app ? `refusals-${app.name}` : "refusals"}
          columns={inFile(columns, labels)}
          rows={rows ?? []}
          all={list.hasMore ? list.all : undefined}
        />
      }
    >
      <div class="audit-filters">
        {!app && (
          <Select
            label="Application"
            value={filters.credentials ? UNKNOWN : filters.app}
            options={[
              ["", "All"],
              [UNKNOWN, "Unknown credentials"],
              ...(apps.value ?? []).map(({ name }) => [name, name] as const),
            ]}
            onChange={(chosen) =>
              setParameters(chosen === UNKNOWN ? { app: "", credentials: "unknown" } : { app: chosen, credentials: "" })
            }
          />
        )}
        <Select
          label="Refused"
          value={KINDS.find(([kind]) => kind === filters.kind)?.[0] ?? ""}
          options={KINDS}
          onChange={(kind) => setParameters({ kind })}
        />
        <Text
          label="Reason"
          placeholder="token_expired"
          value={given.get("code") ?? ""}
          onInput={(value) => setParameters({ code: value })}
        />
        <Text
          label="Peer"
          placeholder="alice"
          value={given.get("peer") ?? ""}
          onInput={(value) => setParameters({ peer: value })}
        />
        <Text
          label="From"
          placeholder="example.com"
          value={given.get("from") ?? ""}
          onInput={(value) => setParameters({ from: value })}
        />
        {isFiltered && (
          <button type="button" class="quiet" onClick={() => setParameters(NO_FILTERS)}>
            Clear filters
          </button>
        )}
      </div>
      {rows && (
        <Card>
          <Table
            label="Refusals"
            columns={columns}
            rows={rows}
            keyOf={keyOf}
            isVirtual
            sortIn="sort"
            hasMore={list.hasMore}
            loadMore={list.loadMore}
            empty={<Nothing isFiltered={isFiltered} />}
          />
          <ListFoot list={list} what="rows" all={sumOf(rows)} />
        </Card>
      )}
      {app && (
        <p class="muted small">
          Connects with unknown credentials belong to no application:{" "}
          <a href={refusalsPage(undefined, { credentials: "unknown" })}>see them for the whole service</a>.
        </p>
      )}
    </Page>
  );
}

const Nothing = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <Empty title="No refusals match the filters.">
      Enter a complete reason, such as “token_expired”. For a peer, an origin or an address a part is enough.
    </Empty>
  ) : (
    <Empty title="No refusals in the last 24 hours.">
      A connect or a frame that the service refuses appears here with its reason, and stays for up to 24 hours. Each
      node keeps the newest 100 connects and 100 frames of an application in memory; its restart clears them.
    </Empty>
  );
