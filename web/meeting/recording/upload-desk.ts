/** All runs of this worker: those that its page records, and those that an earlier page has left. */
import { callsOf, type Send } from "./calls.ts";
import type { RunOpening } from "./contract.ts";
import type { Disk, DiskFolder } from "./disk.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { Budget, QueueFull, RunQueue } from "./queue.ts";
import { type RunNotes, readNotes, writeNotes } from "./run-notes.ts";
import { Upload } from "./upload.ts";

interface DeskParts {
  readonly origin: string;
  /** undefined: runs wait in memory. */
  readonly disk: Disk | undefined;
  readonly send: Send;
  /** Runs `work` while this name is taken by no other page; waits for it. */
  readonly alone: (name: string, work: () => Promise<void>) => Promise<void>;
  readonly wait: (ms: number) => Promise<void>;
  readonly nowMs: () => number;
  readonly report: (message: FromWorker) => void;
  readonly budget?: Budget;
  readonly random?: () => number;
}

/** What an earlier page has left of a run is removed after this time: the service has finished an upload without new bytes by then. */
const KEPT_MS = 24 * 3_600_000;
const REPORT_EVERY_MS = 250;
/** Bytes per millisecond of a run that an earlier page has recorded, for the time that is shown. */
const USUAL_RATE = { camera: 180, screen: 180, microphone: 8 } as const;

interface Run {
  readonly notes: RunNotes;
  readonly queue: RunQueue;
  readonly upload: Upload;
  recordedMs: number;
  isFull: boolean;
}

export class UploadDesk {
  readonly #parts: DeskParts;
  readonly #budget: Budget;
  readonly #runs = new Map<string, Promise<Run | undefined>>();
  readonly #open = new Map<string, Run>();
  /** Found on the disk; waiting for the page that records them, or uploaded here. */
  readonly #found = new Set<string>();
  /** By stay. */
  readonly #tokens = new Map<string, string>();
  #isReporting = false;

  constructor(parts: DeskParts) {
    this.#parts = parts;
    this.#budget = parts.budget ?? new Budget();
  }

