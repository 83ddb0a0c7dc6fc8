/** How many workers a service has, and why. */
import { availableParallelism, totalmem } from "node:os";
import { WORKERS_MAX } from "../config/reading.ts";

/** Elsewhere the system does not spread connections over the processes that share a port. */
export const CAN_SHARE_PORTS = process.platform === "linux";

/** With nodes on a NATS server, a sixth of the CPU that messages in small channels take is that server's (docs/scale.md). */
const CORES_PER_CORE_OF_SERVERS = 6;
/** A worker without clients takes about 70 MiB; the rest is enough for some 25,000 connections with their sockets. */
const MEMORY_PER_WORKER_MIB = 256;
const BYTES_PER_MIB = 1024 ** 2;

/** What the service may use of its machine. */
export interface Machine {
  readonly canSharePorts: boolean;
  readonly cores: number;
  readonly memoryBytes: number;
  /** PostgreSQL or NATS run on the same machine. */
  readonly hasServers: boolean;
}

export interface WorkerChoice {
  readonly count: number;
  /** For the log; undefined: a setting names the number. */
  readonly why?: string;
}

export const chosenWorkers = (setting: number | "auto", machine: () => Machine): WorkerChoice =>
  setting === "auto" ? choiceFor(machine()) : { count: setting };

export const thisMachine = (hasServers: boolean): Machine => ({
  canSharePorts: CAN_SHARE_PORTS,
  // Those that this process may run on, within the CPU quota of its control group, rounded down.
  cores: availableParallelism(),
  // 0 and numbers beyond the memory there is: no limit.
  memoryBytes: Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
  hasServers,
});

function choiceFor({ canSharePorts, cores, memoryBytes, hasServers }: Machine): WorkerChoice {
  if (!canSharePorts) return { count: 1, why: "1 process, because workers share a port on Linux only" };
  const forServers = hasServers ? Math.round(cores / CORES_PER_CORE_OF_SERVERS) : 0;
  const byCores = Math.max(1, cores - forServers);
  const memoryMib = Math.floor(memoryBytes / BYTES_PER_MIB);
  const byMemory = Math.max(1, Math.floor(memoryMib / MEMORY_PER_WORKER_MIB));
  const count = Math.min(byCores, byMemory, WORKERS_MAX);
  return { count, why: `${counted(count, count === 1 ? "process" : "worker")}, because ${reason()}` };

  function reason(): string {
    if (count < byCores && count === byMemory)
      return `this service may use ${memoryMib} MiB of memory, and each worker should have ${MEMORY_PER_WORKER_MIB} MiB`;
    if (count < byCores) return `there are at most ${WORKERS_MAX}`;
    const mayUse = `this service may use ${counted(cores, "core")}`;
    return forServers > 0
      ? `${mayUse}, and leaves ${forServers} of them for PostgreSQL and NATS on this machine`
      : mayUse;
  }
}

const counted = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;
