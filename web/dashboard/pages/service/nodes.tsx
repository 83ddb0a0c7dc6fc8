/** The nodes of the service: what each one carries, and how it is. */
import type { PageParameters } from "../../address/router.ts";
import { type Imbalance, imbalanceOf } from "../../live/imbalance.ts";
import { type SeenNode, useNodes } from "../../live/nodes.ts";
import { useOrigin } from "../../live/origin.ts";
import { bytes, percent, rate, whole } from "../../text/format.ts";
import { TERMS } from "../../text/terms.ts";
import { DownloadCsv } from "../../ui/download.tsx";
import { NodeLinks } from "../../ui/node-badges.tsx";
import { Empty, Notice } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { RangeChoice } from "../../ui/range.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Name, Time } from "../../ui/values.tsx";
import { NodeCharts } from "./node-charts.tsx";

const REFRESH_MS = 2000;

const nameOf = ({ nodeId, worker }: SeenNode): string =>
  worker === undefined ? nodeId : `${nodeId} · worker ${worker}`;

const linksOf = ({ nats, store, awaySince }: SeenNode): string =>
  awaySince === undefined ? `NATS ${nats ?? "not used"}, store ${store}` : "not responding";

const COLUMNS: readonly Column<SeenNode>[] = [
  {
    title: "Node",
    value: nameOf,
    cell: (node) => <Name>{nameOf(node)}</Name>,
  },
  {
    title: "Connections",
    rem: 7.5,
    isNumber: true,
    value: ({ connections }) => connections,
    cell: (node) => whole(node.connections),
  },
  {
    title: "Channels",
    rem: 6.5,
    isNumber: true,
    isMinor: true,
    value: ({ channels }) => channels,
    cell: (node) => whole(node.channels),
  },
  {
    title: "Messages/s",
    rem: 7.5,
    isNumber: true,
    isMedium: true,
    value: ({ messagesPerSec }) => messagesPerSec,
    cell: ({ messagesPerSec }) => (messagesPerSec === undefined ? "" : rate(messagesPerSec)),
  },
  { title: "CPU", rem: 5, isNumber: true, value: ({ cpu }) => cpu, cell: (node) => percent(node.cpu) },
  {
    title: "Memory",
    rem: 6.5,
    isNumber: true,
    isMedium: true,
    value: ({ rssBytes }) => rssBytes,
    cell: (node) => bytes(node.rssBytes),
  },
  {
    title: "Loop lag",
    meaning: TERMS.loopLag,
    rem: 6.5,
    isNumber: true,
    isMinor: true,
    value: ({ loopLagMs }) => loopLagMs,
    cell: (node) => `${rate(node.loopLagMs)} ms`,
  },
  {
    title: "Started",
    rem: 7,
    isMedium: true,
    value: ({ startedAt }) => startedAt,
    isTime: true,
    cell: (node) => <Time at={node.startedAt} />,
  },
  {
    title: "Version",
    rem: 6,
    isMinor: true,
    value: ({ version }) => version,
    cell: (node) => <Name>{node.version}</Name>,
  },
  { title: "Links", meaning: TERMS.links, width: 16, value: linksOf, cell: (node) => <NodeLinks node={node} /> },
];

const counted = (count: number, noun: string): string => `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;

export function Nodes(_: { readonly at: PageParameters }) {
  const { data, error, isComplete } = useNodes(REFRESH_MS);
  const nodes = data ?? [];
  const present = nodes.filter(({ awaySince }) => awaySince === undefined);
  const connections = present.reduce((sum, node) => sum + node.connections, 0);
  const imbalance = imbalanceOf(nodes);
  return (
    <Page
      title="Nodes"
      intro="CPU is a percentage of one core."
      isReady={data !== undefined}
      error={error}
      isComplete={isComplete}
      actions={
        <>
          <RangeChoice />
          <DownloadCsv name="nodes" columns={COLUMNS} rows={nodes} />
        </>
      }
    >
      {imbalance && <UnevenConnections {...imbalance} />}
      <Card
        title={`${
          present.length < nodes.length
            ? `${present.length} of ${nodes.length} nodes respond`
            : counted(nodes.length, "node")
        }, ${counted(connections, "connection")}`}
      >
        <Table
          label="Nodes"
          columns={COLUMNS}
          rows={nodes}
          keyOf={({ nodeId, worker }) => `${nodeId} ${worker}`}
          isVirtual
          isStacked
          sortIn="sort"
          empty={<Empty title="No node has responded." />}
        />
      </Card>
      <NodeCharts />
      <p class="muted small">
        Add a node by starting another with the same PostgreSQL and NATS (<code>PARLEY_DATABASE_URL</code>,{" "}
        <code>PARLEY_NATS_URL</code>). A node that stops stays in this list for ten minutes while the page is open.
      </p>
    </Page>
  );
}

function UnevenConnections({ busiest, timesMean }: Imbalance) {
  const origin = useOrigin();
  return (
    <Notice>
      <strong>{nameOf(busiest)}</strong> has {whole(busiest.connections)} connections, {timesMean.toFixed(1)} times the
      mean, and will be full while others have room. Open connections do not move by themselves.{" "}
      <a href={`${origin}/docs/scale#uneven-nodes-and-workers`}>What you can do</a>
    </Notice>
  );
}
