/** What the services do: on one core for the CPU of a piece of work, on all cores for throughput. */
import { setTimeout as sleep } from "node:timers/promises";
import { exactCpuSeconds } from "../lib/cpu-clock.ts";
import { MIB, memoryOf } from "../lib/memory.ts";
import { connectsTo, direct, type Figures, fanOut, type SlicedLoad } from "../speed/loads.ts";
import { type Slices, sideBySide } from "../speed/slices.ts";
import { type AnyService, KEPT, type Service, type System, start, startAny } from "./systems.ts";

const IDLE_MS = 10_000;
/** Connects of 4,000 clients each that are not measured, and one for each worker; then those that are. */
const WARM_ROUNDS = 1;
const MEASURED_ROUNDS = 3;

export interface Pace {
  readonly slices: Slices;
}

/** A load that is compared by the CPU of all processes. */
export interface Compared {
  readonly load: SlicedLoad;
  /** How many connections get a message. */
  readonly receivers: number;
  /** How many times its connections are opened anew: the system places them at random, and few of them unevenly. The mean counts. */
  readonly placements: number;
  /** How many times as long as others it first runs unmeasured: code that no load before it has used is not compiled in any process. */
  readonly warmUps?: number;
  /** Bare processes are measured too. */
  readonly hasFloor?: true;
  /** How many times as much as one process that number of workers may cost. */
  readonly atMost?: Bounds;
}

/** By the number of workers. */
export type Bounds = Readonly<Record<number, number>>;

const MANY = { count: 100, subscribers: 10 } as const;
const ONE_KEPT = { count: 1, subscribers: 0, prefix: KEPT } as const;
const MANY_KEPT = { count: 100, subscribers: 0, prefix: KEPT } as const;
/** Messages with history go through the process that has the file open. */
const STORED: Bounds = { 2: 1.5, 4: 1.5 };
/** Joins of rooms scale as connects do. */
export const CONNECTS_AT_MOST: Bounds = { 2: 1.25, 4: 1.5 };

const PLAIN: readonly Compared[] = [
  {
    load: fanOut("1000", "one channel, 1,000 subscribers, one in flight", { count: 1, subscribers: 1000 }, 1),
    receivers: 1000,
    placements: 1,
    hasFloor: true,
    atMost: { 2: 1.06, 4: 1.12 },
  },
  {
    load: fanOut("10", "one channel, 10 subscribers, one in flight", { count: 1, subscribers: 10 }, 1),
    receivers: 10,
    placements: 5,
    hasFloor: true,
    atMost: { 2: 1.3, 4: 1.8 },
  },
  {
    load: fanOut("10x16", "one channel, 10 subscribers, 16 in flight", { count: 1, subscribers: 10 }, 16),
    receivers: 10,
    placements: 5,
    hasFloor: true,
    atMost: { 2: 1.3, 4: 1.6 },
  },
  {
    load: fanOut("1000x32", "one channel, 1,000 subscribers, 32 in flight", { count: 1, subscribers: 1000 }, 32),
    receivers: 1000,
    placements: 1,
  },
  {
    load: fanOut("100x10", "100 channels of 10, one in flight each", MANY, 1),
    receivers: 10,
    placements: 1,
  },
  { load: direct("direct", 1), receivers: 1, placements: 1, hasFloor: true, atMost: { 2: 1.5, 4: 1.8 } },
];

/** Without subscribers, only the store gets a message. */
const WITH_HISTORY: readonly Compared[] = [
  {
    load: fanOut("kept100", "with history: 100 channels, no subscribers, one in flight each", MANY_KEPT, 1),
    receivers: 0,
    placements: 1,
    warmUps: 5,
    atMost: STORED,
  },
  {
    load: fanOut(
      "kept100x10",
      "with history: 100 channels of 10, one in flight each",
      { ...MANY_KEPT, subscribers: 10 },
      1,
    ),
    receivers: 10,
    placements: 1,
    atMost: STORED,
  },
  {
    load: fanOut("kept1x16", "with history: one channel, no subscribers, 16 in flight", ONE_KEPT, 16),
    receivers: 0,
    placements: 1,
    atMost: STORED,
  },
  // Both ways of the hop to the store for each message, without any that could share it.
  {
    load: fanOut("kept1", "with history: one channel, no subscribers, one in flight", ONE_KEPT, 1),
    receivers: 0,
    placements: 1,
  },
];

export const COMPARED: readonly Compared[] = [...PLAIN, ...WITH_HISTORY];

