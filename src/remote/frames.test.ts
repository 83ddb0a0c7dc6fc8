/** Frames: written together, whole whatever the socket takes or delivers at a time, and refused when they are none. */
import { describe, expect, test } from "bun:test";
import { APPEND, CALLS, FrameReader, FrameWriter, HEADER_BYTES } from "./frames.ts";

/** Takes at most that many bytes per write. */
class Sink {
  readonly writes: Buffer[] = [];
  constructor(public takes = Number.POSITIVE_INFINITY) {}

  write(bytes: Uint8Array): number {
    const taken = Math.min(this.takes, bytes.length);
    if (taken > 0) this.writes.push(Buffer.from(bytes.subarray(0, taken)));
    return taken;
  }

  get all(): Buffer {
    return Buffer.concat(this.writes);
  }
}

type Frame = readonly [kind: number, text: string];

function framesOf(chunks: readonly Buffer[], maxBytes = 1e6): Frame[] {
  const frames: Frame[] = [];
  const reader = new FrameReader(maxBytes, (kind, payload) => frames.push([kind, payload.toString()]));
  for (const chunk of chunks) reader.read(chunk);
  return frames;
}

const FRAMES: readonly Frame[] = [
  [CALLS, "first"],
  [APPEND, ""],
  [APPEND, "x".repeat(200_000)],
  [CALLS, "last"],
];

const fill = (writer: FrameWriter): void => {
  for (const [kind, text] of FRAMES) writer.add(kind, Buffer.from(text));
};

describe("frames that are written", () => {
  test("in one turn are one write, and none without a flush", () => {
    const sink = new Sink();
    const writer = new FrameWriter(sink);
    fill(writer);
    expect(sink.writes).toEqual([]);
    writer.flush();
    writer.flush();
    expect(sink.writes).toHaveLength(1);
    expect(framesOf(sink.writes)).toEqual([...FRAMES]);
  });

  test("straight into the buffer have the length that was written, not the one that was reserved", () => {
    const sink = new Sink();
    const writer = new FrameWriter(sink);
    const length = writer.addWritten(APPEND, 100_000, "short", (text, into, at) => at + into.write(text, at));
    writer.add(CALLS, Buffer.from("next"));
    writer.flush();
    expect(length).toBe(5);
    expect(framesOf(sink.writes)).toEqual([
      [APPEND, "short"],
      [CALLS, "next"],
    ]);
  });

  test("that fail while they are encoded leave nothing behind", () => {
    const sink = new Sink();
    const writer = new FrameWriter(sink);
    writer.add(CALLS, Buffer.from("before"));
    const failing = (): number => {
      throw new Error("not today");
    };
    expect(() => writer.addWritten(APPEND, 10, undefined, failing)).toThrow("not today");
    writer.flush();
    expect(framesOf(sink.writes)).toEqual([[CALLS, "before"]]);
  });

  test("to a reader that stops are kept in order, counted, and not changed by later ones", () => {
    const sink = new Sink(7);
    const writer = new FrameWriter(sink);
    fill(writer);
    writer.flush();
    sink.takes = 0;
    fill(writer);
    writer.flush();
    const bytes = FRAMES.reduce((sum, [, text]) => sum + HEADER_BYTES + text.length, 0);
    expect(writer.waitingBytes).toBe(2 * bytes - 7);
    sink.takes = 50_000;
    while (writer.waitingBytes > 0) writer.drained();
    fill(writer);
    sink.takes = Number.POSITIVE_INFINITY;
    writer.flush();
    expect(framesOf(sink.writes)).toEqual([...FRAMES, ...FRAMES, ...FRAMES]);
  });
});

describe("frames that are read", () => {
  const sink = new Sink();
  const writer = new FrameWriter(sink);
  for (const [kind, text] of [...FRAMES].reverse()) writer.add(kind, Buffer.from(text.slice(0, 20)));
  writer.flush();
  const { all } = sink;

  test("are the same wherever they are torn", () => {
    const whole = framesOf([all]);
    expect(whole).toHaveLength(FRAMES.length);
    for (let first = 0; first <= all.length; first++)
      for (let second = first; second <= all.length; second++)
        expect(framesOf([all.subarray(0, first), all.subarray(first, second), all.subarray(second)])).toEqual(whole);
  });

  test("byte by byte are the same, and a part of one is none", () => {
    const bytes = Array.from(all, (byte) => Buffer.from([byte]));
    expect(framesOf(bytes)).toEqual(framesOf([all]));
    expect(framesOf(bytes.slice(0, -1))).toHaveLength(FRAMES.length - 1);
  });

  test("are refused if they are too long or of an unknown kind, before they have arrived", () => {
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt32LE(101);
    expect(() => framesOf([header], 100)).toThrow("a frame of 101 bytes, and 100 are allowed");
    header.writeUInt32LE(1);
    header[HEADER_BYTES - 1] = 2;
    expect(() => framesOf([header], 100)).toThrow("a frame of the unknown kind 2");
  });
});
