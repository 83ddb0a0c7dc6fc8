import { describe, expect, test } from "bun:test";
import { FILES_RESERVE_MAX } from "../limits.ts";
import { FileReserve, reserveOf } from "./file-reserve.ts";

const LIMIT = 1024;
const RESERVE = reserveOf(LIMIT);

function reserve(limit = LIMIT) {
  const found = { open: 0, counted: 0, changes: [] as boolean[] };
  const files = new FileReserve({
    openFiles: () => {
      found.counted++;
      return found.open;
    },
    limit,
    changed: (isFull) => found.changes.push(isFull),
    guarded: (callback) => callback,
  });
  /** As many connects as find room; each of them stays. */
  const fill = (): number => {
    let connected = 0;
    while (files.hasRoom() && connected < 100_000) {
      connected++;
      found.open++;
    }
    return connected;
  };
  return { files, found, fill };
}

describe("connects", () => {
  test("find room until only the reserve is free", () => {
    const { found, fill } = reserve();
    found.open = 40;
    expect(fill()).toBe(LIMIT - RESERVE - 40);
    expect(found.changes).toEqual([true]);
  });

  test("are counted only when they may have used up the room", () => {
    const { found, fill } = reserve();
    fill();
    expect(found.counted).toBe(2);
  });

  test("are refused without counting files while there is no room", () => {
    const { files, found, fill } = reserve();
    fill();
    const { counted } = found;
    for (let i = 0; i < 1000; i++) expect(files.hasRoom()).toBe(false);
    expect(found.counted).toBe(counted);
  });

  test("find room again when a part of the reserve is free besides it, and not with each client that leaves", () => {
    const { files, found, fill } = reserve();
    fill();
    found.open -= RESERVE / 4 - 1;
    files.check();
    expect(files.hasRoom()).toBe(false);
    found.open -= 1;
    files.check();
    expect(files.hasRoom()).toBe(true);
    expect(found.changes).toEqual([true, false]);
  });
});

test("connections that send no request are noticed by the timer", () => {
  const { files, found } = reserve();
  expect(files.hasRoom()).toBe(true);
  found.open = LIMIT;
  files.check();
  expect(files.isFull).toBe(true);
  expect(files.hasRoom()).toBe(false);
});

test("the reserve is a share of a low limit, and not more than what is needed of a high one", () => {
  expect(reserveOf(256)).toBe(32);
  expect(reserveOf(20_000)).toBe(FILES_RESERVE_MAX);
  expect(reserveOf(1_048_576)).toBe(FILES_RESERVE_MAX);
});

test("without a limit there is always room", () => {
  const { files, found } = reserve(Number.POSITIVE_INFINITY);
  found.open = 1_000_000;
  for (let i = 0; i < 10; i++) expect(files.hasRoom()).toBe(true);
  expect(found.changes).toEqual([]);
});
