/**
 * Presence across nodes: all peers join one channel, spread evenly over the nodes. First at the same moment, by peers that keep
 * track: each must see every other exactly once, on whichever node. Then a few at a time, connecting included: every newcomer is
 * then announced to all members.
 */
import type { Crowds, Part } from "../lib/crowds.ts";
import { connects, cpuOf, type PlannedConnection } from "../lib/loader.ts";
import { cpuSeconds } from "../lib/process.ts";
import type { RunningSystem } from "./systems.ts";

const PEERS = 500;
const IN_FLIGHT = 50;
/** Few at a time: a large group would be announced in one batch. */
const OPENING = 8;
const STORM_MS = 30_000;
const WITHIN_MS = 60_000;
/** Joins that warm up the just-in-time compiler. */
const UNMEASURED = 20;

export interface PresenceFigures {
  /** CPU of all nodes and of nats-server per join. */
  readonly usPerJoinAtOnce: number;
  readonly framesPerPeer: number;
  readonly seconds: number;
  /** Includes connecting. */
  readonly usPerJoinInTurn: number;
}

export async function measurePresence(crowds: Crowds, system: RunningSystem): Promise<PresenceFigures> {
  // A first run that is not counted: it includes just-in-time compilation.
  await storm(crowds, system, "first");
  return { ...(await storm(crowds, system, "second")), usPerJoinInTurn: await inTurn(system) };
}

async function storm(
  crowds: Crowds,
  { ports, nodePids, natsPids, secretKey = "" }: RunningSystem,
  group: string,
): Promise<Omit<PresenceFigures, "usPerJoinInTurn">> {
  const hostAt = (port: number) => ({ url: new URL(`http://127.0.0.1:${port}`), secretKey });
  const [first, ...others] = ports;
  const hosts = [hostAt(first), ...others.map(hostAt)] as const;
  const part: Part = { group, from: 0, to: PEERS, channelSize: PEERS, inFlight: IN_FLIGHT };
  const cpu = (): number => [...nodePids, ...natsPids].reduce((total, pid) => total + cpuSeconds(pid), 0);
  await crowds.ask({ do: "connect", part }, hosts, WITHIN_MS);
  const before = cpu();
  const report = await crowds.ask({ do: "storm", part, connected: true, withinMs: STORM_MS }, hosts, WITHIN_MS);
  const spent = cpu() - before;
  await crowds.ask({ do: "leave", part }, hosts, WITHIN_MS);
  if (report.content !== PEERS)
    throw new Error(`only ${report.content} of ${PEERS} know exactly the others: ${report.problem}`);
  return {
    usPerJoinAtOnce: (spent / PEERS) * 1e6,
    framesPerPeer: report.frames / PEERS,
    seconds: (report.lastFrameMs - report.startedMs) / 1000,
  };
}

async function inTurn({ ports, nodePids, natsPids, dialect }: RunningSystem): Promise<number> {
  const connections = Array.from({ length: UNMEASURED + PEERS }, (_, i): PlannedConnection => {
    const script = dialect.subscriber(i, "in-turn", { metadata: false });
    return { script, port: ports[i % ports.length] ?? ports[0] };
  });
  const target = { port: ports[0], pids: [...nodePids, ...natsPids] };
  const report = await connects({ connections, unmeasured: UNMEASURED, opening: OPENING }, target);
  return (cpuOf(report) / report.connects) * 1e6;
}
