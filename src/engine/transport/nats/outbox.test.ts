import { expect, test } from "bun:test";
import { nextTurn } from "../../../../test/support/wait.ts";
import { NatsOutbox } from "./outbox.ts";

function setup() {
  const writes: Uint8Array[] = [];
  return { writes, outbox: new NatsOutbox((bytes) => void writes.push(bytes)) };
}

const textOf = (writes: readonly Uint8Array[]): string => Buffer.concat(writes).toString();

test("what is published in one turn is one write, in its order", async () => {
  const { writes, outbox } = setup();
  outbox.command("SUB a 1\r\n");
  outbox.publish("b", "x €", 5, undefined);
  outbox.publish("c", new Uint8Array([1, 2]), 2, "reply.1");
  expect(writes).toEqual([]);
  await nextTurn();
  expect(writes.length).toBe(1);
  expect(textOf(writes)).toBe("SUB a 1\r\nPUB b 5\r\nx €\r\nPUB c reply.1 2\r\n\x01\x02\r\n");
  outbox.publish("d", "y", 1, undefined);
  await nextTurn();
  expect(writes.map((bytes) => Buffer.from(bytes).toString()).at(1)).toBe("PUB d 1\r\ny\r\n");
});

test("what has been written stays as it was: the socket may not have sent it yet", async () => {
  const { writes, outbox } = setup();
  const expected: string[] = [];
  for (let at = 0; at < 300; at++) {
    // One of each hundred is longer than a chunk.
    const payload = `${at} ${"é".repeat(at % 100 === 99 ? 70_000 : at)}`;
    const bytes = Buffer.byteLength(payload);
    const subject = `s.${at}.é`;
    outbox.publish(subject, at % 2 === 0 ? payload : Buffer.from(payload), bytes, at % 3 === 0 ? "réply" : undefined);
    expected.push(`PUB ${subject}${at % 3 === 0 ? " réply" : ""} ${bytes}\r\n${payload}\r\n`);
    if (at % 7 === 0) await nextTurn();
  }
  await nextTurn();
  expect(textOf(writes)).toBe(expected.join(""));
});
