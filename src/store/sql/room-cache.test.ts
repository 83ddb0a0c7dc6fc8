import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { roomRow } from "../testing/rows.ts";
import { RoomCache } from "./room-cache.ts";

const A = anAppId("a");
const B = anAppId("b");

test("rooms are found by id and by name, in their own application, while they are live", () => {
  const cache = new RoomCache(false);
  const row = roomRow("1", { archiveAt: 100 });
  cache.add(row);
  expect(cache.withId(A, "1", 99)).toBe(row);
  expect(cache.named(A, "name-1", 99)).toBe(row);
  expect([cache.withId(A, "1", 100), cache.named(A, "name-1", 100)]).toEqual([undefined, undefined]);
  expect([cache.withId(B, "1", 99), cache.named(B, "name-1", 99)]).toEqual([undefined, undefined]);
});

test("a row takes the place of an older one, and is forgotten under both of its names", () => {
  const cache = new RoomCache(false);
  cache.add(roomRow("1"));
  cache.add(roomRow("1", { name: "other", version: 2 }));
  expect(cache.named(A, "name-1", 0)).toBeUndefined();
  cache.forget("1");
  expect([cache.withId(A, "1", 0), cache.named(A, "other", 0)]).toEqual([undefined, undefined]);
});

test("the number of rooms is bounded, and none is kept where others may change them", () => {
  const cache = new RoomCache(false);
  for (let at = 0; at < 2001; at++) cache.add(roomRow(String(at)));
  expect([cache.withId(A, "0", 0), cache.named(A, "name-0", 0)]).toEqual([undefined, undefined]);
  expect(cache.withId(A, "1", 0)?.name).toBe("name-1");
  const shared = new RoomCache(true);
  shared.add(roomRow("1"));
  expect(shared.withId(A, "1", 0)).toBeUndefined();
});
