/** The workloads: what the loader does, and which measurement is taken from its report. */
import { type Dialect, type Frame, payload, type Running } from "../contenders/contender.ts";
import {
  connects,
  cpuOf,
  type Deliveries,
  latencies,
  open,
  type Plan,
  type PlannedConnection,
  type PlannedPublisher,
  type Session,
} from "../lib/loader.ts";

/** The duration in milliseconds. */
export interface Pace {
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** By name of the measurement. */
export type Figures = Readonly<Record<string, number>>;

interface Row {
  readonly id: string;
  readonly title: string;
  /** The measurement that is compared, and in which direction. */
  readonly figure: string;
  readonly unit: string;
  readonly isBetterLow?: true;
  /** Names of the contenders it is for; default: all. */
  readonly contenders?: readonly string[];
}

/** Contenders take turns, many short ones each. */
export interface SlicedLoad extends Row {
  /** undefined: a server of this protocol does not support it. */
  plan(dialect: Dialect): Plan | undefined;
  figures(windows: Deliveries): Figures;
}

/** One contender after the other, each without interruption. */
export interface WholeLoad extends Row {
  /** Needs a server that has not served a client yet. */
  readonly isFresh?: true;
  run(server: Running, pace: Pace): Promise<Figures>;
}

export type Load = SlicedLoad | WholeLoad;

export const isSliced = (load: Load): load is SlicedLoad => "plan" in load;

export const PARLEY = "Parley";
/** The name in the table of a Parley from another source tree. */
export const BEFORE = "Parley before";
/** The same tree a second time: how far one program is from itself in this run. */
export const AGAIN = "Parley before, again";
export const BARE_C = "bare C";
export const BARE_BUN = "bare Bun";
export const BARE_JSON = "bare Bun + JSON";
const BYTES = 128;
/**
 * The length of each publisher's first message, which is not measured. How many segments a receiver's kernel acknowledges at once
 * depends on the largest segment it has seen, and the sender pays for it: a server that sends a long roster first would benefit.
 */
const FIRST_BYTES = 16_384;
const OPENING_LEAST = 64;
const OPENING_STEPS = 10;

interface Channels {
  readonly count: number;
  readonly subscribers: number;
  readonly bytes?: number;
  /** Names of the channels begin with this; default: bench. */
  readonly prefix?: string;
  /** Every second subscriber requests the sender's metadata. */
  readonly halfWithMetadata?: true;
  readonly acks?: boolean;
}

/** One publisher per channel, which only publishes; the subscribers only receive. */
function channelsOf(dialect: Dialect, channels: Channels) {
  const { count, subscribers, bytes = BYTES, prefix = "bench", halfWithMetadata, acks = true } = channels;
  const connections: PlannedConnection[] = [];
  const publishers: PlannedPublisher[] = [];
  const message = (channel: string, size: number): Frame => dialect.publish(channel, payload(size), acks);
  for (let c = 0; c < count; c++) {
    const channel = `${prefix}${c}`;
    for (let s = 0; s < subscribers; s++) {
      const metadata = halfWithMetadata === true && s % 2 === 0;
      connections.push({ script: dialect.subscriber(connections.length, channel, { metadata }), hears: c });
    }
    const [frame, first] = [message(channel, bytes), message(channel, FIRST_BYTES)];
    publishers.push({ connection: connections.length, receivers: subscribers, frame, first });
    connections.push({ script: dialect.publisher(connections.length, channel) });
  }
  // A peer that joins a large channel waits up to half a second for its roster: a few at a time would take minutes.
  return { connections, publishers, opening: Math.max(OPENING_LEAST, subscribers / OPENING_STEPS) };
}

function pairsOf(dialect: Dialect, pairs: number): Plan | undefined {
  const { direct } = dialect;
  if (!direct) return undefined;
  const connections: PlannedConnection[] = [];
  const publishers: PlannedPublisher[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    connections.push({ script: direct.peer(2 * pair) }, { script: direct.peer(2 * pair + 1), hears: pair });
    const frame = direct.frame(2 * pair + 1, payload(BYTES), true);
    publishers.push({ connection: 2 * pair, receivers: 1, frame });
  }
  return { connections, publishers };
}

/** Deliveries per CPU-second; beside it the cost per delivery and per message. */
function perCpuSecond(windows: Deliveries): Figures {
  const cpu = cpuOf(windows);
  const userShare = windows.userSeconds / (windows.userSeconds + windows.systemSeconds);
  return {
    deliveriesPerCpuSecond: windows.deliveries / cpu,
    cpuNsPerDelivery: (cpu / windows.deliveries) * 1e9,
    cpuNsPerMessage: (cpu / windows.messages) * 1e9,
    userUsPerMessage: ((cpu * userShare) / windows.messages) * 1e6,
    systemShare: 1 - userShare,
    loaderShare: windows.busySeconds / windows.seconds,
    deliveriesPerSecond: windows.deliveries / windows.seconds,
    serverCores: cpu / windows.seconds,
    loaderCores: windows.loaderSeconds / windows.seconds,
  };
}

const DELIVERIES = {
  figure: "deliveriesPerCpuSecond",
  unit: "deliveries per CPU-second",
  figures: perCpuSecond,
} as const;

export const fanOut = (
  id: string,
  title: string,
  channels: Channels,
  inFlight: number,
  contenders?: readonly string[],
): SlicedLoad => ({
  id,
  title,
  ...DELIVERIES,
  ...(contenders && { contenders }),
  plan: (dialect) => ({ ...channelsOf(dialect, channels), inFlight }),
});

export const direct = (id: string, inFlight: number): SlicedLoad => ({
  id,
  title: `direct messages, 500 pairs, ${inFlight} in flight per pair, acks`,
  ...DELIVERIES,
  plan: (dialect) => {
    const pairs = pairsOf(dialect, 500);
    return pairs && { ...pairs, inFlight };
  },
});

/** The cost of one published frame in our own code: few subscribers, so that the kernel does little. */
const inbound = (id: string, subscribers: number): Load => ({
  id,
  title: `inbound: a published frame with ${subscribers} subscriber${subscribers === 1 ? "" : "s"}, acks`,
  figure: "userUsPerMessage",
  unit: "µs of user CPU per frame",
  isBetterLow: true,
  contenders: [PARLEY, BARE_JSON, "Socket.IO", "Node and ws"],
  plan: (dialect) => ({ ...channelsOf(dialect, { count: 1, subscribers }), inFlight: 32 }),
  figures: perCpuSecond,
});

const CHANNEL_SIZE = 10;
/** For each process of the server: code that has not run often yet is slow. */
const CONNECTS_UNMEASURED = 1000;
const CONNECTS = 4000;

/** `processes`: how many share the connects, so that each has had as many before as the only one of another server. */
export async function connectsTo(server: Running, processes = 1): Promise<Figures> {
  const unmeasured = CONNECTS_UNMEASURED * processes;
  const connections = Array.from({ length: unmeasured + CONNECTS }, (_, i) => ({
    script: server.dialect.subscriber(i, `bench${Math.floor(i / CHANNEL_SIZE)}`, { metadata: false }),
  }));
  const report = await connects({ connections, unmeasured }, server);
  return {
    connectsPerCpuSecond: report.connects / cpuOf(report),
    cpuUsPerConnect: (cpuOf(report) / report.connects) * 1e6,
    connectsPerSecond: report.connects / report.seconds,
  };
}

export const connecting: WholeLoad = {
  id: "f",
  title: `connect, authenticate, subscribe, roster, in channels of ${CHANNEL_SIZE}`,
  figure: "connectsPerCpuSecond",
  unit: "connects per CPU-second",
  isFresh: true,
  run: (server) => connectsTo(server),
};

const LATENCY_SUBSCRIBERS = 100;
/** 100 deliveries each, at a rate that the slowest contender reaches easily, so that none is measured at its limit. */
const LATENCY_RATE = 100;

const latency: Load = {
  id: "h",
  title: `latency at ${LATENCY_RATE} messages per second to ${LATENCY_SUBSCRIBERS}, from the intended time`,
  figure: "p99us",
  unit: "µs, p99",
  isBetterLow: true,
  run: async (server, pace) => {
    const channels = channelsOf(server.dialect, { count: 1, subscribers: LATENCY_SUBSCRIBERS });
    const { p50us, p99us } = await latencies({ ...channels, rate: LATENCY_RATE, ...pace }, server);
    return { p50us, p99us };
  },
};

const ONE = { count: 1, subscribers: 1000 } as const;
const MANY = { count: 100, subscribers: 10 } as const;
const LIMITS = [PARLEY, BARE_C, BARE_BUN];

export const LOADS: readonly Load[] = [
  fanOut("a", "one channel, 1,000 subscribers, 128 B, one in flight", ONE, 1),
  fanOut("b4", "the same, 4 in flight", ONE, 4),
  fanOut("b32", "the same, 32 in flight", ONE, 32),
  fanOut("c", "100 channels of 10, no acks, like its controls", { ...MANY, acks: false }, 1),
  fanOut("c+", "100 channels of 10, acks", MANY, 1, [PARLEY, BARE_JSON, "Socket.IO", "Node and ws"]),
  direct("d1", 1),
  direct("d32", 32),
  fanOut("e", "(a), half with the sender's metadata", { ...ONE, halfWithMetadata: true }, 1, [PARLEY]),
  connecting,
  latency,
  fanOut("i1", "(a) with 1 KB", { ...ONE, bytes: 1024 }, 1),
  fanOut("i16", "(a) with 16 KB", { ...ONE, bytes: 16_384 }, 1),
  inbound("k1", 1),
  inbound("k10", 10),
  fanOut("a100", "growth of (a): 100 subscribers", { count: 1, subscribers: 100 }, 1, LIMITS),
  fanOut("a10000", "growth of (a): 10,000 subscribers", { count: 1, subscribers: 10_000 }, 1, LIMITS),
];

/** Idle connections, until disposed. */
export function idleCrowd(server: Running, from: number, count: number): Promise<Session> {
  const connections = Array.from({ length: count }, (_, i) => ({
    script: server.dialect.subscriber(from + i, `idle${Math.floor((from + i) / CHANNEL_SIZE)}`, { metadata: false }),
  }));
  return open({ connections }, server);
}