  async received(message: ToWorker): Promise<void> {
    switch (message.do) {
      case "token":
        this.#tokens.set(message.stay, message.token);
        return;
      case "open":
        return this.#begin(message.opening);
      case "part":
        return this.#append(message.run, message.data, message.durationMs);
      case "thumbnail":
        (await this.#runs.get(message.run))?.upload.beside({
          what: "thumbnail",
          body: new Uint8Array(await message.jpeg.arrayBuffer()),
        });
        return;
      case "speech":
        (await this.#runs.get(message.run))?.upload.beside({
          what: "speech",
          body: JSON.stringify({ intervals: message.intervals }),
        });
        return;
      case "end":
        (await this.#runs.get(message.run))?.upload.ended();
        return this.#changed();
    }
  }

  /** Runs of earlier pages are finished here, as soon as no other page has them. */
  async adopt(): Promise<void> {
    const { disk, alone } = this.#parts;
    if (!disk) return;
    for (const run of await disk.runs()) {
      if (this.#found.has(run) || this.#runs.has(run)) continue;
      this.#found.add(run);
      void alone(run, () => this.#finishFound(disk, run)).catch(() => undefined);
    }
  }

  #begin(opening: RunOpening): void {
    const { disk, alone } = this.#parts;
    this.#tokens.set(opening.stay, opening.token);
    let made: (run: Run | undefined) => void = () => undefined;
    this.#runs.set(opening.run, new Promise((resolve) => (made = resolve)));
    const upload = async (): Promise<void> => {
      const folder = await folderFor(disk, opening);
      const run = this.#runOf(opening, RunQueue.fresh(folder, this.#budget), folder);
      made(run);
      await this.#upload(run);
    };
    const work = disk ? alone(opening.run, upload) : upload();
    work.catch(() => {
      made(undefined);
      this.#parts.report({ is: "failed", run: opening.run, why: "broken" });
    });
  }

  async #append(id: string, data: Blob, durationMs: number): Promise<void> {
    const bytes = new Uint8Array(await data.arrayBuffer());
    const run = await this.#runs.get(id);
    try {
      if (run && !run.isFull) {
        await run.queue.append(bytes);
        run.recordedMs += durationMs;
        run.upload.appended();
      }
    } catch (error) {
      if (!run || !(error instanceof QueueFull)) throw error;
      // A later part would not fit to the ones before; what is here is uploaded.
      run.isFull = true;
      run.upload.ended();
      this.#parts.report({ is: "failed", run: id, why: "queue_full" });
    } finally {
      this.#parts.report({ is: "queued", bytes: bytes.length });
      this.#changed();
    }
  }

  async #finishFound(disk: Disk, id: string): Promise<void> {
    // The page that had it may have finished it meanwhile.
    if (!(await disk.runs()).includes(id)) return;
    const folder = await disk.folder(id);
    const notes = await readNotes(folder);
    if (!notes || notes.startedMs < this.#parts.nowMs() - KEPT_MS) return disk.removeRun(id);
    const run = this.#runOf(notes, await RunQueue.found(folder, this.#budget), folder);
    run.upload.ended();
    await this.#upload(run);
  }

  #runOf(notes: RunNotes, queue: RunQueue, folder: DiskFolder | undefined): Run {
    const { origin, send, wait, nowMs, random } = this.#parts;
    const upload = new Upload({
      calls: callsOf(origin, notes, send),
      queue,
      notes,
      token: () => this.#tokens.get(notes.stay) ?? notes.token,
      // On a full disk the run goes on; only a later page could not finish it.
      save: async (changed) => folder && writeNotes(folder, changed).catch(() => undefined),
      wait,
      nowMs,
      ...(random && { random }),
      progress: () => this.#changed(),
      mayBegin: () => ![...this.#open.values()].some((run) => run.notes.stay === notes.stay && run.upload.isCutOff),
    });
    return { notes, queue, upload, recordedMs: 0, isFull: false };
  }

  async #upload(run: Run): Promise<void> {
    const { disk, report } = this.#parts;
    const id = run.notes.run;
    this.#open.set(id, run);
    this.#changed();
    try {
      const outcome = await run.upload.run();
      if (outcome !== "complete") report({ is: "failed", run: id, why: outcome });
      await run.queue.close();
      await disk?.removeRun(id);
    } finally {
      this.#open.delete(id);
      this.#runs.delete(id);
      this.#changed();
    }
  }

  /** Not with every part: many small ones may come at once. */
  #changed(): void {
    if (this.#isReporting) return;
    this.#isReporting = true;
    setTimeout(() => {
      this.#isReporting = false;
      this.#parts.report(this.#state());
    }, REPORT_EVERY_MS);
  }

  #state(): FromWorker {
    const open = [...this.#open.values()];
    const bytes = open.reduce((sum, { upload }) => sum + upload.pendingBytes, 0);
    const ms = open.reduce((sum, run) => sum + run.upload.pendingBytes / rateOf(run), 0);
    const isInMemory = open.some(({ queue }) => queue.isInMemory);
    return { is: "pending", pending: { runs: open.length, seconds: Math.round(ms / 1000), bytes }, isInMemory };
  }
}

const rateOf = ({ notes, queue, recordedMs }: Run): number =>
  recordedMs > 0 && queue.end > 0 ? queue.end / recordedMs : USUAL_RATE[notes.source];

/** A disk that cannot be written to is as good as none. */
async function folderFor(disk: Disk | undefined, opening: RunOpening): Promise<DiskFolder | undefined> {
  try {
    const folder = await disk?.folder(opening.run);
    if (folder) await writeNotes(folder, opening);
    return folder;
  } catch {
    return undefined;
  }
}
