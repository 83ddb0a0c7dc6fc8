import { expect, test } from "bun:test";
import { MessageSequence, Track } from "./sequence.ts";

const acked = (count: number): MessageSequence => {
  const sequence = new MessageSequence(1, 0);
  for (let n = 1; n <= count; n++) sequence.answered(sequence.next(), "acked");
  return sequence;
};
const taking = (track: Track, ...numbers: number[]): string => numbers.map((n) => track.take(n)).join(" ");

test("messages in order are new, also after a gap", () => {
  const track = new Track(acked(9)).promise(1);
  expect(taking(track, 1, 2, 5, 9)).toBe("new new new new");
  expect(`${track.lost(true)}`).toBe("3–4, 6–8");
});

test("a message that arrives twice is doubled, also if the first one was late", () => {
  const track = new Track(acked(4)).promise(1);
  expect(taking(track, 1, 1, 3, 2, 2, 3, 4)).toBe("new doubled new late doubled doubled new");
  expect(track.lost(true).isEmpty).toBeTrue();
});

test("messages from before the ack may arrive or not, but in order and once", () => {
  const track = new Track(acked(8)).promise(5);
  expect(taking(track, 2, 4, 3, 2, 6)).toBe("new new late doubled new");
  expect(`${track.lost(true)}`).toBe("5, 7–8");
  const none = new Track(acked(8)).promise(5);
  expect(taking(none, 5, 6, 7, 8, 4)).toBe("new new new new late");
  expect(none.lost(true).isEmpty).toBeTrue();
});

test("messages that arrive before the ack count for the order, and from the ack on all must arrive", () => {
  const track = new Track(acked(8));
  expect(taking(track, 2, 4)).toBe("new new");
  track.promise(6);
  expect(taking(track, 4, 8)).toBe("doubled new");
  expect(`${track.lost(true)}`).toBe("6–7");
});

test("after the end of a connection the last messages may be missing, but none in between", () => {
  const track = new Track(acked(9)).promise(1);
  taking(track, 1, 2, 4, 5);
  expect(`${track.lost(false)}`).toBe("3");
  expect(`${track.lost(true)}`).toBe("3, 6–9");
});

test("only acked messages can be lost, and refused ones must not arrive", () => {
  const sequence = new MessageSequence(1, 0);
  for (let n = 1; n <= 6; n++) sequence.next();
  expect([sequence.answered(1, "acked"), sequence.answered(2, "refused"), sequence.answered(3, "unknown")]).toEqual([
    true,
    true,
    true,
  ]);
  sequence.answered(4, "refused");
  sequence.answered(6, "acked");
  const track = new Track(sequence).promise(1);
  taking(track, 4, 5);
  expect(`${track.lost(true)}`).toBe("1, 6");
  expect(`${track.refusedButSeen}`).toBe("4");
  expect(`${sequence.unanswered}`).toBe("5");
});

test("only the first answer to a message counts", () => {
  const sequence = acked(1);
  sequence.next();
  sequence.answered(2, "refused");
  expect([sequence.answered(1, "acked"), sequence.answered(2, "acked"), sequence.answered(3, "acked")]).toEqual([
    false,
    false,
    false,
  ]);
});
