/** What the supervisor, its workers and `parley reload` say to each other, one JSON line each. */
import type { Rates } from "../base/shared-throttle.ts";
import type { Loaded } from "../config/load.ts";
import type { TeamState } from "../node/parts/team.ts";

/** A worker takes requests. */
export interface Ready {
  readonly url: string;
  readonly host: string;
  readonly adminUrl: string;
  readonly port: number;
  readonly adminPort: number;
  /** What the first start made, in clear, if this worker made it. */
  readonly firstRunText?: string;
}

/** Why a worker could not start, as its command line would say it. */
export interface StartReport {
  readonly exitCode: 1 | 2;
  readonly code: string;
  readonly message: string;
}

/** The code of a StartReport: the files of Parley were replaced, and this worker is of another version than its supervisor. */
export const OTHER_VERSION = "version";

/** What a worker is started with. It reads no settings itself, so that all workers have the same. */
export interface Begin extends Pick<Loaded, "config" | "sources"> {
  readonly type: "begin";
  /** The version of the supervisor. Absent: it is 0.1.0. */
  readonly version?: string;
  readonly nodeId: string;
  /** How many slots there are: one more than workers, for the worker that replaces another. */
  readonly slots: number;
}

export type FromWorker =
  | { readonly type: "hello"; readonly slot: number; readonly pid: number }
  | ({ readonly type: "ready" } & Ready)
  | ({ readonly type: "failed" } & StartReport)
  | { readonly type: "beat" }
  /** What was charged to rates in this worker; the others charge it too. */
  | { readonly type: "took"; readonly rates: Rates }
  /** What does not work in this worker, by the name of its check in /readyz. */
  | { readonly type: "report"; readonly found: Readonly<Record<string, string>> }
  /** Whether the worker can hold no more connections. */
  | { readonly type: "full"; readonly isFull: boolean }
  /** Asks for the metrics of all workers. */
  | { readonly type: "gather"; readonly id: number }
  /** The response to "measure". */
  | { readonly type: "measured"; readonly id: number; readonly text: string }
  /** The worker drains, on request or by itself: another one has to do what is done once. */
  | { readonly type: "draining" }
  /** The last message of a worker that has drained. */
  | { readonly type: "ending"; readonly text: string }
  /** From `parley reload`, which is no worker. */
  | { readonly type: "reload" };

export type ToWorker =
  | Begin
  | ({ readonly type: "state" } & TeamState)
  | { readonly type: "drain" }
  | { readonly type: "reload-tls" }
  /** The same message of another worker. */
  | { readonly type: "took"; readonly rates: Rates }
  | { readonly type: "measure"; readonly id: number }
  | { readonly type: "gathered"; readonly id: number; readonly text: string }
  /** To `parley reload`. */
  | { readonly type: "reloaded"; readonly workers: number }
  | { readonly type: "refused"; readonly message: string };
