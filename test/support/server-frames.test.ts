import { expect, test } from "bun:test";
import { FrameCutter, textFrame } from "./server-frames.ts";

const HEAD = Buffer.from("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n");
const PING = Buffer.from([0x89, 1, 0x31]);
const texts = ["", "short", "x".repeat(125), "y".repeat(126), "ü".repeat(20_000)];
const stream = Buffer.concat([HEAD, ...texts.flatMap((text) => [textFrame(text), PING])]);

test.each([1, 2, 3, 7, 1000, stream.length])("a stream cut into pieces of %i bytes gives the same frames", (size) => {
  const cutter = new FrameCutter();
  const bytes: Buffer[] = [];
  const heard: (string | undefined)[] = [];
  for (let at = 0; at < stream.length; at += size)
    for (const frame of cutter.cut(stream.subarray(at, at + size))) {
      bytes.push(Buffer.from(frame.bytes));
      heard.push(frame.text);
    }
  expect(heard).toEqual([undefined, ...texts.flatMap((text) => [text, undefined])]);
  expect(Buffer.concat(bytes).equals(stream)).toBeTrue();
});
