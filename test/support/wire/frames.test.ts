import { expect, test } from "bun:test";
import { encodeFrame, FrameReader, OPCODE } from "./frames.ts";

const unmasked = (opcode: number, text: string): Buffer => encodeFrame(opcode, Buffer.from(text), { masked: false });
const texts = ["", "short", "x".repeat(125), "y".repeat(126), "ü".repeat(40_000)];
const stream = Buffer.concat(texts.flatMap((text) => [unmasked(OPCODE.text, text), unmasked(OPCODE.ping, "1")]));

test.each([1, 2, 3, 7, 1000, stream.length])("a stream cut into pieces of %i bytes gives the same frames", (size) => {
  const reader = new FrameReader();
  const bytes: Buffer[] = [];
  const heard: string[] = [];
  for (let at = 0; at < stream.length; at += size)
    for (const frame of reader.push(stream.subarray(at, at + size))) {
      bytes.push(Buffer.from(frame.bytes));
      heard.push(`${frame.opcode} ${frame.payload}`);
    }
  expect(heard).toEqual(texts.flatMap((text) => [`${OPCODE.text} ${text}`, `${OPCODE.ping} 1`]));
  expect(Buffer.concat(bytes).equals(stream)).toBeTrue();
});
