/** One worker's connection, on the server: answers its calls, and ends what it holds when the connection closes. */
import type { AppId } from "../base/ids.ts";
import type { SqliteHistory } from "../history/sqlite/history.ts";
import type { HoldStill, StillFiles } from "../store/contract/still-files.ts";
import { StoreError } from "../store/contract/store.ts";
import type { SqlStore } from "../store/sql/store.ts";
import { VERSION } from "../version.ts";
import { encodeError } from "./errors.ts";
import { type ByteSink, decode, encode, FrameReader, FrameWriter } from "./frames.ts";
import {
  HELLO_MAX_BYTES,
  REQUEST_MAX_BYTES,
  RESPONSE_MAX_BYTES,
  UNANSWERED_CUT_AT,
  UNANSWERED_MAX_BYTES,
  UNANSWERED_MAX_CALLS,
  UNREAD_MAX_BYTES,
} from "./limits.ts";
import {
  type AnyMethod,
  HELLO,
  type HeldStill,
  type HistoryCalls,
  METHODS,
  methodsOf,
  type SessionCalls,
  type Welcome,
} from "./methods.ts";
import type { NamedLocks } from "./named-locks.ts";
import { OpenChanges } from "./open-changes.ts";

interface WorkerParts {
  readonly store: SqlStore;
  readonly history: SqliteHistory;
  readonly locks: NamedLocks;
  readonly holdStill: HoldStill;
  /** A worker has introduced itself; throws if it is refused. */
  readonly arrived: (worker: WorkerConnection) => Welcome;
  /** A worker has changed what the revisions count. */
  readonly changed: (worker: WorkerConnection) => void;
  readonly warn: (text: string) => void;
  readonly changeMaxMs?: number | undefined;
}

/** A socket of the server. */
export interface WorkerSocket extends ByteSink {
  terminate(): unknown;
}

const CHANGING = ["session.endChange", "store.putBlock"];

/** Kinds of responses. An event has the number 0, which no call has. */
export const ANSWERED = 0;
export const FAILED = 1;
export const REWOUND = 2;
/** Another worker has changed what the revisions count. */
export const CHANGED = 3;

/** After these calls the revisions may be others. */
const CHANGES = new Set(METHODS.flatMap(({ part, name }, nr) => (CHANGING.includes(`${part}.${name}`) ? [nr] : [])));

/** What a method throws at once becomes its answer too. */
function invoke(method: AnyMethod, args: unknown[]): Promise<unknown> {
  try {
    return method(...args);
  } catch (error) {
    return Promise.reject(error);
  }
}

export class WorkerConnection {
  /** Which process it is. */
  id: string | undefined;
  private readonly writer: FrameWriter;
  private readonly reader: FrameReader;
  private readonly methods: readonly AnyMethod[];
  private readonly changes: OpenChanges;
  /** Locks that it holds, by number. Bound: UNANSWERED_MAX_CALLS at once, and its code releases them. */
  private readonly locks = new Map<number, () => void>();
  private lastLock = 0;
  /** Holds of the stores' files, by number. Bound: UNANSWERED_MAX_CALLS at once, and its code releases them. */
  private readonly holds = new Map<number, StillFiles>();
  private lastHold = 0;
  /** Bytes of history that applications may have, as the worker last said. Bound: applications. */
  private readonly maxBytes = new Map<AppId, number>();
  /** Responses of this turn: number, kind and value of each. Bound: UNANSWERED_MAX_CALLS. */
  private responses: unknown[] = [];
  private isFlushing = false;
  private isGone = false;
  private unansweredCalls = 0;
  private unansweredBytes = 0;

  constructor(
    private readonly socket: WorkerSocket,
    private readonly parts: WorkerParts,
  ) {
    const { store, history } = parts;
    this.writer = new FrameWriter(socket);
    this.reader = new FrameReader(HELLO_MAX_BYTES, (payload) => this.receive(payload));
    this.changes = new OpenChanges(store, parts.changeMaxMs);
    const { rooms, meetings, recordings, audit, clearing, amounts, tracking, webhooks } = store;
    const heldMembers = {
      put: store.heldMembers.put.bind(store.heldMembers),
      read: store.heldMembers.read.bind(store.heldMembers),
      // Notes stay: other workers read them too.
      take: (nowMs: number) => store.heldMembers.all(nowMs),
      drop: store.heldMembers.drop.bind(store.heldMembers),
    };
    const historyCalls = this.historyCalls();
    this.methods = methodsOf({
      session: this.sessionCalls(),
      store,
      rooms,
      meetings,
      recordings,
      audit,
      heldMembers,
      clearing,
      amounts,
      tracking,
      webhooks,
      history,
      historyCalls,
    });
  }

  read(chunk: Buffer): void {
    if (this.isGone) return;
    try {
      this.reader.read(chunk);
    } catch (error) {
      this.cut(error instanceof Error ? error.message : String(error));
    }
  }

  drained(): void {
    this.writer.drained();
  }

  /** The history has lost what it had acknowledged. */
  rewound(): void {
    if (this.id !== undefined) this.respond(0, REWOUND, undefined);
  }

  /** Another worker has changed what the revisions count. */
  changed(): void {
    if (this.id !== undefined) this.respond(0, CHANGED, undefined);
  }

  /** The socket is closed. */
  gone(): void {
    if (this.isGone) return;
    this.isGone = true;
    this.changes.endAll();
    this.parts.locks.end(this);
    this.parts.store.workerLeases.end(this);
    for (const held of this.holds.values()) void held.release();
    this.holds.clear();
  }

  /** Ends the connection. What has arrived and was not read is not done any more. */
  end(): void {
    this.gone();
    this.socket.terminate();
  }

