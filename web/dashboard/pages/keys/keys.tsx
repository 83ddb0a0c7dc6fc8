/** Keys and developer section: the credentials of an application, and how to use them. */
import { useMemo } from "preact/hooks";
import { keyPage } from "../../address/links.ts";
import { parameters, setParameters } from "../../address/router.ts";
import { query } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import type { App, Key, KeysTraffic, KeyTraffic } from "../../api/types.ts";
import { channelProblem, matching } from "../../drafts/scope.ts";
import { currentApp, loadApps } from "../../live/apps.ts";
import { CHANGES_EVERY_MS, type LiveList, useKept, useList, useLive, type WholeList } from "../../live/live.ts";
import { useOrigin } from "../../live/origin.ts";
import { REFRESH_MS } from "../../live/series.ts";
import type { CsvColumn } from "../../text/csv.ts";
import { short, whole } from "../../text/format.ts";
import { inText } from "../../text/in-text.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { Search } from "../../ui/fields.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { chosenRange, RANGE_TITLES, RangeChoice } from "../../ui/range.tsx";
import { Sparkline } from "../../ui/sparkline.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Copy, Name, Time, Values } from "../../ui/values.tsx";
import { NotFound } from "../not-found.tsx";
import { DeleteApp, Payloads } from "./app-danger.tsx";
import { AppSecret } from "./app-secret.tsx";
import { CreateKey } from "./create.tsx";
import { KeySnippets } from "./key-snippets.tsx";

export function Keys() {
  const app = currentApp.value;
  return app ? <KeysOf key={app._id} app={app} /> : <NotFound />;
}

function KeysOf({ app }: { readonly app: App }) {
  const path = (isRevoked: boolean): string => `/signalling/keys${query({ app: app._id, revoked: String(isRevoked) })}`;
  const withRevoked = parameters.value.has("revoked");
  const idOf = ({ keyId }: Key): string => keyId;
  // At most 50: one page has all of them.
  const live = useList<Key>(path(false), { everyMs: CHANGES_EVERY_MS, idOf });
  const revoked = useList<Key>(withRevoked ? path(true) : undefined, { everyMs: CHANGES_EVERY_MS, idOf });
  const { data, error, reload } = live;
  const origin = useOrigin();
  const create = (): void => setParameters({ create: "1" }, { isPassing: true });
  const example = data?.find(({ type }) => type === "publishable") ?? data?.[0];
  return (
    <Page
      title="Keys"
      intro="Keys decide who may connect, to which channels, and from where."
      isReady={data !== undefined}
      error={error ?? revoked.error}
      actions={
        <>
          <RangeChoice />
          {mayChange.value && (
            <button type="button" class="primary" onClick={create}>
              Create key
            </button>
          )}
        </>
      }
    >
      <KeyList app={app} live={data ?? []} revoked={withRevoked ? revoked : undefined} create={create} />
      {example && <KeySnippets title="Connect" shown={example} />}
      <AppSecret app={app} origin={origin} reload={loadApps} />
      <Payloads app={app} />
      {mayChange.value && <DeleteApp app={app} />}
      {parameters.value.has("create") && mayChange.value && (
        <CreateKey
          app={app._id}
          onCreated={reload}
          onClose={() => setParameters({ create: "" }, { isPassing: true })}
        />
      )}
    </Page>
  );
}

interface KeyListProps {
  readonly app: App;
  readonly live: readonly Key[];
  /** undefined: they are not shown. */
  readonly revoked: LiveList<Key> | undefined;
  readonly create: () => void;
}

type TrafficOf = ReadonlyMap<string, KeyTraffic> | undefined;

/** undefined: not known (yet). What is shown stays while another range is loaded. */
function useTraffic(app: App): TrafficOf {
  const range = chosenRange();
  const { data } = useLive<KeysTraffic>(`/apps/${app._id}/key-traffic${query({ range })}`, {
    everyMs: REFRESH_MS[range],
  });
  const kept = useKept(data);
  return useMemo(() => kept && new Map(kept.data.map((one) => [one.keyId, one])), [kept]);
}

function KeyList({ app, live, revoked, create }: KeyListProps) {
  const traffic = useTraffic(app);
  const channel = parameters.value.get("channel") ?? "";
  const search = parameters.value.get("search") ?? "";
  const problem = channel === "" ? undefined : channelProblem(channel);
  const wanted = search.trim().toLowerCase();
  const isWanted = ({ keyId, label, channelPatterns }: Key): boolean =>
    `${keyId} ${label ?? ""}`.toLowerCase().includes(wanted) &&
    (channel === "" || matching(channelPatterns, channel).length > 0);
  const rows = useMemo(
    () => [...live, ...(revoked?.data ?? [])].filter(isWanted),
    [live, revoked?.data, wanted, channel],
  );
  const covering = rows.filter((one) => one.revoked === null).length;
  const all = async (max: number): Promise<WholeList<Key>> => {
    const { rows: others, isCut } = (await revoked?.all(max)) ?? { rows: [], isCut: false };
    return { rows: [...live, ...others].filter(isWanted), isCut };
  };
  return (
    <Card>
      <div class="toolbar list-head">
        <Search
          label="Find keys by part of their name or id"
          placeholder="Name or id"
          value={search}
          onInput={(value) => setParameters({ search: value })}
        />
        <Search
          label="Which keys cover the channel"
          placeholder="Which keys cover chat/42?"
          value={channel}
          onInput={(value) => setParameters({ channel: value })}
        />
        <span role="status" class="muted small">
          {channel !== "" &&
            (problem ?? `${covering === 1 ? "1 key covers" : `${covering || "No"} keys cover`} this channel.`)}
        </span>
        <div class="row push">
          <button
            type="button"
            class="quiet"
            aria-pressed={revoked !== undefined}
            onClick={() => setParameters({ revoked: revoked ? "" : "1" })}
          >
            {revoked ? "Hide revoked" : "Show revoked"}
          </button>
          <DownloadCsv name={`keys-${app.name}`} columns={inFile(traffic)} rows={rows} all={all} />
        </div>
      </div>
      <Table
        label="Keys"
        isFixed
        sortIn="sort"
        columns={columnsOf(app.name, traffic)}
        rows={rows}
        keyOf={({ keyId }) => keyId}
        hasMore={revoked?.hasMore === true}
        {...(revoked && { loadMore: () => void revoked.loadMore() })}
        empty={<NoKeys isFiltered={channel !== "" || wanted !== ""} problem={problem} create={create} />}
      />
    </Card>
  );
}

