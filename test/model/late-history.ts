/**
 * The store of history of a walk: one embedded store that all nodes share. The walk decides how long each call takes, and whether it
 * is answered: a commit and its answer are two moments, and a node may end between them.
 */
import type { Clock } from "../../src/base/clock.ts";
import { anAppId } from "../../src/base/testing/ids.ts";
import type { CreatedStreamStore } from "../../src/history/contract/created-streams.ts";
import {
  type Batch,
  type HistoryStore,
  HistoryUnavailable,
  type StreamState,
} from "../../src/history/contract/history.ts";
import { openMemoryHistory } from "../../src/history/testing/memory.ts";
import { Chance } from "../support/random.ts";
import type { Streams } from "./streams.ts";
import type { RulesOptions } from "./world.ts";

/** How the store does: it answers, refuses, does its work but loses the answer, or does nothing until it is well again. */
export type Weather = "fine" | "refusing" | "losing" | "hanging";

interface Call {
  readonly node: string;
  runAtMs: number;
  answerAtMs: number;
  readonly run: () => Promise<() => void>;
  /** Names the batch that it appends. */
  readonly check: string | undefined;
}

export class LateHistory {
  private calls: Call[] = [];
  private answers: { readonly node: string; readonly atMs: number; readonly answer: () => void }[] = [];
  private readonly ended = new Set<string>();
  private weather: Weather = "fine";
  private weatherUntilMs = 0;
  /** When the weather was last other than fine. */
  badMs = Number.NEGATIVE_INFINITY;

  constructor(
    readonly inner: HistoryStore,
    private readonly streams: Streams,
    private readonly nowMs: () => number,
    /** How long the next call takes until it is done, and until its answer is there. */
    private readonly delay: () => readonly [number, number],
    readonly isShared: boolean,
  ) {}

  get waiting(): number {
    return this.calls.length + this.answers.length;
  }

  turn(weather: Weather, ms: number): void {
    this.weather = weather;
    this.weatherUntilMs = this.nowMs() + ms;
    if (weather !== "fine") this.badMs = this.weatherUntilMs;
  }

  get isFine(): boolean {
    return this.weather === "fine" || this.nowMs() >= this.weatherUntilMs;
  }

  /** A node is gone: what it has asked for may still be done, but it gets no answer. */
  end(node: string): void {
    this.ended.add(node);
    this.calls = this.calls.filter((call) => call.node !== node || call.runAtMs % 2 === 0);
  }

  /** Does what is due. Returns whether there was anything. */
  async step(): Promise<boolean> {
    const now = this.nowMs();
    let isAny = false;
    for (const call of [...this.calls]) {
      if (call.runAtMs > now) continue;
      isAny = true;
      this.calls.splice(this.calls.indexOf(call), 1);
      const answer = await call.run();
      if (!this.ended.has(call.node)) this.answers.push({ node: call.node, atMs: call.answerAtMs, answer });
    }
    for (const one of [...this.answers]) {
      if (one.atMs > now) continue;
      isAny = true;
      this.answers.splice(this.answers.indexOf(one), 1);
      if (!this.ended.has(one.node)) one.answer();
    }
    return isAny;
  }

  private call<T>(node: string, work: () => Promise<T>, check?: string): Promise<T> {
    const now = this.nowMs();
    const weather = this.isFine ? "fine" : this.weather;
    const [runMs, answerMs] = this.delay();
    const startMs = weather === "hanging" ? this.weatherUntilMs : now;
    return new Promise<T>((resolve, reject) => {
      const fail = (): void => reject(new HistoryUnavailable("the walk has refused it"));
      const run = async (): Promise<() => void> => {
        if (weather === "refusing") return fail;
        try {
          const result = await work();
          return weather === "losing" ? fail : () => resolve(result);
        } catch (error) {
          return () => reject(error);
        }
      };
      this.calls.push({ node, runAtMs: startMs + runMs, answerAtMs: startMs + runMs + answerMs, run, check });
    });
  }