  private cut(why: string): void {
    this.parts.warn(`the connection of a worker to the stores was cut: ${why}`);
    this.end();
  }

  private receive(payload: Buffer): void {
    if (this.isGone) return;
    const calls = decode(payload);
    if (!Array.isArray(calls) || calls.length % 3 !== 0) return this.cut("it has sent something else than calls");
    const bytes = payload.length / (calls.length / 3);
    for (let at = 0; at < calls.length && !this.isGone; at += 3)
      this.handle(calls[at], calls[at + 1], calls[at + 2], bytes);
    const isTooMuch =
      this.unansweredCalls > UNANSWERED_CUT_AT * UNANSWERED_MAX_CALLS ||
      this.unansweredBytes > UNANSWERED_CUT_AT * UNANSWERED_MAX_BYTES;
    if (isTooMuch) this.cut(`${this.unansweredCalls} calls with ${this.unansweredBytes} bytes are not answered yet`);
  }

  private handle(nr: unknown, methodNr: unknown, args: unknown, bytes: number): void {
    const method = this.methods[methodNr as number];
    if (typeof nr !== "number" || !method || !Array.isArray(args)) return this.cut("it has sent an unknown call");
    if (this.id === undefined && methodNr !== HELLO) return this.cut("it has not introduced itself");
    this.unansweredCalls++;
    this.unansweredBytes += bytes;
    invoke(method, args)
      .then(
        (value) => {
          this.respond(nr, ANSWERED, value);
          if (CHANGES.has(methodNr as number)) this.parts.changed(this);
        },
        (error: unknown) => this.respond(nr, FAILED, encodeError(error)),
      )
      .finally(() => {
        this.unansweredCalls--;
        this.unansweredBytes -= bytes;
      });
  }

  private respond(nr: number, kind: number, value: unknown): void {
    if (this.isGone) return;
    this.responses.push(nr, kind, value);
    if (this.isFlushing) return;
    this.isFlushing = true;
    // No boundary: it catches what encoding throws.
    setImmediate(() => this.flush());
  }

  /** One frame for all responses of a turn. */
  private flush(): void {
    this.isFlushing = false;
    if (this.isGone) return;
    const responses = this.responses;
    this.responses = [];
    if (this.writer.waitingBytes > UNREAD_MAX_BYTES)
      return this.cut(`it does not read its responses, of which ${this.writer.waitingBytes} bytes wait`);
    try {
      const payload = encode(responses);
      if (payload.length <= RESPONSE_MAX_BYTES) return this.writer.send(payload);
    } catch {
      // One of them cannot be encoded, or all together are too long: each by itself.
    }
    for (let at = 0; at < responses.length; at += 3) this.sendAlone(responses.slice(at, at + 3));
  }

  private sendAlone([nr, kind, value]: unknown[]): void {
    const failed = (message: string): void =>
      this.writer.send(encode([nr, FAILED, encodeError(new StoreError(message))]));
    try {
      const payload = encode([nr, kind, value]);
      if (payload.length <= RESPONSE_MAX_BYTES) this.writer.send(payload);
      else failed(`a response of the store has ${payload.length} bytes, and ${RESPONSE_MAX_BYTES} are allowed`);
    } catch (error) {
      failed(`a response of the store cannot be sent: ${(error as Error).message}`);
    }
  }

  private sessionCalls(): SessionCalls {
    const { changes } = this;
    const leases = this.parts.store.workerLeases;
    return {
      hello: async (version, worker) => this.hello(version, worker),
      ping: async () => undefined,
      beginChange: () => changes.begin(),
      inChange: (change, method, args) => changes.call(change, method, args),
      changeOver: (change) => changes.over(change),
      endChange: (change, isKept) => changes.end(change, isKept),
      lock: async (name) => {
        const release = await this.parts.locks.lock(name, this);
        this.locks.set(++this.lastLock, release);
        return this.lastLock;
      },
      unlock: async (lock) => {
        this.locks.get(lock)?.();
        this.locks.delete(lock);
      },
      takeLease: (id) => leases.take(id, this),
      isLeaseHeld: async (id, generation) => leases.isHeld(id, generation),
      releaseLease: (id, generation, isClean, note) => leases.release(id, generation, isClean, note),
      lookAtLease: (id) => leases.look(id),
      holdStill: () => this.holdStill(),
      releaseStill: async (hold) => {
        const held = this.holds.get(hold);
        this.holds.delete(hold);
        return (await held?.release()) ?? false;
      },
    };
  }

  private async holdStill(): Promise<HeldStill> {
    const held = await this.parts.holdStill();
    if (this.isGone) await held.release();
    else this.holds.set(++this.lastHold, held);
    return { hold: this.lastHold, atMs: held.atMs, files: held.files };
  }

  private hello(version: unknown, worker: unknown): Welcome {
    if (version !== VERSION)
      throw new StoreError(`this worker is Parley ${version}, and its stores are opened by ${VERSION}: restart Parley`);
    this.id = String(worker);
    const welcome = this.parts.arrived(this);
    this.reader.maxBytes = REQUEST_MAX_BYTES;
    return welcome;
  }

  private historyCalls(): HistoryCalls {
    const { history } = this.parts;
    return {
      trim: async (changed) => {
        for (const [app, bytes] of changed) this.maxBytes.set(app, bytes);
        const unknown = new Set<AppId>();
        const more = await history.trim((app) => {
          const bytes = this.maxBytes.get(app);
          if (bytes === undefined) unknown.add(app);
          return bytes ?? Number.POSITIVE_INFINITY;
        });
        return { more, unknown: [...unknown] };
      },
      channelsAfter: (spaceId, channel) => history.channelsAfter(spaceId, channel),
      applyTo: (spaceId, keeps) => history.applyTo(spaceId, keeps),
    };
  }
}
