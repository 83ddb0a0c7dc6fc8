/** The work loads: what the loader is asked to do, and what figure is made of its report. */
import { type Dialect, payload, type Running } from "../contenders/contender.ts";
import { crowd, load, type Plan, type PlannedConnection, type PlannedPublisher, type Report } from "../lib/loader.ts";

/** How long each is done, in milliseconds. */
export interface Pace {
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** By name of the figure. */
export type Figures = Readonly<Record<string, number>>;

export interface Load {
  readonly id: string;
  readonly title: string;
  /** The figure that is compared, and in which direction. */
  readonly figure: string;
  readonly unit: string;
  readonly isBetterLow?: true;
  /** Names of those it is for; absent: for all. */
  readonly contenders?: readonly string[];
  /** undefined: this server has nothing of the kind. */
  run(server: Running, pace: Pace): Promise<Figures | undefined>;
}

export const PARLEY = "Parley";
/** Another tree's. */
export const BEFORE = "Parley before";
export const BARE_C = "bare C";
export const BARE_BUN = "bare Bun";
export const BARE_JSON = "bare Bun + JSON";
const BYTES = 128;
const cpu = ({ userSeconds, systemSeconds }: Report): number => userSeconds + systemSeconds;

interface Channels {
  readonly count: number;
  readonly subscribers: number;
  readonly bytes?: number;
  /** Every second subscriber asks for the sender's metadata. */
  readonly halfWithMetadata?: true;
  readonly acks?: boolean;
}

/** One publisher a channel, which only publishes; the subscribers only listen. */
function channelsOf(dialect: Dialect, { count, subscribers, bytes = BYTES, halfWithMetadata, acks = true }: Channels) {
  const connections: PlannedConnection[] = [];
  const publishers: PlannedPublisher[] = [];
  for (let c = 0; c < count; c++) {
    const channel = `bench${c}`;
    for (let s = 0; s < subscribers; s++) {
      const metadata = halfWithMetadata === true && s % 2 === 0;
      connections.push({ script: dialect.subscriber(connections.length, channel, { metadata }), hears: c });
    }
    const frame = dialect.publish(channel, payload(bytes), acks);
    publishers.push({ connection: connections.length, receivers: subscribers, frame });
    connections.push({ script: dialect.publisher(connections.length, channel) });
  }
  return { connections, publishers };
}

function pairsOf(dialect: Dialect, pairs: number): Pick<Plan, "connections" | "publishers"> | undefined {
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

/** Deliveries a CPU-second; per delivery and per message beside it. */
function perCpuSecond(report: Report): Figures {
  return {
    deliveriesPerCpuSecond: report.deliveries / cpu(report),
    cpuNsPerDelivery: (cpu(report) / report.deliveries) * 1e9,
    userUsPerMessage: (report.userSeconds / report.messages) * 1e6,
    systemShare: report.systemSeconds / cpu(report),
    loaderShare: report.loaderShare,
  };
}

const DELIVERIES = { figure: "deliveriesPerCpuSecond", unit: "deliveries a CPU-second" } as const;

const fanOut = (
  id: string,
  title: string,
  channels: Channels,
  inFlight: number,
  contenders?: readonly string[],
): Load => ({
  id,
  title,
  ...DELIVERIES,
  ...(contenders && { contenders }),
  run: async (server, pace) =>
    perCpuSecond(await load({ mode: "fanout", ...channelsOf(server.dialect, channels), inFlight, ...pace }, server)),
});

const direct = (id: string, inFlight: number): Load => ({
  id,
  title: `direct messages, 500 pairs, ${inFlight} in flight a pair, acks`,
  ...DELIVERIES,
  run: async (server, pace) => {
    const pairs = pairsOf(server.dialect, 500);
    return pairs && perCpuSecond(await load({ mode: "fanout", ...pairs, inFlight, ...pace }, server));
  },
});

/** What one published frame costs in our own code: few subscribers, so that the kernel does little. */
const inbound = (id: string, subscribers: number): Load => ({
  id,
  title: `inbound: a published frame with ${subscribers} subscriber${subscribers === 1 ? "" : "s"}, acks`,
  figure: "userUsPerMessage",
  unit: "µs of user CPU a frame",
  isBetterLow: true,
  contenders: [PARLEY, BARE_JSON, "Socket.IO", "Node and ws"],
  run: async (server, pace) => {
    const channels = channelsOf(server.dialect, { count: 1, subscribers });
    return perCpuSecond(await load({ mode: "fanout", ...channels, inFlight: 32, ...pace }, server));
  },
});

const CHANNEL_SIZE = 10;
const CONNECTS_UNMEASURED = 1000;
const CONNECTS = 4000;

const connects: Load = {
  id: "f",
  title: `connect, authenticate, subscribe, roster, in channels of ${CHANNEL_SIZE}`,
  figure: "connectsPerCpuSecond",
  unit: "connects a CPU-second",
  run: async (server) => {
    const connections = Array.from({ length: CONNECTS_UNMEASURED + CONNECTS }, (_, i) => ({
      script: server.dialect.subscriber(i, `bench${Math.floor(i / CHANNEL_SIZE)}`, { metadata: false }),
    }));
    const report = await load({ mode: "connect", connections, unmeasured: CONNECTS_UNMEASURED }, server);
    return { connectsPerCpuSecond: report.connects / cpu(report), connectsPerSecond: report.connects / report.seconds };
  },
};

const LATENCY_SUBSCRIBERS = 100;
/** Of 100 deliveries each: what the slowest of all can do with ease, so that nobody is measured at its limit. */
const LATENCY_RATE = 100;

const latency: Load = {
  id: "h",
  title: `latency at ${LATENCY_RATE} messages a second to ${LATENCY_SUBSCRIBERS}, from the intended time`,
  figure: "p99us",
  unit: "µs, p99",
  isBetterLow: true,
  run: async (server, pace) => {
    const channels = channelsOf(server.dialect, { count: 1, subscribers: LATENCY_SUBSCRIBERS });
    const report = await load({ mode: "latency", ...channels, rate: LATENCY_RATE, ...pace }, server);
    return { p50us: report.p50us, p99us: report.p99us };
  },
};

const ONE = { count: 1, subscribers: 1000 } as const;
const MANY = { count: 100, subscribers: 10 } as const;
const LIMITS = [PARLEY, BARE_C, BARE_BUN];

export const LOADS: readonly Load[] = [
  fanOut("a", "one channel, 1,000 subscribers, 128 B, one in flight", ONE, 1),
  fanOut("b4", "the same, 4 in flight", ONE, 4),
  fanOut("b32", "the same, 32 in flight", ONE, 32),
  fanOut("c", "100 channels of 10, no acks, as its controls", { ...MANY, acks: false }, 1),
  fanOut("c+", "100 channels of 10, acks", MANY, 1, [PARLEY, BARE_JSON, "Socket.IO", "Node and ws"]),
  direct("d1", 1),
  direct("d32", 32),
  fanOut("e", "(a), half with the sender's metadata", { ...ONE, halfWithMetadata: true }, 1, [PARLEY]),
  connects,
  latency,
  fanOut("i1", "(a) with 1 KB", { ...ONE, bytes: 1024 }, 1),
  fanOut("i16", "(a) with 16 KB", { ...ONE, bytes: 16_384 }, 1),
  inbound("k1", 1),
  inbound("k10", 10),
  fanOut("a100", "growth of (a): 100 subscribers", { count: 1, subscribers: 100 }, 1, LIMITS),
  fanOut("a10000", "growth of (a): 10,000 subscribers", { count: 1, subscribers: 10_000 }, 1, LIMITS),
];

/** Connections that do nothing but be there, until disposed of. */
export function idleCrowd(server: Running, from: number, count: number): Promise<AsyncDisposable> {
  const connections = Array.from({ length: count }, (_, i) => ({
    script: server.dialect.subscriber(from + i, `idle${Math.floor((from + i) / CHANNEL_SIZE)}`, { metadata: false }),
  }));
  return crowd({ mode: "idle", connections }, server);
}
