/** What each node carries over time: whether one has more than the others, and since when. */
import type { Series } from "../../api/types.ts";
import { byNode } from "../../live/by-node.ts";
import { type AskedSeries, useSeries } from "../../live/series.ts";
import { rate } from "../../text/format.ts";
import { TERMS } from "../../text/terms.ts";
import { ChartCard } from "../../ui/chart.tsx";
import { chosenRange } from "../../ui/range.tsx";

/** A line for each of them, distinguished by colour and dashes. More are hard to tell apart. */
const LOOKS = [
  { color: "--accent" },
  { color: "--good", isDashed: true },
  { color: "--warn" },
  { color: "--bad", isDashed: true },
  { color: "--muted" },
] as const;

const CHARTS = [
  { metric: "connections", title: "Connections by node", unit: "", leastTop: 5 },
  { metric: "messages", title: "Messages in by node", unit: "/s" },
  { metric: "p99Ms", title: "Frame to publish by node, p99", unit: "", meaning: TERMS.frameToPublish, leastTop: 0.1 },
  { metric: "errors", title: "Errors by node", unit: "/s", meaning: TERMS.errorFrames },
] as const;
type Metric = (typeof CHARTS)[number]["metric"];

const ASKED = Object.fromEntries(CHARTS.map(({ metric }) => [metric, { metric }])) as Readonly<
  Record<Metric, AskedSeries>
>;
const NOTHING: Pick<Series, "stepSec" | "nodes"> = { stepSec: 5, nodes: [] };

export function NodeCharts() {
  const { data, range } = useSeries(ASKED, chosenRange());
  return (
    <div class="halves">
      {CHARTS.map(({ metric, title, unit, ...axis }) => {
        const { times, nodes } = byNode(data?.[metric] ?? { ...NOTHING, metric }, range, LOOKS.length);
        return (
          <ChartCard
            key={metric}
            title={title}
            unit={unit}
            times={times}
            lines={nodes.map(({ nodeId, values }, at) => ({
              ...(LOOKS[at] ?? LOOKS[0]),
              title: nodeId ?? "all others",
              values,
            }))}
            heightPx={150}
            {...axis}
            {...(metric === "p99Ms" && { format: (value: number) => `${rate(value)} ms` })}
          />
        );
      })}
    </div>
  );
}
