/** Uploads one run: one part at a time, in order, until its recorder has ended and the service has everything. Then it says so to the service. */
import { type Answer, type Beside, type RunCalls, verdictOn } from "./calls.ts";
import type { Failure } from "./contract.ts";
import { Patience } from "./patience.ts";
import type { RunQueue } from "./queue.ts";
import type { RunNotes } from "./run-notes.ts";

interface UploadParts {
  readonly calls: RunCalls;
  readonly queue: RunQueue;
  readonly notes: RunNotes;
  /** The newest connect token of the stay. */
  readonly token: () => string;
  readonly save: (notes: RunNotes) => Promise<void>;
  /** Resolves earlier when the network is back. */
  readonly wait: (ms: number) => Promise<void>;
  readonly nowMs: () => number;
  readonly random?: () => number;
  /** More is uploaded. */
  readonly progress: () => void;
  /** Not while another upload of the stay is cut off: the service may take that for one that was left behind, and finish it for this one. */
  readonly mayBegin: () => boolean;
}

/** The longest time that a run may wait for its upload to begin; the service takes no longer one. */
const STARTED_AGO_MAX_MS = 24 * 3_600_000;
const PART_FIRST_BYTES = 512 * 1024;
const PART_MIN_BYTES = 64 * 1024;
/** The service counts no more of a body before it has come (STAY_AHEAD_MAX_BYTES). */
const PART_MAX_BYTES = 4 * 1024 * 1024;
/** A proxy may let bytes through, and nothing else. */
const BESIDE_TRIES_MAX = 5;
const BEGIN_LATER_MS = 1000;
/** A part that takes longer is not followed by a larger one. */
const QUICK_MS = 1000;

/** `complete`: the service has it, or does not need this page any more. */
export type Outcome = "complete" | Failure;

export class Upload {
  readonly #parts: UploadParts;
  readonly #patience: Patience;
  #notes: RunNotes;
  /** How many bytes the service holds; undefined: it must be asked. */
  #offset: number | undefined;
  #partBytes = PART_FIRST_BYTES;
  #hasEnded = false;
  #isCutOff = false;
  /** The newest of each kind, until it is sent. */
  readonly #beside = new Map<Beside["what"], Beside>();
  #besideTries = 0;
  #wake: () => void = () => undefined;

  constructor(parts: UploadParts) {
    this.#parts = parts;
    this.#notes = parts.notes;
    this.#patience = new Patience(parts.random);
  }

