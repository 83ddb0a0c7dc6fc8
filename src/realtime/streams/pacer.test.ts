import { expect, test } from "bun:test";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type { Connection } from "../state/connection.ts";
import type { Replay } from "../state/replay.ts";
import { TURN_SHARE_MIN_MS } from "./limits.ts";
import { Pacer } from "./pacer.ts";

const aReplay = (connection = {} as Connection, app = "app"): Replay =>
  ({ subscription: { connection, channel: { space: { owner: anAppId(app) } } } }) as unknown as Replay;

/** Replays of which each piece of work takes a millisecond. */
class Paced {
  readonly clock = new FakeClock();
  readonly done: string[] = [];
  private deferred: (() => void)[] = [];
  private readonly names = new Map<Replay, string>();
  private readonly left = new Map<Replay, number>();
  private readonly connections = new Map<string, Connection>();
  readonly pacer = new Pacer({ clock: this.clock, defer: (callback) => this.deferred.push(callback) }, (replay) => {
    this.clock.advance(1);
    this.done.push(this.names.get(replay) ?? "");
    const left = (this.left.get(replay) ?? 1) - 1;
    this.left.set(replay, left);
    return left > 0;
  });

  /** `name`: its connection, and which one of that it is. */
  add(name: string, pieces: number, app = "app"): Replay {
    const peer = name.slice(0, 1);
    const connection = this.connections.get(peer) ?? ({} as Connection);
    this.connections.set(peer, connection);
    const replay = aReplay(connection, app);
    this.names.set(replay, name);
    this.left.set(replay, pieces);
    this.pacer.add(replay);
    return replay;
  }

  /** What is done in the next turn of the process. */
  nextTurn(): string[] {
    const before = this.done.length;
    for (const callback of this.deferred.splice(0)) callback();
    return this.done.slice(before);
  }

  get isIdle(): boolean {
    return this.deferred.length === 0;
  }
}

test("one replay is worked on at once, for a few milliseconds of each turn", () => {
  const paced = new Paced();
  paced.add("a", TURN_SHARE_MIN_MS + 2);
  expect(paced.done).toHaveLength(TURN_SHARE_MIN_MS);
  expect(paced.nextTurn()).toEqual(["a", "a"]);
  expect(paced.nextTurn()).toEqual([]);
  expect(paced.isIdle).toBe(true);
});

test("applications alternate, whatever the number of their connections", () => {
  const paced = new Paced();
  paced.add("-", TURN_SHARE_MIN_MS);
  for (const name of ["a", "b", "c", "d", "e", "f"]) paced.add(name, 1);
  paced.add("other", 1, "other");
  expect(paced.nextTurn().slice(0, 2)).toEqual(["a", "other"]);
});

test("connections alternate, whatever the number of their replays", () => {
  const paced = new Paced();
  paced.add("-", TURN_SHARE_MIN_MS);
  for (const name of ["a1", "a2", "a3"]) paced.add(name, 2);
  paced.add("b", 3);
  expect([...paced.nextTurn(), ...paced.nextTurn()]).toEqual(["a1", "a2", "b", "a3", "b", "a1", "b", "a2"]);
  expect(paced.nextTurn()).toEqual(["a3"]);
});

test("a connection that comes later does not wait for all that have begun", () => {
  const paced = new Paced();
  for (const name of ["a", "b", "c", "d", "e", "f", "g", "h"]) paced.add(name, 20);
  for (let turns = 0; turns < 4; turns++) paced.nextTurn();
  paced.add("z", 1);
  expect(paced.nextTurn().indexOf("z")).toBeWithin(0, 2);
});

test("those that have begun go on while more come all the time", () => {
  const paced = new Paced();
  paced.add("a", 20);
  for (let turns = 0; turns < 5; turns++) {
    for (let i = 0; i < 5; i++) paced.add(`${String.fromCharCode(100 + turns * 5 + i)}`, 1);
    expect(paced.nextTurn()).toContain("a");
  }
});

test("a replay that has ended is not worked on", () => {
  const paced = new Paced();
  paced.add("-", TURN_SHARE_MIN_MS);
  const ended = paced.add("a", 2);
  paced.add("b", 1);
  paced.pacer.remove(ended);
  expect(paced.nextTurn()).toEqual(["b"]);
});

test("work that begins another replay does not nest", () => {
  const clock = new FakeClock();
  const order: string[] = [];
  const [outer, inner] = [aReplay(), aReplay()];
  const pacer = new Pacer({ clock, defer: () => undefined }, (one) => {
    order.push(one === outer ? "outer" : "inner");
    if (one === outer) pacer.add(inner);
    order.push("end");
    return false;
  });
  pacer.add(outer);
  expect(order).toEqual(["outer", "end", "inner", "end"]);
});
