/** The page's side of the upload worker. It starts with the first run, or when an earlier page has left some. */
import { type Signal, signal } from "@preact/signals";
import { type Failure, NOTHING_PENDING, type Pending, type RunOpening, type Uploads } from "./contract.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { PatientWorker, type PatientWorkerParts } from "./patient-worker.ts";
import type { Interval } from "./speech-log.ts";

/** A worker that does not take parts as fast as they come has a disk that is too slow: memory must not fill up. */
const UNQUEUED_MAX_BYTES = 64 * 1024 * 1024;

interface UploadWorkerClientParts extends Pick<PatientWorkerParts, "makeWorker" | "after"> {
  readonly hasRuns: () => Promise<boolean>;
}

export class UploadWorkerClient implements Uploads {
  readonly #parts: UploadWorkerClientParts;
  readonly #pending: Signal<Pending> = signal(NOTHING_PENDING);
  readonly #isInMemory = signal(false);
  readonly #listeners = new Set<(run: string, why: Failure) => void>();
  readonly #open = new Set<string>();
  #worker: PatientWorker | undefined;
  #unqueuedBytes = 0;

  constructor(parts: UploadWorkerClientParts) {
    this.#parts = parts;
  }

  get pending(): Signal<Pending> {
    return this.#pending;
  }

  get isInMemory(): Signal<boolean> {
    return this.#isInMemory;
  }

  open(opening: RunOpening): void {
    this.#open.add(opening.run);
    // At once: leaving a moment later must wait for it.
    this.#pending.value = { ...this.#pending.value, runs: this.#pending.value.runs + 1 };
    this.#send({ do: "open", opening });
  }

  part(run: string, data: Blob, durationMs: number): void {
    if (!this.#open.has(run)) return;
    this.#unqueuedBytes += data.size;
    this.#send({ do: "part", run, data, durationMs });
    if (this.#unqueuedBytes > UNQUEUED_MAX_BYTES) this.#failed(run, "queue_full");
  }

  end(run: string): void {
    this.#open.delete(run);
    this.#send({ do: "end", run });
  }

  thumbnail(run: string, jpeg: Blob): void {
    if (this.#open.has(run)) this.#send({ do: "thumbnail", run, jpeg });
  }

  speech(run: string, intervals: readonly Interval[]): void {
    if (this.#open.has(run)) this.#send({ do: "speech", run, intervals });
  }

  setToken(stay: string, token: string): void {
    if (this.#worker) this.#send({ do: "token", stay, token });
  }

  resume(): void {
    this.#parts.hasRuns().then(
      (hasSome) => {
        if (hasSome) this.#start();
      },
      () => undefined,
    );
  }

  onFailed(listener: (run: string, why: Failure) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #send(message: ToWorker): void {
    this.#start().send(message);
  }

  #start(): PatientWorker {
    this.#worker ??= new PatientWorker({
      ...this.#parts,
      received: (message) => this.#received(message),
      failed: () => this.#allFailed(),
    });
    return this.#worker;
  }

  #received(message: FromWorker): void {
    if (message.is === "ready") return;
    if (message.is === "queued") this.#unqueuedBytes -= message.bytes;
    else if (message.is === "failed") this.#failed(message.run, message.why);
    else {
      this.#pending.value = message.pending;
      this.#isInMemory.value = message.isInMemory;
    }
  }

  #failed(run: string, why: Failure): void {
    for (const listener of [...this.#listeners]) listener(run, why);
  }

  #allFailed(): void {
    const open = [...this.#open];
    this.#open.clear();
    this.#pending.value = NOTHING_PENDING;
    for (const run of open) this.#failed(run, "broken");
  }
}
