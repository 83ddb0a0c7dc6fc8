/**
 * What a delivery costs, all processes together: of a message to a channel, with one publisher on the first node and subscribers spread evenly
 * over all, and of a direct message whose sender and receiver are on different nodes.
 */
import { payload } from "../contenders/contender.ts";
import { measured, type Plan, type PlannedConnection, type PlannedPublisher } from "../lib/loader.ts";
import type { RunningSystem } from "./systems.ts";

const BYTES = 128;
const CHANNEL = "fan-out";
const PAIRS = 100;

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
export function measureFanOut(system: RunningSystem, load: FanOut, pace: Pace): Promise<FanOutFigures> {
  const { ports, dialect } = system;
  const { subscribers, inFlight } = load;
  const connections = Array.from({ length: subscribers }, (_, i): PlannedConnection => {
    const script = dialect.subscriber(i, CHANNEL, { metadata: false });
    return { script, port: ports[i % ports.length] ?? ports[0], hears: 0 };
  });
  connections.push({ script: dialect.publisher(subscribers, CHANNEL) });
  const frame = dialect.publish(CHANNEL, payload(BYTES), true);
  const publishers = [{ connection: subscribers, receivers: subscribers, frame }];
  return figuresOf(system, { connections, publishers, inFlight }, subscribers, pace);
}

/** Pairs whose sender is on one node and whose receiver is on the next; `undefined`: the system has no direct messages. */
export async function measureDirect(system: RunningSystem, pace: Pace): Promise<FanOutFigures | undefined> {
  const { ports, dialect } = system;
  if (!dialect.direct) return undefined;
  const connections: PlannedConnection[] = [];
  const publishers: PlannedPublisher[] = [];
  const portOf = (index: number): number => ports[index % ports.length] ?? ports[0];
  for (let pair = 0; pair < PAIRS; pair++) {
    const [sender, receiver] = [2 * pair, 2 * pair + 1];
    connections.push({ script: dialect.direct.peer(sender), port: portOf(pair) });
    connections.push({ script: dialect.direct.peer(receiver), port: portOf(pair + 1), hears: pair });
    publishers.push({
      connection: sender,
      receivers: 1,
      frame: dialect.direct.frame(receiver, payload(BYTES), true),
    });
  }
  return figuresOf(system, { connections, publishers, inFlight: 1 }, 1, pace);
}

async function figuresOf(
  { ports, nodePids, natsPids }: RunningSystem,
  plan: Plan,
  receivers: number,
  pace: Pace,
): Promise<FanOutFigures> {
  const report = await measured(plan, pace, { port: ports[0], pids: [...nodePids, ...natsPids] });
  const us = (seconds: readonly number[]): number => (sum(seconds) / report.messages) * 1e6;
  const nodes = report.processSeconds.slice(0, nodePids.length);
  const total = us(report.processSeconds);
  return {
    nsPerDelivery: (total / receivers) * 1e3,
    usPerMessage: total,
    firstUs: us(nodes.slice(0, 1)),
    othersUs: us(nodes.slice(1)),
    natsUs: us(report.processSeconds.slice(nodePids.length)),
    messagesPerSecond: report.messages / report.seconds,
    loaderShare: report.busySeconds / report.seconds,
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
