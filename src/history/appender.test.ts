import { describe, expect, test } from "bun:test";
import { nextTurn } from "../../test/support/wait.ts";
import type { SpaceId } from "../base/ids.ts";
import { anAppId } from "../base/testing/ids.ts";
import { Appender } from "./appender.ts";
import type { Appended, Batch, NewMessage } from "./contract/history.ts";

const message = (n: number, bytes = 1, spaceId: SpaceId = anAppId("app")): NewMessage => ({
  spaceId,
  channel: "room",
  keep: { messages: 10, seconds: 10 },
  from: "ann",
  metadataJson: undefined,
  dataJson: String(n).padStart(bytes, "0"),
  connection: undefined,
  id: undefined,
  idScope: "",
  bytes: bytes + 256,
});

const numberOf = ({ dataJson }: NewMessage): number => Number(dataJson);

/** A store whose answers the test gives, and a clock that it advances. */
class World {
  readonly batches: Batch[] = [];
  readonly settled: Batch[] = [];
  readonly late: number[] = [];
  readonly answers: string[] = [];
  readonly failed: unknown[] = [];
  private nowMs = 0;
  private timers: { readonly dueMs: number; readonly callback: () => void }[] = [];
  private deferred: (() => void)[] = [];
  private pending: { resolve(appended: readonly Appended[]): void; reject(error: Error): void }[] = [];
  private pendingSettles: { resolve(appended: readonly Appended[] | undefined): void; reject(error: Error): void }[] =
    [];

  readonly store = {
    isShared: true,
    append: (batch: Batch): Promise<readonly Appended[]> => {
      this.batches.push(batch);
      return new Promise((resolve, reject) => this.pending.push({ resolve, reject }));
    },
    settle: (batch: Batch): Promise<readonly Appended[] | undefined> => {
      this.settled.push(batch);
      return new Promise((resolve, reject) => this.pendingSettles.push({ resolve, reject }));
    },
  };

  readonly appender = new Appender({
    store: this.store,
    clock: {
      monotonicMs: () => this.nowMs,
      after: (ms, callback) => this.timers.push({ dueMs: this.nowMs + ms, callback }),
    },
    defer: (callback) => this.deferred.push(callback),
    lateStored: (one) => this.late.push(numberOf(one)),
    failed: (error) => this.failed.push(error),
  });

  append(n: number, bytes?: number, spaceId?: SpaceId): boolean {
    return this.appender.append({
      message: message(n, bytes, spaceId),
      sinceMs: this.nowMs,
      done: (appended) => this.answers.push(`${n} ${appended ? appended.offset : "unknown"}`),
    });
  }

  /** The end of the turn. */
  async turn(): Promise<void> {
    for (const callback of this.deferred.splice(0)) callback();
    await nextTurn();
  }

  async answer(offset: number): Promise<void> {
    const batch = this.batches.at(-1);
    this.pending.shift()?.resolve(appendedOf(batch, offset));
    await nextTurn();
  }

  async fail(): Promise<void> {
    this.pending.shift()?.reject(new Error("away"));
    await nextTurn();
  }

  async settle(fate: "stored" | "not stored" | "away", offset = 1): Promise<void> {
    const one = this.pendingSettles.shift();
    if (fate === "away") one?.reject(new Error("away"));
    else one?.resolve(fate === "stored" ? appendedOf(this.settled.at(-1), offset) : undefined);
    await nextTurn();
  }

  async pass(ms: number): Promise<void> {
    for (let i = 0; i < ms; i += 50) {
      this.nowMs += 50;
      const due = this.timers.filter(({ dueMs }) => dueMs <= this.nowMs);
      this.timers = this.timers.filter(({ dueMs }) => dueMs > this.nowMs);
      for (const { callback } of due) callback();
    }
    await nextTurn();
  }
}

const appendedOf = (batch: Batch | undefined, offset: number): Appended[] =>
  (batch?.messages ?? []).map((_, i) => ({
    epoch: "e",
    offset: offset + i,
    check: batch?.check ?? "",
    time: 1,
    isDuplicate: false,
  }));

