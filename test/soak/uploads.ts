/** Recordings that are uploaded while nodes restart: in pieces, to any node, with interrupted bodies. Each must be exact. */
import { Findings, type Problem } from "../../src/verify/findings.ts";
import { Application } from "../support/application.ts";
import type { Answer } from "../support/http.ts";
import { Backend, type Recording, sha256, webm } from "../support/recordings.ts";
import { within } from "../support/wait.ts";
import { isPassing } from "./chores.ts";
import type { SoakNodes } from "./nodes.ts";

/** A body breaks off in the middle: by then its first half is on its way. */
const BREAK_AFTER_MS = 20;

export interface UploadFigures {
  begun: number;
  completed: number;
  bytes: number;
  brokenOff: number;
  /** Calls that were repeated because a node was ending, or because the previous writer still held the lease. */
  retries: number;
  deleted: number;
}

interface Kept {
  readonly id: string;
  readonly digest: string;
  readonly size: number;
}

const WRITERS = 2;
const SIZE_MAX = 384 * 1024;
const PIECE_MAX = 96 * 1024;
const BREAK_OFF_EVERY = 6;
/** Recordings that stay until the end, when they are checked once more. The others are deleted. */
const KEPT_MAX = 200;
const KEEP_EVERY = 3;
/** The timeout of a piece: the lease of a killed writer has to expire, and a start takes time as well. */
const PATIENCE_MS = 120_000;
const RETRY_MS = 250;
const CALL_TIMEOUT_MS = 70_000;

class Unexpected extends Error {}

export class UploadWork {
  readonly figures: UploadFigures = { begun: 0, completed: 0, bytes: 0, brokenOff: 0, retries: 0, deleted: 0 };
  private readonly found = new Findings();
  private readonly kept: Kept[] = [];
  private isStopping = false;
  private running: Promise<unknown> = Promise.resolve();
  private room = "";

  constructor(
    private readonly nodes: SoakNodes,
    private readonly app: { readonly name: string; readonly secretKey: string },
    private readonly pauseMs: number,
  ) {}

  get problems(): readonly Problem[] {
    return this.found.problems;
  }

  async start(): Promise<void> {
    this.room = String((await this.backend.app.must("POST", "/room", {}))._id);
    this.running = Promise.all(Array.from({ length: WRITERS }, () => this.write()));
  }

  /** Finishes uploads in progress; then every recording that was kept is fetched and counted once more. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.running;
    for (const one of this.kept) await this.guarded(() => this.compare(one));
    await this.guarded(async () => {
      const { total } = await this.patiently("list", async () => this.backend.list({ limit: 1 }));
      if (total !== this.kept.length)
        throw new Unexpected(`${total} recordings are listed, and ${this.kept.length} were made and not deleted`);
    });
  }

  private get backend(): Backend {
    const { name, secretKey } = this.app;
    return new Backend(new Application(this.nodes.anyUrl, name, secretKey));
  }

  private async write(): Promise<void> {
    while (!this.isStopping) {
      await this.guarded(() => this.record());
      await Bun.sleep(this.pauseMs * (0.5 + Math.random()));
    }
  }

  private async guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.found.add("lost", `recordings: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private async record(): Promise<void> {
    const bytes = webm(1000 + Math.floor(Math.random() * SIZE_MAX));
    const { _id: id, uploadUrl } = await this.patiently("begin", () => this.backend.begin({ room: this.room }));
    this.figures.begun++;
    await this.send(uploadUrl, bytes);
    const recording = await this.patiently<Recording>("complete", () => this.backend.complete(id));
    if (recording.sizeInBytes !== bytes.length)
      throw new Unexpected(`${id} has ${recording.sizeInBytes} bytes, and ${bytes.length} were sent`);
    const one = { id, digest: sha256(bytes), size: bytes.length };
    await this.compare(one);
    this.figures.completed++;
    this.figures.bytes += bytes.length;
    if (this.figures.completed % KEEP_EVERY === 0 && this.kept.length < KEPT_MAX) this.kept.push(one);
    else await this.remove(id);
  }

  /** Piece by piece; acknowledged bytes must still be there at the next piece, whatever happened to the node. */
  private async send(uploadUrl: string, bytes: Uint8Array): Promise<void> {
    let acknowledged = 0;
    const deadline = performance.now() + PATIENCE_MS;
    const shouldBreak = Math.random() < 1 / BREAK_OFF_EVERY;
    let isBroken = !shouldBreak;
    while (acknowledged < bytes.length) {
      if (performance.now() > deadline) throw new Unexpected(`an upload stands at ${acknowledged} of ${bytes.length}`);
      const end = Math.min(bytes.length, acknowledged + 1 + Math.floor(Math.random() * PIECE_MAX));
      const range = `bytes ${acknowledged}-${end - 1}/${bytes.length}`;
      if (!isBroken) {
        isBroken = true;
        await this.breakOff(uploadUrl, bytes.slice(acknowledged, end), range);
        continue;
      }
      const answer = await this.once(() =>
        this.backend.put(uploadUrl, bytes.slice(acknowledged, end), { "Content-Range": range }),
      );
      const offset = this.offsetOf(answer);
      if (offset === undefined) await Bun.sleep(RETRY_MS);
      else if (offset < acknowledged)
        throw new Unexpected(`an upload went back from ${acknowledged} to ${offset} bytes`);
      else acknowledged = offset;
    }
  }

