/** The channels of an application that have subscribers now. */
import { query, segment } from "../api/client.ts";
import type { ActiveChannel } from "../api/types.ts";
import { bytes, rate, whole } from "../lib/format.ts";
import { channelPage } from "../lib/links.ts";
import { useDelayed, useKept, useList } from "../lib/live.ts";
import { parameters, setParameters } from "../lib/router.ts";
import type { PageParameters } from "../routes.tsx";
import { Search, Segmented } from "../ui/fields.tsx";
import { ListFoot } from "../ui/list-foot.tsx";
import { Empty } from "../ui/notice.tsx";
import { Card, Page } from "../ui/page.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Name, Snippet } from "../ui/values.tsx";

const EVERY_MS = 3000;
const SORTS = [
  ["name", "By name"],
  ["busiest", "Busiest"],
] as const;

const columnsOf = (app: string): readonly Column<ActiveChannel>[] => [
  { title: "Channel", cell: ({ channel }) => <Name href={channelPage(app, channel)}>{channel}</Name> },
  { title: "Peers", cell: ({ peers }) => whole(peers), isNumber: true, width: 14 },
  { title: "Connections", cell: ({ connections }) => whole(connections), isNumber: true, isMinor: true, width: 14 },
  { title: "Messages/s", cell: ({ ratePerSec }) => rate(ratePerSec), isNumber: true, width: 24 },
  { title: "Bytes/s", cell: ({ bytesPerSec }) => bytes(bytesPerSec), isNumber: true, isMinor: true, width: 14 },
];

export function Channels({ at: { app = "" } }: { readonly at: PageParameters }) {
  const typed = parameters.value.get("prefix") ?? "";
  const sort = parameters.value.get("sort") === "busiest" ? "busiest" : "name";
  const prefix = useDelayed({ value: typed });
  const path = `/apps/${segment(app)}/channels${query({ prefix, sort: sort === "name" ? undefined : sort })}`;
  const list = useList<ActiveChannel>(path, { everyMs: EVERY_MS });
  const rows = useKept(list.data);
  return (
    <Page title="Channels" isReady={rows !== undefined} error={list.error} isComplete={list.isComplete}>
      <div class="toolbar">
        <Search
          label="Find channels by the beginning of their name"
          placeholder="Channels that begin with …"
          value={typed}
          onInput={(value) => setParameters({ prefix: value })}
        />
        <Segmented
          label="Order"
          value={sort}
          options={SORTS}
          onChange={(chosen) => setParameters({ sort: chosen === "name" ? "" : chosen })}
        />
      </div>
      <Card>
        <Table
          label="Channels with subscribers"
          columns={columnsOf(app)}
          rows={rows ?? []}
          keyOf={({ channel }) => channel}
          isVirtual
          hasMore={list.hasMore}
          loadMore={list.loadMore}
          empty={prefix ? <NoMatch prefix={prefix} /> : <NoChannels />}
        />
        <ListFoot list={list} what={sort === "busiest" ? "busiest channels" : "channels"} />
      </Card>
    </Page>
  );
}

const NoMatch = ({ prefix }: { readonly prefix: string }) => (
  <Empty title={`No channel with subscribers begins with “${prefix}”.`}>
    Upper and lower case are different. A channel exists while a client is subscribed to it.
  </Empty>
);

const SUBSCRIBE = `const socket = new WebSocket("${location.origin.replace(/^http/, "ws")}/v1?key=pk_live_…");
socket.onopen = () => socket.send(JSON.stringify({ type: "subscribe", channel: "chat/lobby" }));`;

const NoChannels = () => (
  <Empty title="No channel has subscribers at the moment.">
    <p>A channel appears here as soon as a client subscribes to it, for example with a publishable key:</p>
    <Snippet text={SUBSCRIBE} what="the example" />
  </Empty>
);