  get pendingBytes(): number {
    const { queue } = this.#parts;
    return Math.max(0, queue.end - (this.#offset ?? queue.base));
  }

  /** The service has begun it, and did not answer the last time. */
  get isCutOff(): boolean {
    return this.#notes.upload !== undefined && this.#isCutOff;
  }

  /** There are more bytes in the queue. */
  appended(): void {
    this.#wake();
  }

  /** To be sent with the bytes. */
  beside(beside: Beside): void {
    this.#beside.set(beside.what, beside);
    this.#wake();
  }

  /** The recorder has ended: there will be no more bytes. */
  ended(): void {
    this.#hasEnded = true;
    this.#wake();
  }

  /** Never rejects, except for faults of this device. */
  async run(): Promise<Outcome> {
    for (;;) {
      const { upload } = this.#notes;
      const { queue } = this.#parts;
      const [beside] = this.#beside.values();
      let outcome: Outcome | undefined;
      if (!upload) {
        if (this.#hasEnded && queue.end === 0) return "complete";
        if (this.#parts.mayBegin()) outcome = await this.#begin();
        else await this.#parts.wait(BEGIN_LATER_MS);
      } else if (this.#offset === undefined) outcome = await this.#ask(upload.url);
      else if (this.#offset < queue.end) outcome = await this.#put(upload.url, this.#offset);
      else if (beside) await this.#putBeside(upload.url, beside);
      else if (this.#hasEnded) outcome = await this.#finish(upload.id);
      else await new Promise<void>((wake) => (this.#wake = wake));
      if (outcome === "complete") return outcome;
      if (outcome) return this.#finishOnce(outcome);
    }
  }

  async #begin(): Promise<Outcome | undefined> {
    const { calls, token, nowMs, save } = this.#parts;
    const agoMs = Math.max(0, Math.round(nowMs() - this.#notes.startedMs));
    const answer = await calls.begin(token(), Math.min(agoMs, STARTED_AGO_MAX_MS));
    const { _id: id, uploadUrl: url, offset } = answer.body;
    if (answer.status !== 200 || typeof id !== "string" || typeof url !== "string") return this.#refused(answer);
    this.#patience.worked();
    this.#notes = { ...this.#notes, upload: { id, url } };
    this.#offset = typeof offset === "number" ? offset : 0;
    await save(this.#notes);
    return undefined;
  }

  async #ask(url: string): Promise<Outcome | undefined> {
    const answer = await this.#parts.calls.ask(url);
    if (answer.status !== 200) return this.#refused(answer);
    return this.#goOnFrom(Number(answer.body.offset));
  }

  async #put(url: string, first: number): Promise<Outcome | undefined> {
    const { calls, queue, nowMs } = this.#parts;
    const bytes = queue.read(first, this.#partBytes);
    if (bytes.length === 0) return "broken";
    const startedMs = nowMs();
    const answer = await calls.put(url, bytes, first);
    const isSlow = answer.status === 0 || nowMs() - startedMs > QUICK_MS;
    if (answer.status === 0) this.#partBytes = Math.max(PART_MIN_BYTES, this.#partBytes / 2);
    else if (!isSlow) this.#partBytes = Math.min(PART_MAX_BYTES, this.#partBytes * 2);
    if (answer.status !== 200) return this.#refused(answer);
    return this.#goOnFrom(Number(answer.body.offset));
  }

  /** Only when all bytes are sent, and a few times: the recording is none the worse without it. */
  async #putBeside(url: string, beside: Beside): Promise<void> {
    const answer = await this.#parts.calls.putBeside(url, beside);
    const isLater = answer.status !== 200 && verdictOn(answer) === "later";
    if (isLater && ++this.#besideTries < BESIDE_TRIES_MAX) return this.#waitAfter(answer);
    this.#besideTries = 0;
    // A newer one may have come meanwhile.
    if (this.#beside.get(beside.what) === beside) this.#beside.delete(beside.what);
  }

  async #waitAfter(answer: Answer): Promise<void> {
    // A proxy in front of the service answers for it.
    this.#isCutOff = answer.status === 0 || answer.status > 500;
    await this.#parts.wait(Math.max(this.#patience.nextMs(), answer.retryAfterMs ?? 0));
  }

  async #finish(id: string): Promise<Outcome | undefined> {
    const answer = await this.#parts.calls.finish(this.#parts.token(), id);
    if (answer.status !== 200 && verdictOn(answer) === "later") return this.#refused(answer);
    // Also when it was refused: what the service has is completed by it after a while.
    return "complete";
  }

  /** What came is not lost: the service completes it now, or some time after the stay. */
  async #finishOnce(why: Failure): Promise<Failure> {
    const { upload } = this.#notes;
    if (upload) await this.#parts.calls.finish(this.#parts.token(), upload.id);
    return why;
  }

  /** Goes on where the service says. */
  async #goOnFrom(offset: number): Promise<Outcome | undefined> {
    const { queue, progress } = this.#parts;
    const isQueued = offset >= queue.base && offset <= queue.end;
    // The last bytes of a page that was killed may be missing here, although the service has them.
    if (!isQueued && !(this.#hasEnded && offset > queue.end)) return "broken";
    this.#offset = Math.min(offset, queue.end);
    this.#isCutOff = false;
    this.#patience.worked();
    await queue.release(this.#offset);
    progress();
    return undefined;
  }

  async #refused(answer: Answer): Promise<Outcome | undefined> {
    const verdict = verdictOn(answer);
    // While the recorder runs, the person must know that no more of it is taken.
    if (verdict === "complete") return this.#hasEnded ? verdict : "refused";
    if (verdict === "later") {
      await this.#waitAfter(answer);
      return undefined;
    }
    return "offset" in verdict ? this.#goOnFrom(verdict.offset) : verdict.failed;
  }
}
