/** The lists of the overview: the busiest channels, and the nodes. */
import { BASE } from "../../address/router.ts";
import { segment } from "../../api/client.ts";
import type { ActiveChannel, App, List } from "../../api/types.ts";
import { useLive } from "../../live/live.ts";
import { isAway, type SeenNode } from "../../live/nodes.ts";
import { bytes, percent, rate, whole } from "../../text/format.ts";
import { NodeBadge } from "../../ui/node-badges.tsx";
import { Empty } from "../../ui/notice.tsx";
import { Card } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name } from "../../ui/values.tsx";

const CHANNELS_MS = 2000;

const channelColumns = (app: string): readonly Column<ActiveChannel>[] => [
  {
    title: "Channel",
    cell: ({ channel }) => <Name href={`${BASE}/apps/${segment(app)}/channels/${segment(channel)}`}>{channel}</Name>,
  },
  { title: "Peers", width: 19, isNumber: true, cell: ({ peers }) => whole(peers) },
  { title: "Messages/s", width: 29, isNumber: true, cell: ({ ratePerSec }) => rate(ratePerSec) },
  { title: "Bytes/s", width: 18, isNumber: true, isMinor: true, cell: ({ bytesPerSec }) => bytes(bytesPerSec) },
];

export function BusiestChannels({ app }: { readonly app: App }) {
  const { data, error } = useLive<List<ActiveChannel>>(`/apps/${app._id}/channels?sort=rate&limit=8`, {
    everyMs: CHANNELS_MS,
  });
  return (
    <Card title="Busiest channels" aside="live">
      {data ? (
        <Table
          label="Busiest channels"
          columns={channelColumns(app.name)}
          rows={data.data}
          keyOf={({ channel }) => channel}
          isVirtual
          empty={<Empty title="No active channels">A channel appears here while someone is subscribed to it.</Empty>}
        />
      ) : (
        error && <p class="bad">{error.message}</p>
      )}
    </Card>
  );
}

const NODE_COLUMNS: readonly Column<SeenNode>[] = [
  { title: "Node", width: 26, cell: ({ nodeId }) => <Name>{nodeId}</Name> },
  { title: "Connections", width: 24, isNumber: true, cell: ({ connections }) => whole(connections) },
  { title: "CPU", width: 16, isNumber: true, cell: ({ cpu }) => percent(cpu) },
  { title: "Memory", width: 18, isNumber: true, isMinor: true, cell: ({ rssBytes }) => bytes(rssBytes) },
  { title: "State", width: 16, cell: (node) => <NodeBadge node={node} /> },
];

const NODES_SHOWN = 5;

/** Those with a problem first. */
export const NodesAtAGlance = ({ nodes }: { readonly nodes: readonly SeenNode[] }) => (
  <Card
    title="Nodes"
    aside={<a href={`${BASE}/nodes`}>{nodes.length > NODES_SHOWN ? `All ${nodes.length} nodes` : "Details"}</a>}
  >
    <Table
      label="Nodes"
      columns={NODE_COLUMNS}
      rows={[...nodes].sort((a, b) => Number(isAway(b)) - Number(isAway(a))).slice(0, NODES_SHOWN)}
      keyOf={({ nodeId, worker }) => `${nodeId} ${worker}`}
      isVirtual
      empty={<Empty title="No nodes responded" />}
    />
  </Card>
);
