import { describe, expect, test } from "bun:test";
import { Recovery, type Seen } from "./recovery.ts";

/** What is done in each second, without the waits. */
function steps(isLeader: boolean, state: Seen["state"], seconds: number, recovery = new Recovery()): string[] {
  const done: string[] = [];
  for (let second = 0; second < seconds; second++) {
    const step = recovery.next({ isLeader, state }, second * 1000);
    if (step !== "wait") done.push(`${second} ${step}`);
  }
  return done;
}

describe("the leader", () => {
  test("begins at once, and anew if that does not help", () => {
    expect(steps(true, "none", 12)).toEqual(["0 begin", "10 begin"]);
  });

  test("gives each attempt more time than the one before", () => {
    expect(steps(true, "connecting", 100)).toEqual(["12 begin", "24 begin", "48 begin", "96 begin"]);
  });

  test("restarts a connection that is lost twice, and then begins anew", () => {
    expect(steps(true, "disconnected", 20)).toEqual(["3 restartIce", "9 restartIce", "15 begin"]);
    expect(steps(true, "failed", 14)).toEqual(["0 restartIce", "6 restartIce", "12 begin"]);
  });

  test("does nothing about one that works", () => {
    expect(steps(true, "connected", 100)).toEqual([]);
  });
});

describe("the other one", () => {
  test("waits longer, and asks the leader to begin", () => {
    expect(steps(false, "none", 20)).toEqual(["4 askLeader", "18 askLeader"]);
  });

  test("restarts only after the leader could have", () => {
    expect(steps(false, "failed", 30)).toEqual(["4 restartIce", "14 restartIce", "24 askLeader"]);
  });
});

test("a page that is back does not wait for a connection to come back by itself", () => {
  const recovery = new Recovery();
  expect(recovery.next({ isLeader: true, state: "disconnected" }, 0)).toBe("wait");
  recovery.wake();
  expect(recovery.next({ isLeader: true, state: "disconnected" }, 1)).toBe("restartIce");
});

test("after the other one has ended its connection, the count begins anew", () => {
  const recovery = new Recovery();
  expect(steps(true, "none", 5, recovery)).toEqual(["0 begin"]);
  recovery.restarted(5000);
  expect(recovery.next({ isLeader: true, state: "none" }, 5000)).toBe("begin");
});
