/**
 * A worker whose script may not load: the network, or the service, may be away in the moment in which recording begins. It is made again
 * until it runs; messages to it wait until then.
 */
import type { FromWorker, ToWorker } from "./messages.ts";
import { Patience } from "./patience.ts";

/** As much of a Worker as is needed. */
export interface WorkerLike {
  postMessage(message: ToWorker): void;
  terminate(): void;
  onmessage: ((event: MessageEvent<FromWorker>) => unknown) | null;
  onerror: ((event: never) => unknown) | null;
}

export interface PatientWorkerParts {
  readonly makeWorker: () => WorkerLike;
  readonly received: (message: FromWorker) => void;
  /** It has thrown, or there are no workers here. */
  readonly failed: () => void;
  readonly after?: (ms: number, run: () => void) => () => void;
}

/** A script whose answer does not come is asked for again. */
const START_WITHIN_MS = 15_000;

const later = (ms: number, run: () => void): (() => void) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

export class PatientWorker {
  readonly #parts: PatientWorkerParts;
  readonly #after: (ms: number, run: () => void) => () => void;
  readonly #patience = new Patience();
  #running: WorkerLike | undefined;
  /** Bounded by the sender of parts, which counts the bytes that are not in the queue yet. */
  #unsent: ToWorker[] = [];

  constructor(parts: PatientWorkerParts) {
    this.#parts = parts;
    this.#after = parts.after ?? later;
    this.#start();
  }

  send(message: ToWorker): void {
    if (this.#running) this.#running.postMessage(message);
    else this.#unsent.push(message);
  }

  #start(): void {
    const { makeWorker, received, failed } = this.#parts;
    let worker: WorkerLike;
    try {
      worker = makeWorker();
    } catch {
      // Not before the run that has asked for it is known.
      queueMicrotask(failed);
      return;
    }
    const cancel = this.#after(START_WITHIN_MS, () => this.#restart(worker));
    worker.onerror = () => {
      cancel();
      this.#restart(worker);
    };
    worker.onmessage = ({ data }) => {
      if (this.#running) return received(data);
      cancel();
      this.#running = worker;
      worker.onerror = failed;
      const unsent = this.#unsent;
      this.#unsent = [];
      for (const message of unsent) worker.postMessage(message);
      received(data);
    };
  }

  #restart(worker: WorkerLike): void {
    worker.onmessage = null;
    worker.onerror = null;
    worker.terminate();
    this.#after(this.#patience.nextMs(), () => this.#start());
  }
}
