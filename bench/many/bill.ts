/** What a million connections would need, calculated from the parts that were measured. */
import { KIB, MIB } from "../lib/memory.ts";
import type { Run } from "./steps.ts";

const MILLION = 1_000_000;

export interface Bill {
  readonly processes: number;
  /** Bytes. */
  readonly ofConnections: number;
  readonly ofKernel: number;
  readonly ofIdleProcesses: number;
  readonly coresAtRest: number;
  readonly coreSecondsToConnect: number;
}

/** `perProcess`: connections that a process held. */
export function billOf({ idle, idleCpu, steps }: Run, processes: number): Bill {
  const last = steps.at(-1);
  if (!last) throw new Error("nothing was measured");
  const needed = Math.ceil((MILLION / last.connections) * processes);
  return {
    processes: needed,
    ofConnections: last.rssPerConnection * MILLION,
    // Half of both ends: the other half is on the machines of the clients.
    ofKernel: (last.kernelPerConnection / 2) * MILLION,
    ofIdleProcesses: (idle.rss / processes) * needed,
    coresAtRest: ((last.cpuAtRest - idleCpu) / last.connections) * MILLION + (idleCpu / processes) * needed,
    coreSecondsToConnect: (last.cpuUsPerConnect / 1e6) * MILLION,
  };
}

export function describeBill(bill: Bill): string {
  const gib = (bytes: number): string => `${(bytes / MIB / KIB).toFixed(1)} GiB`;
  const sum = bill.ofConnections + bill.ofKernel + bill.ofIdleProcesses;
  return [
    `a million connections, calculated from the last step: ${bill.processes} processes`,
    `  memory: ${gib(bill.ofConnections)} for connections, ${gib(bill.ofKernel)} for the kernel's end of them, ${gib(bill.ofIdleProcesses)} for idle processes: ${gib(sum)}`,
    `  CPU at rest: ${bill.coresAtRest.toFixed(2)} cores; to connect them once: ${Math.round(bill.coreSecondsToConnect).toLocaleString("en")} seconds of a core`,
  ].join("\n");
}
