/** The workers of one machine, as one of them sees them. A node that is alone has no team. */
import type { MakeThrottle } from "../../base/shared-throttle.ts";

export interface TeamState {
  readonly ready: number;
  readonly count: number;
  /** All workers drain: the service ends. */
  readonly isStopping: boolean;
  /** The slot of the worker that does what is done once per service; null: no worker is ready. */
  readonly lead: number | null;
  /** The slots of the workers that are ready. undefined: the supervisor is of an earlier version. */
  readonly serving?: readonly number[] | undefined;
  /** The slots of the workers that leave new connections to the others. undefined: the supervisor is of an earlier version. */
  readonly paused?: readonly number[] | undefined;
  /** What workers report that does not work, by the name of its check in /readyz. */
  readonly reports: Readonly<Record<string, string>>;
}

export interface Team {
  readonly slot: number;
  /** How many slots there are. */
  readonly slots: number;
  /** The folder of the sockets that connect the workers. */
  readonly folder: string;
  /** Where the embedded stores are served; undefined: there are none, because PostgreSQL is used. */
  readonly storePath: string | undefined;
  readonly state: TeamState;
  readonly throttle: MakeThrottle;
  /** Tells the other workers what does not work in this one. */
  report(found: Readonly<Record<string, string>>): void;
  /** Tells the supervisor whether this worker can hold no more connections. */
  full(isFull: boolean): void;
  /** Calls back whenever the supervisor has decided anew whether this worker leaves new connections to the others. */
  onPause(apply: (isPaused: boolean) => void): void;
  /** Calls back once, when this worker is the one that does what is done once per service. */
  onLead(begin: () => void): void;
  /** `read` makes the metrics of this worker. */
  onMeasure(read: () => string): void;
  /** The metrics of all workers. */
  metrics(): Promise<string>;
}
