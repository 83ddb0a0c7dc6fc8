import { expect, test } from "bun:test";
import { WholeLines } from "./whole-lines.ts";

test("a line that the system takes in parts is written whole", () => {
  let out = "";
  const lines = new WholeLines((bytes) => {
    out += Buffer.from(bytes.subarray(0, 3)).toString();
    return Math.min(3, bytes.length);
  });
  lines.add("a long line\n");
  lines.add("another\n");
  expect(out).toBe("a long line\nanother\n");
});

test("after a line that was cut, the next one begins on its own", () => {
  let out = "";
  let room = 5;
  const lines = new WholeLines((bytes) => {
    if (room === 0) throw Object.assign(new Error("no room"), { code: "EAGAIN" });
    const count = Math.min(room, bytes.length);
    out += Buffer.from(bytes.subarray(0, count)).toString();
    room -= count;
    return count;
  });
  for (const line of ["first line\n", "lost\n"]) lines.add(line);
  room = 100;
  for (const line of ["second\n", "third\n"]) lines.add(line);
  expect(out).toBe("first\nsecond\nthird\n");
});
