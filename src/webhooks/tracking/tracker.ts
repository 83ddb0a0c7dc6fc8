/**
 * Keeps the connections and memberships of this node as rows, for applications whose endpoints ask for events of them. What happens is noted
 * at once and written in batches; while the store is away, only what differs from the rows is kept.
 *
 *     the node is   while                                                             then it is
 *     idle          no application of it is asked about                               named
 *     named         it writes under its name, and its beats are there                 given up, behind
 *     given up      the holder of the lease has closed its rows, because it was       named: anew, with all rows
 *                   silent
 *     behind        more has changed than it keeps, because the store is away         named: anew, with all rows
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { type AppId, appOfSpace, isRoomSpace, type SpaceId } from "../../base/ids.ts";
import type { TrackingStore } from "../../store/contract/tracking.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Counter } from "../../telemetry/metrics.ts";
import { type Asked, type AskingBook, askedBy } from "./asked.ts";
import { BATCH_MS, BEAT_EVERY_MS, PENDING_MAX, RETRY_MS, STOP_MAX_MS, TRACKED_ROWS_MAX } from "./limits.ts";
import type { TrackingSource } from "./source.ts";
import { type Batch, TrackedApp } from "./tracked-app.ts";

/** A connection that has just been made. */
interface NewConnection {
  readonly id: string;
  readonly peerId: string;
  readonly keyId: string;
  readonly metadataJson: string | undefined;
}

interface TrackerParts {
  readonly store: TrackingStore;
  readonly book: AskingBook;
  readonly source: TrackingSource;
  readonly clock: Pick<Clock, "wallMs" | "monotonicMs" | "after">;
  readonly log: Pick<Log, "warn" | "error" | "info">;
  /** Connections and members without a row, because there are too many. */
  readonly untracked: Counter;
  /** Called when the first application asks, and when none does any more. */
  readonly listening: (isListening: boolean) => void;
}

export class Tracker {
  /** Those whose endpoints ask. Bound: applications. */
  private readonly apps = new Map<AppId, TrackedApp>();
  private name: string | undefined;
  /** What it wrote under that name counts until all of it is written again. */
  private former: string | undefined;
  private isBehind = false;
  private batch: Batch | undefined;
  private beatMs = Number.NEGATIVE_INFINITY;
  /** Monotonic ms; Infinity: none is to come. */
  private turnDueMs = Number.POSITIVE_INFINITY;
  private running: Promise<void> | undefined;
  private isStopped = false;
  private hasFailed = false;

  constructor(private readonly parts: TrackerParts) {}

  /** Before the node has connections: from then on all of them are noted. */
  start(): void {
    const { book } = this.parts;
    book.onChange((app) => this.changed(app));
    for (const app of book.apps) this.changed(app);
  }

  /** What the endpoints of an application ask for. */
  private changed(app: AppId): void {
    if (this.isStopped) return;
    const asked = askedBy(this.parts.book.of(app));
    const tracked = this.apps.get(app);
    if (asked.types.length === 0) this.remove(app);
    else if (tracked) this.askAlso(tracked, asked);
    else this.add(app, asked);
  }

  private remove(app: AppId): void {
    if (this.apps.delete(app) && this.apps.size === 0) this.parts.listening(false);
  }

  private add(app: AppId, asked: Asked): void {
    const tracked = new TrackedApp(app, this.parts.source, asked);
    this.apps.set(app, tracked);
    if (this.apps.size === 1) this.parts.listening(true);
    if (asked.connections) tracked.askConnections();
    if (asked.members) tracked.askMembers();
    this.wake();
  }

  private askAlso(tracked: TrackedApp, asked: Asked): void {
    const before = tracked.asked;
    tracked.asked = asked;
    if (asked.connections && !before.connections) tracked.askConnections();
    if (!asked.connections) tracked.pending.forgetConnections();
    if (asked.members && !before.members) tracked.askMembers();
    else if (asked.members) tracked.scanMembers(true, (channel) => asked.covers(channel) && !before.covers(channel));
    // What is not asked for any more has left for everyone.
    if (before.members) tracked.scanMembers(false, (channel) => before.covers(channel) && !asked.covers(channel));
    this.wake();
  }

  // What happens

  opened(spaceId: SpaceId, { id, peerId, keyId, metadataJson }: NewConnection): void {
    const tracked = this.of(spaceId);
    if (!tracked?.asked.connections) return;
    const opened = this.parts.clock.wallMs();
    tracked.pending.open({ id, app: tracked.app, peerId, keyId, metadataJson: metadataJson ?? null, opened });
    this.wake();
  }

  closed(spaceId: SpaceId, { id }: { readonly id: string }, code: number, reason: string): void {
    const tracked = this.of(spaceId);
    if (!tracked?.asked.connections) return;
    tracked.pending.close({ id, closed: this.parts.clock.wallMs(), code, reason });
    this.wake();
  }

  /** Something of this member may have changed. */
  memberChanged(spaceId: SpaceId, channel: string, peerId: string): void {
    const tracked = this.of(spaceId);
    if (!tracked?.asked.covers(channel)) return;
    tracked.pending.change({ channel, peerId });
    this.wake();
  }

  private of(spaceId: SpaceId): TrackedApp | undefined {
    // All of it is written again.
    if (this.isBehind || isRoomSpace(spaceId)) return undefined;
    return this.apps.get(appOfSpace(spaceId));
  }

  // Writing

  private wake(): void {
    if (!this.running) this.turnIn(BATCH_MS);
  }

