/** What the page and its upload worker send to each other. */
import type { Failure, Pending, RunOpening } from "./contract.ts";
import type { Interval } from "./speech-log.ts";

export type ToWorker =
  | { readonly do: "open"; readonly opening: RunOpening }
  | { readonly do: "part"; readonly run: string; readonly data: Blob; readonly durationMs: number }
  | { readonly do: "thumbnail"; readonly run: string; readonly jpeg: Blob }
  | { readonly do: "speech"; readonly run: string; readonly intervals: readonly Interval[] }
  | { readonly do: "end"; readonly run: string }
  | { readonly do: "token"; readonly stay: string; readonly token: string };

export type FromWorker =
  /** Its script has loaded, and it takes messages. */
  | { readonly is: "ready" }
  | { readonly is: "pending"; readonly pending: Pending; readonly isInMemory: boolean }
  /** A part is in the queue. */
  | { readonly is: "queued"; readonly bytes: number }
  | { readonly is: "failed"; readonly run: string; readonly why: Failure };