/** What is compared: the cost of a delivery, or of a message that only the store gets. */
export const costOf = ({ receivers }: Compared) =>
  receivers > 0
    ? ({ figure: "cpuNsPerDelivery", unit: "ns of CPU per delivery", pieces: receivers } as const)
    : ({ figure: "cpuNsPerMessage", unit: "ns of CPU per message", pieces: 1 } as const);

export const THROUGHPUTS: readonly SlicedLoad[] = [
  fanOut("1000x8", "one channel, 1,000 subscribers, 8 in flight", { count: 1, subscribers: 1000 }, 8),
  fanOut("100x10x4", "100 channels of 10, 4 in flight each", MANY, 4),
];

/** Takes a system's name, the id of a load and its measurements. */
export type Note = (system: string, load: string, figures: Figures) => void;

/** CPU of all processes, which share one core. */
export async function compareCpu(systems: readonly System[], wanted: readonly Compared[], pace: Pace, note: Note) {
  await using running = new AsyncDisposableStack();
  const services = new Map<string, AnyService>();
  for (const system of systems) services.set(system.name, running.use(await startAny(system, true)));
  await idle(services, note);
  for (const compared of wanted) {
    const { load, placements, warmUps = 1, hasFloor = false } = compared;
    const taking = systems.filter(({ isBare = false }) => hasFloor || !isBare).map(({ name }) => name);
    const here = new Map([...services].filter(([name]) => taking.includes(name)));
    const slices = { ...pace.slices, unmeasured: pace.slices.unmeasured * warmUps };
    if (compared === WITH_HISTORY[0]) for (const service of services.values()) await service.keepHistory?.();
    const found = new Map<string, Figures[]>();
    for (let at = 0; at < placements; at++)
      for (const [name, figures] of await sideBySide(load, here, slices, failed))
        found.set(name, [...(found.get(name) ?? []), figures]);
    const { figure } = costOf(compared);
    for (const [name, all] of found)
      note(name, load.id, { [figure]: mean(all.map((one) => one[figure] ?? Number.NaN)) });
  }
}

/** What the processes take while there are no clients. */
async function idle(services: ReadonlyMap<string, AnyService>, note: Note): Promise<void> {
  const cpu = (): number[] =>
    [...services.values()].map(({ pids }) => pids.reduce((sum, pid) => sum + exactCpuSeconds(pid), 0));
  await sleep(IDLE_MS);
  const before = cpu();
  await sleep(IDLE_MS);
  const after = cpu();
  for (const [at, [name, { pids }]] of [...services].entries()) {
    const seconds = (after[at] ?? Number.NaN) - (before[at] ?? Number.NaN);
    note(name, "idle", {
      mib: pids.reduce((sum, pid) => sum + memoryOf(pid).rss, 0) / MIB,
      cpuPercent: (seconds / (IDLE_MS / 1000)) * 100,
    });
  }
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Deliveries per second on all cores, which the loader shares. */
export async function compareThroughput(systems: readonly System[], pace: Pace, note: Note): Promise<void> {
  await using running = new AsyncDisposableStack();
  const services = new Map<string, Service>();
  for (const system of systems) services.set(system.name, running.use(await start(system, false)));
  for (const load of THROUGHPUTS)
    for (const [name, figures] of await sideBySide(load, services, pace.slices, failed)) note(name, load.id, figures);
}

/**
 * Servers that have not served a client yet, one after the other: connects per CPU-second, or per second on all cores. On one core also when
 * they have served many: each process compiles the code for itself, and N of them do so with a share of the connects each.
 */
export async function compareConnects(systems: readonly System[], onOneCore: boolean, note: Note): Promise<void> {
  for (const system of systems) {
    await using started = await startAny(system, onOneCore);
    const service = { ...started, dialect: started.joining ?? started.dialect };
    note(system.name, onOneCore ? "connects" : "connectRate", await connectsTo(service, system.workers));
    if (!onOneCore) continue;
    for (let round = 0; round < WARM_ROUNDS + system.workers; round++) await connectsTo(service, system.workers);
    const rounds: Figures[] = [];
    for (let round = 0; round < MEASURED_ROUNDS; round++) rounds.push(await connectsTo(service, system.workers));
    note(system.name, "connectsWarm", {
      cpuUsPerConnect: mean(rounds.map(({ cpuUsPerConnect = 0 }) => cpuUsPerConnect)),
    });
  }
}

/** A lost, duplicated or reordered delivery ends the benchmark. */
function failed(name: string, error: unknown): never {
  throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
}
