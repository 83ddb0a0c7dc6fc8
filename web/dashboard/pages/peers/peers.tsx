/** The peers of an application that are connected now. */
import type { ComponentChildren } from "preact";
import { keysPage, peerPage } from "../../address/links.ts";
import { type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { query, segment } from "../../api/client.ts";
import type { BlockedPeer, ListedPeer } from "../../api/types.ts";
import { CHANGES_EVERY_MS, useDelayed, useKept, useList } from "../../live/live.ts";
import { rememberPeer } from "../../live/peer-names.ts";
import type { CsvColumn } from "../../text/csv.ts";
import { whole } from "../../text/format.ts";
import { TERMS } from "../../text/terms.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { Search, Segmented } from "../../ui/fields.tsx";
import { ListFoot } from "../../ui/list-foot.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { NamedId, Time } from "../../ui/values.tsx";
import { BlockedPeers, blockedId } from "./blocked.tsx";

const EVERY_MS = 3000;

const idOf = ({ peerId }: ListedPeer): string => peerId;

const columnsOf = (app: string): readonly Column<ListedPeer>[] => [
  {
    title: "Peer",
    value: idOf,
    cell: ({ peerId, name }) => <NamedId id={peerId} href={peerPage(app, peerId)} name={name} />,
    below: ({ connections, channels }) =>
      `${connections === 1 ? "1 connection" : `${whole(connections)} connections`}, ${channels === 1 ? "1 channel" : `${whole(channels)} channels`}`,
  },
  {
    title: "Connections",
    value: ({ connections }) => connections,
    cell: ({ connections }) => whole(connections),
    isNumber: true,
    isMedium: true,
    rem: 8,
  },
  {
    title: "Channels",
    value: ({ channels }) => channels,
    cell: ({ channels }) => whole(channels),
    isNumber: true,
    isMedium: true,
    rem: 7,
  },
  {
    title: "Last message",
    value: ({ lastMessage }) => lastMessage,
    isTime: true,
    cell: ({ lastMessage }) => <Time at={lastMessage} />,
    isNumber: true,
    isMedium: true,
    rem: 8.5,
  },
  {
    title: "Connected",
    value: ({ since }) => since,
    isTime: true,
    cell: ({ since }) => <Time at={since} />,
    isNumber: true,
    rem: 7.5,
  },
];

/** What CSV files have besides. */
const inFile = (app: string): readonly CsvColumn<ListedPeer>[] => {
  const [peer, ...rest] = columnsOf(app);
  return [...(peer ? [peer] : []), { title: "Name", value: ({ name }) => name }, ...rest];
};

type Shown = "connected" | "blocked";

export function Peers({ at: { app = "" } }: { readonly at: PageParameters }) {
  const shown: Shown = parameters.value.get("show") === "blocked" ? "blocked" : "connected";
  const choice = (
    <Segmented<Shown>
      label="Which peers are listed"
      value={shown}
      options={[
        ["connected", "Connected"],
        ["blocked", "Blocked"],
      ]}
      onChange={(one) => setParameters({ show: one === "blocked" ? one : "", sort: "", search: "" })}
    />
  );
  return shown === "blocked" ? <Blocked app={app} choice={choice} /> : <Connected app={app} choice={choice} />;
}

interface ListProps {
  readonly app: string;
  readonly choice: ComponentChildren;
}

function Connected({ app, choice }: ListProps) {
  const typed = parameters.value.get("search") ?? "";
  const contains = useDelayed({ value: typed });
  const list = useList<ListedPeer>(`/apps/${segment(app)}/peers${query({ contains })}`, {
    everyMs: EVERY_MS,
    keyOf: idOf,
  });
  const rows = useKept(list.data);
  for (const { peerId, name } of rows ?? []) rememberPeer(app, peerId, name);
  return (
    <Page title="Peers" intro={TERMS.peer} isReady={rows !== undefined} error={list.error} isComplete={list.isComplete}>
      <div class="toolbar">
        {choice}
        <Search
          label="Find peers by part of their id or name"
          placeholder="Part of the id or name"
          value={typed}
          onInput={(value) => setParameters({ search: value })}
        />
        <span class="push">
          <DownloadCsv
            name={`peers-${app}`}
            columns={inFile(app)}
            rows={rows ?? []}
            all={list.hasMore ? list.all : undefined}
          />
        </span>
      </div>
      <Card>
        <Table
          label="Connected peers"
          columns={columnsOf(app)}
          rows={rows ?? []}
          keyOf={idOf}
          isVirtual
          sortIn="sort"
          hasMore={list.hasMore}
          loadMore={list.loadMore}
          onLook={list.look}
          empty={contains ? <NoMatch app={app} contains={contains} /> : <NoPeers app={app} />}
        />
        <ListFoot list={list} what="peers" />
      </Card>
    </Page>
  );
}

function Blocked({ app, choice }: ListProps) {
  const typed = parameters.value.get("search") ?? "";
  const contains = useDelayed({ value: typed });
  const list = useList<BlockedPeer>(`/apps/${segment(app)}/blocks${query({ contains })}`, {
    everyMs: CHANGES_EVERY_MS,
    keyOf: blockedId,
  });
  const rows = useKept(list.data);
  return (
    <Page title="Peers" intro={TERMS.peer} isReady={rows !== undefined} error={list.error}>
      <div class="toolbar">
        {choice}
        <Search
          label="Find blocked peers by part of their id"
          placeholder="Part of the id"
          value={typed}
          onInput={(value) => setParameters({ search: value })}
        />
      </div>
      <BlockedPeers app={app} list={{ ...list, data: rows }} contains={contains} />
    </Page>
  );
}

const NoMatch = ({ app, contains }: { readonly app: string; readonly contains: string }) => (
  <Empty title={`No connected peer has “${contains}” in its id or name.`}>
    If it left less than a minute ago, <a href={peerPage(app, contains)}>its last events</a> are still known.
  </Empty>
);

const NoPeers = ({ app }: { readonly app: string }) => (
  <Empty title="No peers are connected right now.">
    Clients appear here when they connect with <a href={keysPage(app)}>a key of this application</a>, which also shows
    how to do that.
  </Empty>
);
