/** The peers of an application that are connected now. */
import { keysPage, peerPage } from "../../address/links.ts";
import { type PageParameters, parameters, setParameters } from "../../address/router.ts";
import { query, segment } from "../../api/client.ts";
import type { ListedPeer } from "../../api/types.ts";
import { useDelayed, useKept, useList } from "../../live/live.ts";
import { whole } from "../../text/format.ts";
import { Search } from "../../ui/fields.tsx";
import { ListFoot } from "../../ui/list-foot.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name, Time } from "../../ui/values.tsx";

const EVERY_MS = 3000;

const idOf = ({ peerId }: ListedPeer): string => peerId;

const columnsOf = (app: string): readonly Column<ListedPeer>[] => [
  { title: "Peer", cell: ({ peerId }) => <Name href={peerPage(app, peerId)}>{peerId}</Name> },
  { title: "Connections", cell: ({ connections }) => whole(connections), isNumber: true, isMinor: true, width: 15 },
  { title: "Channels", cell: ({ channels }) => whole(channels), isNumber: true, isMinor: true, width: 15 },
  { title: "Connected", cell: ({ since }) => <Time at={since} />, isNumber: true, width: 20 },
];

export function Peers({ at: { app = "" } }: { readonly at: PageParameters }) {
  const typed = parameters.value.get("prefix") ?? "";
  const prefix = useDelayed({ value: typed });
  const list = useList<ListedPeer>(`/apps/${segment(app)}/peers${query({ prefix })}`, {
    everyMs: EVERY_MS,
    keyOf: idOf,
  });
  const rows = useKept(list.data);
  return (
    <Page title="Peers" isReady={rows !== undefined} error={list.error} isComplete={list.isComplete}>
      <div class="toolbar">
        <Search
          label="Find peers by the beginning of their id"
          placeholder="Peers whose id begins with …"
          value={typed}
          onInput={(value) => setParameters({ prefix: value })}
        />
      </div>
      <Card>
        <Table
          label="Connected peers"
          columns={columnsOf(app)}
          rows={rows ?? []}
          keyOf={idOf}
          isVirtual
          hasMore={list.hasMore}
          loadMore={list.loadMore}
          onLook={list.look}
          empty={prefix ? <NoMatch app={app} prefix={prefix} /> : <NoPeers app={app} />}
        />
        <ListFoot list={list} what="peers" />
      </Card>
    </Page>
  );
}

const NoMatch = ({ app, prefix }: { readonly app: string; readonly prefix: string }) => (
  <Empty title={`No connected peer has an id that begins with “${prefix}”.`}>
    Upper and lower case are different. If it left less than a minute ago,{" "}
    <a href={peerPage(app, prefix)}>its last events</a> are still known.
  </Empty>
);

const NoPeers = ({ app }: { readonly app: string }) => (
  <Empty title="No peer is connected at the moment.">
    Clients appear here when they connect with <a href={keysPage(app)}>a key of this application</a>, which also shows
    how to do that.
  </Empty>
);