  /** A body with fewer bytes than announced, as after a lost network. */
  private async breakOff(uploadUrl: string, piece: Uint8Array, range: string): Promise<void> {
    this.figures.brokenOff++;
    const control = new AbortController();
    const { app } = this.backend;
    const half = piece.slice(0, Math.ceil(piece.length / 2));
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        controller.enqueue(half);
        await Bun.sleep(BREAK_AFTER_MS);
        control.abort();
      },
    });
    await fetch(app.url + uploadUrl.slice(uploadUrl.indexOf("/api/")), {
      method: "PUT",
      body,
      headers: { Host: app.host, "Content-Range": range },
      signal: control.signal,
    }).then(
      (response) => response.body?.cancel(),
      () => undefined,
    );
  }

  /** The current offset; undefined: to be retried. */
  private offsetOf(answer: Answer<{ readonly offset: number }> | undefined): number | undefined {
    if (!answer || [423, 503].includes(answer.status)) {
      this.figures.retries++;
      return undefined;
    }
    if (answer.status === 200 || (answer.status === 409 && typeof answer.body.offset === "number"))
      return answer.body.offset;
    throw new Unexpected(`PUT was answered ${answer.status} ${answer.text.slice(0, 200)}`);
  }

  private async compare({ id, digest, size }: Kept): Promise<void> {
    const bytes = await this.patiently("fetch", async () => {
      const { backend } = this;
      const response = await backend.fetch(await backend.link(id));
      if (response.status !== 200) throw new Error(`GET: ${response.status} ${await response.text()}`);
      return response.bytes();
    });
    if (bytes.length !== size || sha256(bytes) !== digest)
      throw new Unexpected(`${id} was sent with ${size} bytes, and ${bytes.length} others came back`);
  }

  private async remove(id: string): Promise<void> {
    let tries = 0;
    await this.patiently("delete", async () => {
      tries++;
      const { status, text } = await this.backend.app.call("DELETE", `/recording/${id}`);
      // The first response may have been lost with its node.
      if (status !== 200 && !(status === 404 && tries > 1)) throw new Error(`DELETE: ${status} ${text}`);
    });
    this.figures.deleted++;
  }

  /** Retries until it succeeds; only a node that is ending is a reason to retry. */
  private async patiently<T>(what: string, work: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;)
      try {
        return await within("a response", work(), CALL_TIMEOUT_MS);
      } catch (error) {
        if (!isPassing(error) && !isLocked(error)) throw new Unexpected(`${what}: ${error}`);
        if (performance.now() > deadline) throw new Unexpected(`${what}: not within ${PATIENCE_MS} ms: ${error}`);
        this.figures.retries++;
        await Bun.sleep(RETRY_MS);
      }
  }

  private async once<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await within("a response", work(), CALL_TIMEOUT_MS);
    } catch (error) {
      if (isPassing(error)) return undefined;
      throw error;
    }
  }
}

const isLocked = (error: unknown): boolean => error instanceof Error && /: 423 /.test(error.message);
