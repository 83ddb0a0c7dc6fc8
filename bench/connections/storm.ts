/** A join storm: all peers join one channel at the same moment. It ends when each knows exactly the others. */
import type { Crowds, Part } from "../lib/crowds.ts";
import { MIB } from "../lib/memory.ts";
import { cpuTimes } from "../lib/process.ts";
import { table } from "../lib/report.ts";
import type { Subject } from "./memory.ts";

const PEERS = 2000;
const TARGET_FRAMES = 20_000;
const IN_FLIGHT = 250;
const STORM_MS = 60_000;
const WITHIN_MS = 120_000;

type Shape = "connected, then subscribe" | "connect and subscribe";
const SHAPES: readonly Shape[] = ["connected, then subscribe", "connect and subscribe"];

export interface StormOptions {
  /** Metadata per peer, in addition to a name. Half a kilobyte is enough for rosters that one frame cannot hold. */
  readonly metadataBytes: number;
}

export interface StormFigures {
  readonly shape: Shape;
  readonly peers: number;
  /** Peers that have seen every other exactly once, and no one else. */
  readonly content: number;
  readonly problem: string | undefined;
  /** From the first subscribe or connect to the last frame that any peer received. */
  readonly seconds: number;
  /** Text frames that all peers together received since they connected, and their bytes. */
  readonly frames: number;
  readonly bytes: number;
  /** The server's CPU per join; without connecting if that was done before. */
  readonly userMicroseconds: number;
  readonly systemMicroseconds: number;
  readonly holds: boolean;
}

export async function measureStorms(
  crowds: Crowds,
  subject: Subject,
  { metadataBytes }: StormOptions,
): Promise<StormFigures[]> {
  const figures: StormFigures[] = [];
  const part = (group: string): Part => ({
    group,
    from: 0,
    to: PEERS,
    channelSize: PEERS,
    inFlight: IN_FLIGHT,
    metadataBytes,
  });
  // A first run that is not counted: it includes just-in-time compilation.
  await storm(crowds, subject, "connected, then subscribe", part("first"));
  for (const [i, shape] of SHAPES.entries()) figures.push(await storm(crowds, subject, shape, part(`storm-${i}`)));
  return figures;
}

async function storm(crowds: Crowds, subject: Subject, shape: Shape, part: Part): Promise<StormFigures> {
  const connected = shape === "connected, then subscribe";
  if (connected) await crowds.ask({ do: "connect", part }, subject, WITHIN_MS);
  const before = cpuTimes(subject.pid);
  const report = await crowds.ask({ do: "storm", part, connected, withinMs: STORM_MS }, subject, WITHIN_MS);
  const after = cpuTimes(subject.pid);
  await crowds.ask({ do: "leave", part }, subject, WITHIN_MS);
  const { content, problem, frames, bytes } = report;
  return {
    shape,
    peers: PEERS,
    content,
    problem,
    seconds: (report.lastFrameMs - report.startedMs) / 1000,
    frames,
    bytes,
    userMicroseconds: ((after.user - before.user) / PEERS) * 1e6,
    systemMicroseconds: ((after.system - before.system) / PEERS) * 1e6,
    holds: content === PEERS && frames < TARGET_FRAMES,
  };
}

export function describeStorms(figures: readonly StormFigures[]): string {
  const heads = [
    "join storm",
    "peers",
    "know all",
    "seconds",
    "frames",
    "MiB",
    "user CPU per join, µs",
    "system, µs",
    "target",
  ];
  const rows = figures.map((one) => [
    one.shape,
    String(one.peers),
    String(one.content),
    one.seconds.toFixed(2),
    String(one.frames),
    (one.bytes / MIB).toFixed(0),
    one.userMicroseconds.toFixed(0),
    one.systemMicroseconds.toFixed(0),
    one.holds ? "holds" : "MISSED",
  ]);
  const problems = figures.flatMap(({ shape, problem }) =>
    problem ? [`${shape}: one peer's problem: ${problem}`] : [],
  );
  return [table(heads, rows), `target: every peer knows all others, under ${TARGET_FRAMES} frames`, ...problems].join(
    "\n",
  );
}