  /** The store as one node sees it. */
  of(node: string): HistoryStore {
    const { inner, streams } = this;
    const call = <T>(work: () => Promise<T>): Promise<T> => this.call(node, work);
    const noteState = (app: string, channel: string, state: StreamState): void => streams.seen(app, channel, state);
    return {
      isShared: this.isShared,
      created: this.createdOf(node),
      append: (batch) => this.call(node, () => this.append(batch), batch.check),
      settle: (batch) =>
        call(async () => {
          // What is settled is never appended later.
          this.calls = this.calls.filter((one) => one.check !== batch.check);
          const appended = await inner.settle(batch);
          if (appended) streams.committed(batch, appended);
          return appended;
        }),
      open: (spaceId, channel, keep) =>
        call(async () => {
          const state = await inner.open(spaceId, channel, keep);
          noteState(spaceId, channel, state);
          return state;
        }),
      read: (spaceId, channel, range) =>
        call(async () => {
          const page = await inner.read(spaceId, channel, range);
          if (page) noteState(spaceId, channel, page.state);
          return page;
        }),
      heads: (sinceMs) => call(() => inner.heads(sinceMs)),
      remove: (spaceId, channel) => call(() => this.remove(spaceId, channel)),
      applyRules: (spaceId, keep) => call(() => inner.applyRules(spaceId, keep)),
      removeSpace: (spaceId) => call(() => inner.removeSpace(spaceId)),
      usage: (spaceId) => call(() => inner.usage(spaceId)),
      totals: () => call(() => inner.totals()),
      trim: (maxBytesOf) => call(() => inner.trim(maxBytesOf)),
      onRewound: (listener) => inner.onRewound(listener),
      close: async () => {},
    };
  }

  /** Walks have no streams that are created: their calls take their time, and are settled as appends are. */
  private createdOf(node: string): CreatedStreamStore {
    const { created } = this.inner;
    const call = <T>(work: () => Promise<T>): Promise<T> => this.call(node, work);
    return {
      create: (creation) => call(() => created.create(creation)),
      write: (batch) => this.call(node, () => created.write(batch), batch.check),
      settle: (batch) =>
        call(() => {
          this.calls = this.calls.filter((one) => one.check !== batch.check);
          return created.settle(batch);
        }),
      describe: (name) => call(() => created.describe(name)),
      read: (name, range) => call(() => created.read(name, range)),
      use: (name) => call(() => created.use(name)),
      delete: (name) => call(() => created.delete(name)),
      list: (spaceId, page) => call(() => created.list(spaceId, page)),
      producers: (name, limit) => call(() => created.producers(name, limit)),
      changes: (agoMs) => call(() => created.changes(agoMs)),
      applyRules: (spaceId, isStream) => call(() => created.applyRules(spaceId, isStream)),
      expire: () => call(() => created.expire()),
    };
  }

  private async append(batch: Batch): ReturnType<HistoryStore["append"]> {
    const appended = await this.inner.append(batch);
    this.streams.committed(batch, appended);
    return appended;
  }

  /** Someone removes the history of a channel. */
  async remove(app: string, channel: string): Promise<boolean> {
    const isRemoved = await this.inner.remove(anAppId(app), channel);
    if (isRemoved) this.streams.removed(app, channel);
    return isRemoved;
  }

  async trim(): Promise<void> {
    while (await this.inner.trim(() => Number.POSITIVE_INFINITY));
  }
}

/** A store in memory, whose calls take a random time. */
export function makeHistory(
  { storeMs, storeSeed, isShared }: RulesOptions,
  streams: Streams,
  clock: Clock,
): LateHistory {
  const chance = new Chance(storeSeed);
  const delay = (): [number, number] => [chance.below(storeMs + 1), chance.below(storeMs + 1)];
  return new LateHistory(
    openMemoryHistory({ ...clock, retentionMs: clock.wallMs }),
    streams,
    clock.wallMs,
    delay,
    isShared,
  );
}
