/** One publisher on the first node, subscribers spread evenly over all: the cost of a delivery, all processes together. */
import { payload } from "../contenders/contender.ts";
import { measured, type PlannedConnection } from "../lib/loader.ts";
import type { RunningSystem } from "./systems.ts";

const BYTES = 128;
const CHANNEL = "fan-out";

export interface FanOut {
  readonly subscribers: number;
  readonly inFlight: number;
}

export interface Pace {
  readonly warmUpMs: number;
  readonly measureMs: number;
}

export interface FanOutFigures {
  /** CPU of all nodes and of nats-server. */
  readonly nsPerDelivery: number;
  readonly usPerMessage: number;
  /** Shares of `usPerMessage`: the publisher's node, the other nodes together, nats-server. */
  readonly firstUs: number;
  readonly othersUs: number;
  readonly natsUs: number;
  readonly messagesPerSecond: number;
  readonly loaderShare: number;
}

/** Throws on a lost, duplicated or reordered delivery on any node. */
export async function measureFanOut(
  { ports, nodePids, natsPids, dialect }: RunningSystem,
  { subscribers, inFlight }: FanOut,
  pace: Pace,
): Promise<FanOutFigures> {
  const connections = Array.from({ length: subscribers }, (_, i): PlannedConnection => {
    const script = dialect.subscriber(i, CHANNEL, { metadata: false });
    return { script, port: ports[i % ports.length] ?? ports[0], hears: 0 };
  });
  connections.push({ script: dialect.publisher(subscribers, CHANNEL) });
  const frame = dialect.publish(CHANNEL, payload(BYTES), true);
  const publishers = [{ connection: subscribers, receivers: subscribers, frame }];
  const target = { port: ports[0], pids: [...nodePids, ...natsPids] };
  const report = await measured({ connections, publishers, inFlight }, pace, target);

  const us = (seconds: readonly number[]): number => (sum(seconds) / report.messages) * 1e6;
  const nodes = report.processSeconds.slice(0, nodePids.length);
  const total = us(report.processSeconds);
  return {
    nsPerDelivery: (total / subscribers) * 1e3,
    usPerMessage: total,
    firstUs: us(nodes.slice(0, 1)),
    othersUs: us(nodes.slice(1)),
    natsUs: us(report.processSeconds.slice(nodePids.length)),
    messagesPerSecond: report.messages / report.seconds,
    loaderShare: report.busySeconds / report.seconds,
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