  private turnIn(ms: number): void {
    const dueMs = this.parts.clock.monotonicMs() + ms;
    if (dueMs >= this.turnDueMs || this.isStopped) return;
    this.turnDueMs = dueMs;
    this.parts.clock.after(ms, () => {
      // An earlier turn has taken the place of this one.
      if (this.turnDueMs !== dueMs) return;
      this.turnDueMs = Number.POSITIVE_INFINITY;
      this.running ??= this.turn().finally(() => {
        this.running = undefined;
        if (this.apps.size > 0 || this.name !== undefined) this.turnIn(this.nextTurnMs());
      });
    });
  }

  private nextTurnMs(): number {
    if (this.hasFailed) return RETRY_MS;
    return this.isIdle ? Math.max(BATCH_MS, this.beatMs + BEAT_EVERY_MS - this.parts.clock.monotonicMs()) : BATCH_MS;
  }

  private get isIdle(): boolean {
    return !this.batch && this.apps.values().every(({ isIdle }) => isIdle);
  }

  private async turn(): Promise<void> {
    try {
      if (this.apps.size === 0) await this.end();
      else await this.writeAll();
      if (this.hasFailed) this.parts.log.info("connections and members are written for webhooks again");
      this.hasFailed = false;
    } catch (err) {
      if (!this.hasFailed)
        this.parts.log.warn({ err }, "connections and members could not be written for webhooks; trying again");
      this.hasFailed = true;
      this.checkSize();
    }
  }

  private async writeAll(isLast = false): Promise<void> {
    this.checkSize();
    if (this.name === undefined || this.isBehind) await this.begin();
    for (;;) {
      await this.beat();
      this.batch ??= this.nextBatch();
      if (!this.batch) break;
      if (await this.write(this.batch, isLast)) this.batch = undefined;
      // It was given up, and begins again.
      else if (isLast) return;
      else await this.begin();
    }
    const { former } = this;
    if (former === undefined) return;
    await this.parts.store.leave(former);
    this.former = undefined;
  }

  private nextBatch(): Batch | undefined {
    for (const tracked of this.apps.values()) {
      const batch = tracked.take();
      if (batch) return batch;
    }
    return undefined;
  }

  private async write(batch: Batch, isLast: boolean): Promise<boolean> {
    const { tracked, isKnown, closed, clears } = batch;
    const { store, clock } = this.parts;
    const name = this.name ?? "";
    if (this.apps.get(tracked.app) !== tracked) return true;
    if (clears) await store.clear(name, tracked.app, clears);
    if (batch.opened.length + batch.members.length > 0 && tracked.mustCount(clock.monotonicMs()))
      this.counted(tracked, await store.count(tracked.app));
    const found = tracked.membersOf(batch, clock.wallMs(), isLast);
    const opened = this.fitting(tracked, batch.opened);
    const members = this.fitting(tracked, found.members);
    const answer = await store.write(name, { isKnown, opened, closed, members, left: found.left });
    if (answer === "gone") return false;
    tracked.add(opened.length + members.length);
    return true;
  }

  private counted(tracked: TrackedApp, rows: number): void {
    const wasFull = tracked.isFull;
    tracked.counted(rows, this.parts.clock.monotonicMs());
    if (!tracked.isFull || wasFull) return;
    this.parts.log.error(
      { app: tracked.app, rows },
      `an application has more than ${TRACKED_ROWS_MAX} connections and memberships that its webhooks track: any more do not create events`,
    );
  }

  private fitting<T>(tracked: TrackedApp, rows: readonly T[]): readonly T[] {
    const { room } = tracked;
    if (rows.length <= room) return rows;
    this.parts.untracked.inc(rows.length - room);
    return rows.slice(0, room);
  }

  // Its name

  private async begin(): Promise<void> {
    const name = randomUUID();
    await this.parts.store.begin(name);
    // Its rows count until they are written under the new name: otherwise everyone would be seen to leave and come.
    this.former = this.isBehind ? (this.former ?? this.name) : undefined;
    const isFirst = this.name === undefined;
    this.name = name;
    this.isBehind = false;
    this.batch = undefined;
    this.beatMs = this.parts.clock.monotonicMs();
    if (!isFirst) for (const tracked of this.apps.values()) tracked.begin();
  }

  private async beat(): Promise<void> {
    const { store, clock } = this.parts;
    const nowMs = clock.monotonicMs();
    if (this.name === undefined || nowMs - this.beatMs < BEAT_EVERY_MS) return;
    if (this.former !== undefined) await store.beat(this.former);
    if ((await store.beat(this.name)) === "gone") await this.begin();
    this.beatMs = nowMs;
  }

  private checkSize(): void {
    let size = 0;
    for (const { pending } of this.apps.values()) size += pending.size;
    if (size <= PENDING_MAX) return;
    for (const { pending } of this.apps.values()) pending.clear();
    this.isBehind = true;
  }

  /** No one asks any more: what is left of its rows is removed with those of the applications. */
  private async end(): Promise<void> {
    const { name, former } = this;
    for (const one of [name, former]) if (one !== undefined) await this.parts.store.leave(one);
    this.name = undefined;
    this.former = undefined;
    this.batch = undefined;
  }

  /** The connections of this node are closed: writes that, and for how long members are expected back. Never rejects. */
  async stop(): Promise<void> {
    this.isStopped = true;
    const tooLate = new Promise<void>((resolve) => this.parts.clock.after(STOP_MAX_MS, resolve));
    await Promise.race([this.finish(), tooLate]).catch((err) =>
      this.parts.log.warn({ err }, "the last connections and members could not be written for webhooks"),
    );
  }

  private async finish(): Promise<void> {
    await this.running;
    if (this.name === undefined) return;
    for (const tracked of this.apps.values()) tracked.scanMembers(false, tracked.asked.covers);
    if (!this.isBehind) await this.writeAll(true);
    await this.end();
  }
}
