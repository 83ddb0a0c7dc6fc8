/** How this node is and what it has, for operators: answered to every node that asks. */
import { systemClock } from "../../base/clock.ts";
import { type HasFeatures, NODE_FEATURES } from "../../http/control/live/node-features.ts";
import { NODE_STATUS, type NodeStatus } from "../../http/control/live/nodes.ts";
import { VERSION } from "../../version.ts";
import type { NodeContext } from "../parts/context.ts";
import { natsOf } from "../parts/engine.ts";
import type { Realtime } from "../parts/realtime.ts";

export function answerNodeStatus(
  { config, nodeId, vitals, team }: NodeContext,
  { hub, engine, storeFollower }: Realtime,
): void {
  const startedAt = Math.floor(systemClock.wallMs() / 1000 - process.uptime());
  const isNatsUp = natsOf(config, engine);
  const status = (): NodeStatus => ({
    nodeId,
    version: VERSION,
    startedAt,
    connections: hub.connections.count,
    channels: hub.spaces.channelCount,
    messagesPerSec: hub.sampling.series.values("messages", "15m").values.at(-1) ?? 0,
    cpu: rounded(vitals.cpu),
    rssBytes: process.memoryUsage.rss(),
    loopLagMs: rounded(vitals.loopLagMs),
    ...(team && { worker: team.slot }),
    nats: isNatsUp ? state(isNatsUp()) : null,
    // The embedded store is a file of this process: it does not go away.
    store: state(storeFollower?.isUp !== false),
  });
  hub.nodeRequests.onRequest(NODE_STATUS, status);
  const has: HasFeatures = { nodeId, ...(team && { worker: team.slot }), features: ["streams"] };
  hub.nodeRequests.onRequest(NODE_FEATURES, () => has);
}

const state = (isUp: boolean): "ok" | "away" => (isUp ? "ok" : "away");
const rounded = (value: number): number => Math.round(value * 1000) / 1000;