describe("batches", () => {
  test("what comes in one turn is one batch; what comes meanwhile is the next", async () => {
    const world = new World();
    for (const n of [1, 2, 3]) world.append(n);
    await world.turn();
    world.append(4);
    await world.turn();
    expect(world.batches.map(({ messages }) => messages.map(numberOf))).toEqual([[1, 2, 3]]);
    await world.answer(1);
    world.append(5);
    await world.turn();
    expect(world.batches.map(({ messages }) => messages.map(numberOf))).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    await world.answer(4);
    expect(world.answers).toEqual(["1 1", "2 2", "3 3", "4 4", "5 5"]);
    expect(new Set(world.batches.map(({ check }) => check)).size).toBe(2);
  });

  test("at most 256 messages, 32 for an embedded store, or a megabyte", async () => {
    const world = new World();
    for (let n = 0; n < 300; n++) world.append(n);
    await world.turn();
    expect(world.batches[0]?.messages).toHaveLength(256);
    const embedded = new World();
    embedded.store.isShared = false;
    for (let n = 0; n < 300; n++) embedded.append(n);
    await embedded.turn();
    expect(embedded.batches[0]?.messages).toHaveLength(32);
    const large = new World();
    for (let n = 0; n < 30; n++) large.append(n, 60_000);
    await large.turn();
    expect(large.batches[0]?.messages).toHaveLength(16);
  });

  test("beyond 8 MiB of one application, and 32 MiB of all, nothing more is taken", async () => {
    const world = new World();
    const taken = ["a", "b", "c", "d", "e"].map(anAppId).map((app) => {
      let count = 0;
      while (world.append(count, 60_000, app)) count++;
      return count;
    });
    const share = Math.floor((8 * 1024 * 1024) / (60_000 + 256));
    expect(taken).toEqual([share, share, share, share, 0]);
    expect(world.appender.waitingBytes).toBeLessThanOrEqual(32 * 1024 * 1024);
    // What the store has taken makes room for its application.
    await world.turn();
    expect([world.append(0, 60_000, anAppId("b")), world.append(0, 60_000, anAppId("a"))]).toEqual([false, true]);
  });

  test("a callback that throws costs the others nothing", async () => {
    const world = new World();
    world.appender.append({
      message: message(1),
      sinceMs: 0,
      done: () => {
        throw new Error("planted");
      },
    });
    world.append(2);
    await world.turn();
    await world.answer(1);
    expect([world.answers, world.failed]).toEqual([["2 2"], [new Error("planted")]]);
  });
});

describe("a batch whose fate is unknown", () => {
  test("nothing more is appended until the store has said that it is not stored", async () => {
    const world = new World();
    world.append(1);
    await world.turn();
    await world.fail();
    world.append(2);
    await world.turn();
    expect([world.answers, world.batches.length, world.settled.length]).toEqual([["1 unknown"], 1, 1]);
    await world.settle("away");
    await world.pass(100);
    expect(world.settled).toHaveLength(2);
    await world.settle("not stored");
    await world.turn();
    await world.answer(1);
    expect([world.answers, world.late]).toEqual([["1 unknown", "2 1"], []]);
  });

  test("it is stored: its messages are reported, before those behind it", async () => {
    const world = new World();
    for (const n of [1, 2]) world.append(n);
    await world.turn();
    await world.fail();
    world.append(3);
    await world.settle("stored");
    await world.turn();
    await world.answer(3);
    expect([world.late, world.answers]).toEqual([
      [1, 2],
      ["1 unknown", "2 unknown", "3 3"],
    ]);
  });

  test("a store that does not answer: after 2 s, also for what waits; a late answer counts", async () => {
    const world = new World();
    world.append(1);
    await world.turn();
    world.append(2);
    await world.pass(1800);
    expect(world.answers).toEqual([]);
    await world.pass(700);
    expect(world.answers).toEqual(["1 unknown", "2 unknown"]);
    await world.answer(7);
    expect(world.late).toEqual([1]);
    await world.settle("stored", 7);
    expect(world.late).toEqual([1]);
    world.append(3);
    await world.turn();
    await world.answer(8);
    expect(world.answers.at(-1)).toBe("3 8");
  });

  test("a question that is never answered is asked again", async () => {
    const world = new World();
    world.append(1);
    await world.turn();
    await world.fail();
    await world.pass(5200);
    expect(world.settled).toHaveLength(2);
    await world.pass(5500);
    expect(world.settled).toHaveLength(3);
  });
});

test("close waits for what is on its way, and takes nothing more", async () => {
  const world = new World();
  world.append(1);
  let isClosed = false;
  void world.appender.close().then(() => {
    isClosed = true;
  });
  await world.turn();
  expect(isClosed).toBeFalse();
  await world.answer(1);
  expect([isClosed, world.answers, world.append(2)]).toEqual([true, ["1 1"], false]);
});
