import { expect, test } from "bun:test";
import { Stream, Track } from "./stream.ts";

const acked = (count: number): Stream => {
  const stream = new Stream(1, 0);
  for (let n = 1; n <= count; n++) stream.answered(stream.next(), "acked");
  return stream;
};
const taking = (track: Track, ...numbers: number[]): string => numbers.map((n) => track.take(n)).join(" ");

test("what comes in order is new, whatever is left out", () => {
  const track = new Track(acked(9)).promise(1);
  expect(taking(track, 1, 2, 5, 9)).toBe("new new new new");
  expect(`${track.lost(true)}`).toBe("3–4, 6–8");
});

test("twice is doubled, also when it was late", () => {
  const track = new Track(acked(4)).promise(1);
  expect(taking(track, 1, 1, 3, 2, 2, 3, 4)).toBe("new doubled new late doubled doubled new");
  expect(track.lost(true).isEmpty).toBeTrue();
});

test("what was sent before the subscribe was acked may come or not, but in order and once", () => {
  const track = new Track(acked(8)).promise(5);
  expect(taking(track, 2, 4, 3, 2, 6)).toBe("new new late doubled new");
  expect(`${track.lost(true)}`).toBe("5, 7–8");
  const none = new Track(acked(8)).promise(5);
  expect(taking(none, 5, 6, 7, 8, 4)).toBe("new new new new late");
  expect(none.lost(true).isEmpty).toBeTrue();
});

test("what comes before the ack counts towards order, and the ack says from where on all must come", () => {
  const track = new Track(acked(8));
  expect(taking(track, 2, 4)).toBe("new new");
  track.promise(6);
  expect(taking(track, 4, 8)).toBe("doubled new");
  expect(`${track.lost(true)}`).toBe("6–7");
});

test("to a connection that ended the last ones may be missing, but nothing in between", () => {
  const track = new Track(acked(9)).promise(1);
  taking(track, 1, 2, 4, 5);
  expect(`${track.lost(false)}`).toBe("3");
  expect(`${track.lost(true)}`).toBe("3, 6–9");
});

test("only what was acked can be lost; what was refused must not be seen", () => {
  const stream = new Stream(1, 0);
  for (let n = 1; n <= 6; n++) stream.next();
  expect([stream.answered(1, "acked"), stream.answered(2, "refused"), stream.answered(3, "unknown")]).toEqual([
    true,
    true,
    true,
  ]);
  stream.answered(4, "refused");
  stream.answered(6, "acked");
  const track = new Track(stream).promise(1);
  taking(track, 4, 5);
  expect(`${track.lost(true)}`).toBe("1, 6");
  expect(`${track.refusedButSeen}`).toBe("4");
  expect(`${stream.unanswered}`).toBe("5");
});

test("an answer counts once", () => {
  const stream = acked(1);
  stream.next();
  stream.answered(2, "refused");
  expect([stream.answered(1, "acked"), stream.answered(2, "acked"), stream.answered(3, "acked")]).toEqual([
    false,
    false,
    false,
  ]);
});
