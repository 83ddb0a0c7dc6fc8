/**
 * A meeting's recording, as its page makes it: every page records what it sends. Each run of a recorder is one upload. The recorders are in
 * the page; the queue of their bytes and the uploads are in a worker, and survive a reload of the page where the browser has a private
 * file system.
 */
import type { ReadonlySignal } from "@preact/signals";
import type { Interval } from "./speech-log.ts";

/** Camera and microphone are recorded together as `camera`; `microphone`: there is no camera. */
export type Source = "camera" | "microphone" | "screen";

/** One run of a recorder. */
export interface RunOpening {
  /** Unique on this device. */
  readonly run: string;
  readonly roomName: string;
  /** The stay's participantSession. */
  readonly stay: string;
  /** The stay's connect token. */
  readonly token: string;
  readonly source: Source;
  /** Unix milliseconds. */
  readonly startedMs: number;
}

/** What still has to be uploaded. */
export interface Pending {
  /** Also those that are being recorded, and those that the service has not completed yet. */
  readonly runs: number;
  /** How much recorded time these bytes are. */
  readonly seconds: number;
  readonly bytes: number;
}

export const NOTHING_PENDING: Pending = { runs: 0, seconds: 0, bytes: 0 };

/**
 * Why a run has ended early. `unsupported`: the browser cannot record. `refused`: the service does not take it. `too_large`, `storage_full`: the service
 * has no place for it. `queue_full`: neither the disk nor the memory of this device has.
 */
export type Failure = "unsupported" | "refused" | "too_large" | "storage_full" | "queue_full" | "broken";

/** The page's side of the worker. */
export interface Uploads {
  readonly pending: ReadonlySignal<Pending>;
  /** Parts wait in memory, and are lost with the page: there is no private file system, or its disk is full. */
  readonly isInMemory: ReadonlySignal<boolean>;
  open(opening: RunOpening): void;
  /** Parts arrive in order; `durationMs` of recorded time. */
  part(run: string, data: Blob, durationMs: number): void;
  end(run: string): void;
  /** A small picture of what the run records; the last one is kept. Before its end. */
  thumbnail(run: string, jpeg: Blob): void;
  /** When its person has spoken, from the start of the run. Before its end. */
  speech(run: string, intervals: readonly Interval[]): void;
  /** A later connect token of the same stay. */
  setToken(stay: string, token: string): void;
  /** Finishes what an earlier page of this origin has left. */
  resume(): void;
  /** A run of this page has failed. */
  onFailed(listener: (run: string, why: Failure) => void): () => void;
}

/** A run that is recorded, as it is looked at beside its recorder. */
export interface ObservedRun {
  readonly tracks: readonly MediaStreamTrack[];
  readonly isMuted: boolean;
  /** On the clock of `performance.now()`. */
  readonly startedMs: number;
}

export interface RunObservation {
  setMuted(isMuted: boolean): void;
  stop(): void;
}

/** Never throws. */
export type RunObserver = (
  run: ObservedRun,
  sink: {
    readonly thumbnail: (jpeg: Blob) => void;
    readonly speech: (intervals: readonly Interval[]) => void;
  },
) => RunObservation;
