import { describe, expect, test } from "bun:test";
import { FRAME_MAX_BYTES, FrameError, FrameReader, putU32, u16At, u32At } from "./frames.ts";
import { Outbox } from "./outbox.ts";

const frameOf = (text: string): Buffer => {
  const bytes = Buffer.alloc(4 + text.length);
  putU32(bytes, 0, text.length);
  bytes.write(text, 4);
  return bytes;
};

const reading = (): { reader: FrameReader; frames: string[] } => {
  const frames: string[] = [];
  return {
    reader: new FrameReader((bytes, at, end) => frames.push(Buffer.from(bytes).toString("utf8", at, end))),
    frames,
  };
};

describe("the reader of frames", () => {
  const texts = ["a", "bc", "x".repeat(300), "d"];
  const stream = Buffer.concat(texts.map(frameOf));

  test("finds the same frames wherever the stream is divided", () => {
    for (let first = 0; first <= stream.length; first++)
      for (const second of [first, first + 1, first + 5, stream.length]) {
        const { reader, frames } = reading();
        for (const part of [stream.subarray(0, first), stream.subarray(first, second), stream.subarray(second)])
          reader.read(part);
        expect(frames).toEqual(texts);
      }
  });

  test("finds them byte by byte", () => {
    const { reader, frames } = reading();
    for (const byte of stream) reader.read(Uint8Array.of(byte));
    expect(frames).toEqual(texts);
  });

  test("refuses lengths that no worker sends, also when the length comes in parts", () => {
    for (const length of [0, FRAME_MAX_BYTES + 1, 2 ** 32 - 1]) {
      const bytes = Buffer.alloc(8);
      putU32(bytes, 0, length);
      expect(() => reading().reader.read(bytes)).toThrow(FrameError);
      const { reader } = reading();
      reader.read(bytes.subarray(0, 3));
      expect(() => reader.read(bytes.subarray(3))).toThrow(`a frame of ${length} bytes`);
    }
  });

  test("passes nothing on after it was stopped by a frame", () => {
    const frames: number[] = [];
    const reader = new FrameReader((_, at) => {
      frames.push(at);
      reader.stop();
    });
    reader.read(stream);
    reader.read(stream);
    expect(frames).toEqual([4]);
  });

  test("numbers keep all their bits", () => {
    const bytes = new Uint8Array(4);
    for (const number of [0, 1, 0x1234_5678, 0x8000_0000, 0xffff_ffff]) {
      putU32(bytes, 0, number);
      expect([u32At(bytes, 0), u16At(bytes, 0)]).toEqual([number, number & 0xffff]);
    }
  });
});

describe("the outbox", () => {
  /** A socket that takes `step` bytes of each write, and none every third time. */
  const slow = (step: number): { taken: Buffer[]; write(bytes: Uint8Array, at: number, length: number): number } => {
    let calls = 0;
    const taken: Buffer[] = [];
    return {
      taken,
      write: (bytes, at, length) => {
        const count = ++calls % 3 === 0 ? 0 : Math.min(step, length);
        taken.push(Buffer.from(bytes.subarray(at, at + count)));
        return count;
      },
    };
  };

  test.each([1000, 60_000, 100_000, 10_000_000])(
    "writes everything once and in order to a socket that takes %d bytes",
    (step) => {
      const socket = slow(step);
      const outbox = new Outbox(socket);
      const sent: Buffer[] = [];
      for (let i = 0; i < 60; i++) {
        const part = Buffer.alloc(i % 7 === 0 ? 150_000 + i : 1 + i * 300, i);
        const at = outbox.reserve(part.length + 100);
        part.copy(outbox.bytes, at);
        outbox.commit(at + part.length);
        sent.push(part);
        if (i % 2 === 0) outbox.flush();
        if (i % 3 === 0) outbox.drained();
        expect(outbox.queuedBytes).toBe(bytesOf(sent) - bytesOf(socket.taken));
      }
      while (outbox.queuedBytes > 0) outbox.drained();
      expect(Buffer.concat(socket.taken).equals(Buffer.concat(sent))).toBeTrue();
    },
  );

  test("does not write again before a socket that is full has room", () => {
    let calls = 0;
    const outbox = new Outbox({ write: () => ++calls - 1 });
    const put = (): void => {
      outbox.reserve(10);
      outbox.commit(10);
    };
    put();
    for (let i = 0; i < 5; i++) outbox.flush();
    expect(calls).toBe(1);
    outbox.drained();
    expect(calls).toBe(2);
  });
});

const bytesOf = (parts: readonly Buffer[]): number => parts.reduce((sum, { length }) => sum + length, 0);
