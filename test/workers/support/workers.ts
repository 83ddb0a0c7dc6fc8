/** A service of several workers: its processes, and which of them hold connections. */
import { readFileSync } from "node:fs";
import { startWorld, type World } from "../../conformance/raw/support/world.ts";
import type { Options, Parley } from "../../support/parley.ts";
import type { Joined } from "../../support/presence-scenario.ts";

export const startWorkers = (options: Options = {}, count = 2): Promise<World> =>
  startWorld({
    ...options,
    env: { PARLEY_WORKERS: String(count), PARLEY_DRAIN_SECONDS: "1", ...options.env },
  });

/** The ids of the processes that a process has started and that run. */
export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number).sort();
}

export function isRunning(pid: number): boolean {
  try {
    // A process whose end no one has read is still listed.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** For walks of presence-scenario.ts. */
export const joinedWorkers = ({ url, admin, app, key, server }: World, count: number): Joined => ({
  urls: [url],
  processesPerUrl: count,
  admin,
  appId: app._id,
  key,
  pids: () => childrenOf(server.pid),
});

/** The process of a worker, as the log has it. */
export function pidOf({ log }: Pick<Parley, "log">, slot: number): number {
  const line = log.findLast(({ msg, worker }) => msg === "worker is ready" && worker === slot);
  return Number(line?.workerPid);
}

export interface NodeRow {
  readonly nodeId: string;
  readonly worker?: number;
  readonly connections: number;
}

export const nodesOf = async ({ admin }: World): Promise<NodeRow[]> =>
  (await admin.must<{ data: NodeRow[] }>("GET", "/nodes")).data;
