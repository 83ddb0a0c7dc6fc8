/** The state of a service that the supervisor sends to all workers, from what it knows of each. */
import type { TeamState } from "../node/parts/team.ts";
import type { WorkerProcess } from "./worker-process.ts";

type Known = Pick<WorkerProcess, "slot" | "state" | "readyMs" | "report" | "isFull">;

export interface ServiceState extends Pick<TeamState, "count" | "isStopping"> {
  readonly workers: readonly Known[];
  /** What the supervisor itself has found. */
  readonly reports: TeamState["reports"];
}

export function teamState({ workers, count, isStopping, reports }: ServiceState): TeamState {
  const ready = workers.filter(({ state }) => state === "ready");
  // The oldest, so that it changes only when that one ends.
  const [lead] = ready.toSorted((one, other) => (one.readyMs ?? 0) - (other.readyMs ?? 0));
  const full = ready.filter(({ isFull }) => isFull);
  return {
    ready: Math.min(ready.length, count),
    count,
    isStopping,
    lead: lead?.slot ?? null,
    serving: ready.map(({ slot }) => slot),
    // If all are full, all listen and refuse: a port on which no one listens would look like a service that is gone.
    paused: full.length < ready.length ? full.map(({ slot }) => slot) : [],
    reports: Object.assign({}, ...ready.map(({ report }) => report), reports) as TeamState["reports"],
  };
}
