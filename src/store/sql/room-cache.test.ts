import { expect, test } from "bun:test";
import { roomRow } from "../testing/rows.ts";
import { RoomCache } from "./room-cache.ts";

test("rooms are found by id and by name, in their own application, while they are live", () => {
  const cache = new RoomCache(false);
  const row = roomRow("1", { archiveAt: 100 });
  cache.add(row);
  expect(cache.withId("a", "1", 99)).toBe(row);
  expect(cache.named("a", "name-1", 99)).toBe(row);
  expect([cache.withId("a", "1", 100), cache.named("a", "name-1", 100)]).toEqual([undefined, undefined]);
  expect([cache.withId("b", "1", 99), cache.named("b", "name-1", 99)]).toEqual([undefined, undefined]);
});

test("a row takes the place of an older one, and is forgotten under both of its names", () => {
  const cache = new RoomCache(false);
  cache.add(roomRow("1"));
  cache.add(roomRow("1", { name: "other", version: 2 }));
  expect(cache.named("a", "name-1", 0)).toBeUndefined();
  cache.forget("1");
  expect([cache.withId("a", "1", 0), cache.named("a", "other", 0)]).toEqual([undefined, undefined]);
});

test("the number of rooms is bounded, and none is kept where others may change them", () => {
  const cache = new RoomCache(false);
  for (let at = 0; at < 2001; at++) cache.add(roomRow(String(at)));
  expect([cache.withId("a", "0", 0), cache.named("a", "name-0", 0)]).toEqual([undefined, undefined]);
  expect(cache.withId("a", "1", 0)?.name).toBe("name-1");
  const shared = new RoomCache(true);
  shared.add(roomRow("1"));
  expect(shared.withId("a", "1", 0)).toBeUndefined();
});
