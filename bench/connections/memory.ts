/** The memory of a connection: distinct peers in channels of a hundred, some time after the load. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Crowds, Host, Part } from "../lib/crowds.ts";
import { KIB, type Memory, MIB, memoryOf, openFilesLimit, socketBytes } from "../lib/memory.ts";
import { table } from "../lib/report.ts";

const TARGET_BYTES = 4 * KIB;
const CHANNEL_SIZE = 100;
const IN_FLIGHT = 64;
const WARM_UP_ROUNDS = 3;
const WARM_UP_PEERS = 400;
/** The baseline is the lowest RSS within this time, so that it does not include garbage of the warm-up. */
const EMPTY_LOOKS = 10;
const LOOK_EVERY_MS = 1000;
const WITHIN_MS = 180_000;
/** Open files that are not connections. */
const SPARE_FILES = 200;

/** A process under measurement. */
export interface Subject extends Host {
  readonly name: string;
  readonly pid: number;
}

export interface MemoryOptions {
  readonly connections: number;
  readonly waitMs: number;
}

export interface Footprint {
  readonly name: string;
  readonly empty: Memory;
  readonly loaded: Memory;
  readonly bytesPerConnection: number;
}

export interface MemoryFigures {
  readonly connections: number;
  readonly waitSeconds: number;
  readonly footprints: readonly Footprint[];
  /** Both ends of every connection to all of the processes, and other activity of the machine. */
  readonly kernelSocketBytes: { readonly before: number; readonly after: number };
  readonly target: number;
  readonly holds: boolean;
}

/** The target applies to the first subject. All are loaded at once, which does not affect memory. */
export async function measureMemory(
  crowds: Crowds,
  subjects: readonly Subject[],
  { connections, waitMs }: MemoryOptions,
): Promise<MemoryFigures> {
  for (const { pid } of subjects) checkLimit(pid, connections);
  for (const subject of subjects) await warmUp(crowds, subject);
  const empty = await lowest(subjects);
  const before = socketBytes();
  for (const subject of subjects)
    await crowds.ask({ do: "join", part: part(subject, connections) }, subject, WITHIN_MS);
  await sleep(waitMs);
  const footprints = subjects.map(({ name, pid }, i): Footprint => {
    const [was, loaded] = [empty[i]!, memoryOf(pid)];
    return { name, empty: was, loaded, bytesPerConnection: (loaded.rss - was.rss) / connections };
  });
  const after = socketBytes();
  await checkPeers(crowds, subjects[0]!, connections);
  for (const subject of subjects)
    await crowds.ask({ do: "leave", part: part(subject, connections) }, subject, WITHIN_MS);
  return {
    connections,
    waitSeconds: waitMs / 1000,
    footprints,
    kernelSocketBytes: { before, after },
    target: TARGET_BYTES,
    holds: footprints[0]!.bytesPerConnection <= TARGET_BYTES,
  };
}

const part = ({ name }: Subject, to: number): Part => ({
  group: `${name}-memory`,
  from: 0,
  to,
  channelSize: CHANNEL_SIZE,
  inFlight: IN_FLIGHT,
});

/** Compiles code and grows pools, so that one-time costs of a process do not count as costs per connection. */
async function warmUp(crowds: Crowds, subject: Subject): Promise<void> {
  for (let round = 0; round < WARM_UP_ROUNDS; round++)
    for (const order of ["join", "leave"] as const)
      await crowds.ask({ do: order, part: part(subject, WARM_UP_PEERS) }, subject, WITHIN_MS);
}

async function lowest(subjects: readonly Subject[]): Promise<Memory[]> {
  let found = subjects.map(({ pid }) => memoryOf(pid));
  for (let look = 0; look < EMPTY_LOOKS; look++) {
    await sleep(LOOK_EVERY_MS);
    found = subjects.map(({ pid }, i) => [found[i]!, memoryOf(pid)].sort((a, b) => a.rss - b.rss)[0]!);
  }
  return found;
}

/** A connection that was lost meanwhile, or does not know its channel, would make the result too low. */
async function checkPeers(crowds: Crowds, subject: Subject, connections: number): Promise<void> {
  const { content, problem } = await crowds.ask({ do: "report", part: part(subject, connections) }, subject, WITHIN_MS);
  if (content !== connections) throw new Error(`${content} of ${connections} peers are correct: ${problem}`);
}

function checkLimit(pid: number, connections: number): void {
  const limit = openFilesLimit(pid);
  if (limit < connections + SPARE_FILES)
    throw new Error(`${connections} connections need more open files than the ${limit} allowed: raise \`ulimit -n\``);
}

export function describeMemory({
  connections,
  waitSeconds,
  footprints,
  kernelSocketBytes,
  ...rest
}: MemoryFigures): string {
  const mib = (bytes: number): string => (bytes / MIB).toFixed(1);
  const rows = footprints.map(({ name, empty, loaded, bytesPerConnection }) => [
    name,
    mib(empty.rss),
    mib(loaded.rss),
    mib(loaded.anonymous),
    bytesPerConnection.toFixed(0),
  ]);
  const heads = ["memory", "empty, MiB", "loaded, MiB", "of it anonymous", "bytes per connection"];
  const kernel = (kernelSocketBytes.after - kernelSocketBytes.before) / MIB;
  return [
    `${connections} connections in channels of ${CHANNEL_SIZE}, ${waitSeconds} s after the load`,
    table(heads, rows),
    `kernel socket buffers, all processes: ${kernel.toFixed(1)} MiB more than before`,
    `target at most ${rest.target} bytes per connection: ${rest.holds ? "holds" : "MISSED"}`,
  ].join("\n");
}