interface NoKeysProps {
  readonly isFiltered: boolean;
  readonly problem: string | undefined;
  readonly create: () => void;
}

const NoKeys = ({ isFiltered, problem, create }: NoKeysProps) =>
  isFiltered ? (
    <Empty title="No key matches.">{problem ?? "To cover a channel, add a pattern to a key, or create one."}</Empty>
  ) : (
    <Empty title="This application has no keys yet.">
      A publishable key lets browsers connect; a secret key lets your backend mint tokens and publish.
      {mayChange.value && (
        <p class="spaced">
          <button type="button" onClick={create}>
            Create the first key
          </button>
        </p>
      )}
    </Empty>
  );

const stateOf = ({ revoked }: Key): string => (revoked === null ? "live" : "revoked");

/** "–" until it is known. */
function Messages({ of: one, isKnown }: { readonly of: KeyTraffic | undefined; readonly isKnown: boolean }) {
  if (!isKnown) return <span class="muted">–</span>;
  const over = RANGE_TITLES[chosenRange()];
  return (
    <span class="with-spark" title={`${whole(one?.messages ?? 0)} in ${over}`}>
      <Sparkline values={one?.messagesPerSec ?? []} />
      {short(one?.messages ?? 0)}
    </span>
  );
}

/** Patterns that a row of a phone has room for. */
const BELOW_MAX = 2;

function firstOf(patterns: readonly string[]): string {
  const more = patterns.length - BELOW_MAX;
  return `${patterns.slice(0, BELOW_MAX).join(" ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const columnsOf = (app: string, traffic: TrafficOf): readonly Column<Key>[] => [
  {
    title: "Key",
    value: ({ label }) => label,
    cell: ({ keyId, label }) => (
      <div class="key-cell">
        <a title={label ?? undefined} href={keyPage(app, keyId)}>
          {label ?? "Without a label"}
        </a>
        <span class="row tight">
          <Name>{keyId}</Name>
          <Copy text={keyId} what={`id of ${label ?? keyId}`} />
        </span>
      </div>
    ),
    below: ({ type, channelPatterns }) =>
      `${type} · ${channelPatterns.length === 0 ? "no channels" : inText(firstOf(channelPatterns))}`,
  },
  {
    title: "Type",
    rem: 7.5,
    isMedium: true,
    value: ({ type }) => type,
    cell: ({ type }) => <Badge kind={type === "secret" ? "accent" : ""}>{type}</Badge>,
  },
  {
    title: "Channels",
    width: 16,
    isMedium: true,
    value: ({ channelPatterns }) => channelPatterns.join(" "),
    cell: ({ channelPatterns }) => <Values of={channelPatterns} none="none" />,
  },
  {
    title: "Actions",
    rem: 6.5,
    isMinor: true,
    value: ({ actions }) => actions.join(" "),
    cell: ({ actions }) => <Values of={actions} none="none" />,
  },
  {
    title: "Origins",
    width: 15,
    isMinor: true,
    value: ({ allowedOrigins = [] }) => allowedOrigins.join(" "),
    cell: ({ type, allowedOrigins = [] }) =>
      type === "secret" ? <span class="muted">not used</span> : <Values of={allowedOrigins} none="no browser" />,
  },
  {
    title: "Connections",
    rem: 7,
    isNumber: true,
    isMinor: true,
    value: ({ keyId }) => traffic && (traffic.get(keyId)?.connections ?? 0),
    cell: ({ keyId }) => (traffic ? whole(traffic.get(keyId)?.connections ?? 0) : <span class="muted">–</span>),
  },
  {
    title: "Messages",
    rem: 8.5,
    isNumber: true,
    isMedium: true,
    value: ({ keyId }) => traffic && (traffic.get(keyId)?.messages ?? 0),
    cell: ({ keyId }) => <Messages of={traffic?.get(keyId)} isKnown={traffic !== undefined} />,
  },
  { title: "State", rem: 5.75, value: stateOf, cell: (one) => <KeyState of={one} /> },
];

const inFile = (traffic: TrafficOf): readonly CsvColumn<Key>[] => [
  { title: "Key id", value: ({ keyId }) => keyId },
  ...columnsOf("", traffic),
  { title: "Created", value: ({ created }) => created, isTime: true },
];

export function KeyState({ of: { revoked, previousSecrets } }: { readonly of: Key }) {
  if (revoked !== null)
    return (
      <span class="values">
        <Badge kind="bad">revoked</Badge>
        <span class="muted small">
          <Time at={revoked} />
        </span>
      </span>
    );
  const previous = previousSecrets?.length ?? 0;
  return (
    <span class="values">
      <Badge kind="good">live</Badge>
      {previous > 0 && <span class="muted small">{previous} previous in grace</span>}
    </span>
  );
}
