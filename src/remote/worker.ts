/** One worker's connection, on the server: answers its calls, and ends what it holds when the connection closes. */
import type { AppId } from "../base/ids.ts";
import type { Appended } from "../history/contract/history.ts";
import type { SqliteHistory } from "../history/sqlite/history.ts";
import type { HoldStill, StillFiles } from "../store/contract/still-files.ts";
import { StoreError } from "../store/contract/store.ts";
import type { SqlStore } from "../store/sql/store.ts";
import { VERSION } from "../version.ts";
import { readBatch } from "./append-frames.ts";
import { encodeError } from "./errors.ts";
import { APPEND, type ByteSink, decode, FrameReader } from "./frames.ts";
import type { Appending, JoinedAppends } from "./joined-appends.ts";
import {
  HELLO_MAX_BYTES,
  REQUEST_MAX_BYTES,
  UNANSWERED_CUT_AT,
  UNANSWERED_MAX_BYTES,
  UNANSWERED_MAX_CALLS,
} from "./limits.ts";
import {
  type AnyMethod,
  HELLO,
  type HeldStill,
  type HistoryCalls,
  IS_HISTORY,
  METHODS,
  methodsOf,
  type SessionCalls,
  type Welcome,
} from "./methods.ts";
import type { NamedLocks } from "./named-locks.ts";
import { OpenChanges } from "./open-changes.ts";
import { ANSWERED, CHANGED, FAILED, REWOUND, Responses } from "./responses.ts";

interface WorkerParts {
  readonly store: SqlStore;
  readonly history: SqliteHistory;
  readonly appends: JoinedAppends;
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

const CHANGING = ["session.endChange", "store.putBlock", "store.removeBlock"];

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

export class WorkerConnection implements Appending {
  /** Which process it is. */
  id: string | undefined;
  private readonly responses: Responses;
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
  private isGone = false;
  private unansweredCalls = 0;
  private unansweredBytes = 0;
  /** Batches that have arrived, and are appended at the end of this turn. */
  private waitingAppends = 0;

  constructor(
    private readonly socket: WorkerSocket,
    private readonly parts: WorkerParts,
  ) {
    const { store, history } = parts;
    this.responses = new Responses(socket, (why) => this.cut(why));
    this.reader = new FrameReader(HELLO_MAX_BYTES, (kind, payload) => this.receive(kind, payload));
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
      created: history.created,
      createdCalls: history.created,
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
    this.responses.drained();
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
    this.responses.end();
    this.parts.appends.drop(this);
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

  private receive(kind: number, payload: Buffer): void {
    if (this.isGone) return;
    if (kind === APPEND) this.append(payload);
    else this.call(payload);
    const isTooMuch =
      this.unansweredCalls > UNANSWERED_CUT_AT * UNANSWERED_MAX_CALLS ||
      this.unansweredBytes > UNANSWERED_CUT_AT * UNANSWERED_MAX_BYTES;
    if (isTooMuch) this.cut(`${this.unansweredCalls} calls with ${this.unansweredBytes} bytes are not answered yet`);
  }

  private append(payload: Buffer): void {
    if (this.id === undefined) return this.cut("it has not introduced itself");
    const { nr, batch } = readBatch(payload);
    this.unansweredCalls++;
    this.unansweredBytes += payload.length;
    this.waitingAppends++;
    this.parts.appends.add(this, nr, batch, payload.length);
  }

  answerAppend(nr: number, bytes: number, outcome: readonly Appended[] | { readonly error: unknown }): void {
    this.waitingAppends--;
    this.unansweredCalls--;
    this.unansweredBytes -= bytes;
    if (this.isGone) return;
    try {
      if ("error" in outcome) this.responses.add(nr, FAILED, encodeError(outcome.error));
      else this.responses.addResults(nr, outcome);
    } catch (error) {
      // The batches of other workers in the same transaction are answered all the same.
      this.cut(`an answer could not be written: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  flushAnswers(): void {
    if (!this.isGone) this.responses.flush();
  }

  private call(payload: Buffer): void {
    const calls = decode(payload);
    if (!Array.isArray(calls) || calls.length % 3 !== 0) return this.cut("it has sent something else than calls");
    const bytes = payload.length / (calls.length / 3);
    for (let at = 0; at < calls.length && !this.isGone; at += 3)
      this.handle(calls[at], calls[at + 1], calls[at + 2], bytes);
  }

  private handle(nr: unknown, methodNr: unknown, args: unknown, bytes: number): void {
    const method = this.methods[methodNr as number];
    if (typeof nr !== "number" || !method || !Array.isArray(args)) return this.cut("it has sent an unknown call");
    if (this.id === undefined && methodNr !== HELLO) return this.cut("it has not introduced itself");
    // Calls begin in their order, and those of a history see what was appended before.
    if (this.waitingAppends > 0 || IS_HISTORY[methodNr as number]) this.parts.appends.run();
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
    if (!this.isGone) this.responses.add(nr, kind, value);
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
