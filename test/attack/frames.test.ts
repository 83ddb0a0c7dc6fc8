/** Frames that no client should send (RFC 6455 5): each ends its own connection with the right code, and no other connection. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Bits, bits, closePayload, OPCODE } from "../support/wire/frames.ts";
import { crowd, FULL, Siege } from "./support/siege.ts";

setDefaultTimeout(60_000);

const TIMES = FULL ? 10 : 4;
const AT_ONCE = 10;
const PING = '{"type":"ping"}';
const { text, binary, continuation, close, ping, pong } = OPCODE;

let siege: Siege;
beforeAll(async () => {
  siege = await Siege.start();
});
afterAll(() => siege.stop());

/** Expects the connection to be closed with that code and then ended. */
const closes = (code: number, ...frames: Bits[]): Promise<void> => closesAfter(code, Buffer.concat(frames.map(bits)));

function closesAfter(code: number, bytes: Uint8Array): Promise<void> {
  return siege.withstands(async () => {
    const codes = await crowd(TIMES, AT_ONCE, async () => {
      const wire = await siege.wire();
      wire.raw(bytes);
      const ended = await wire.closed();
      await wire.gone();
      return ended.code;
    });
    expect([...new Set(codes)]).toEqual([code]);
  });
}

/** Expects the connection to stay open; `answers` are the text frames that it receives. */
function stays(answers: string[], ...frames: Bits[]): Promise<void> {
  return siege.withstands(async () => {
    await crowd(TIMES, AT_ONCE, async () => {
      const wire = await siege.wire();
      wire.raw(Buffer.concat(frames.map(bits)));
      const came = await wire.sync();
      expect(came.map(({ type }) => type)).toEqual(answers as typeof came extends { type: infer T }[] ? T[] : never);
    });
  });
}

describe("the header of a frame", () => {
  test("an unmasked frame closes with 1002", () => closes(1002, { opcode: text, payload: PING, masked: false }));
  test.each([1, 2, 4, 7])("reserved bits %p close with 1002", (reserved) =>
    closes(1002, { opcode: text, payload: PING, reserved }),
  );
  test.each([3, 4, 5, 6, 7, 11, 12, 13, 14, 15])("reserved opcode %p closes with 1002", (opcode) =>
    closes(1002, { opcode, payload: PING }),
  );
  test("a length in a longer encoding than needed is accepted", () =>
    stays(
      ["pong", "pong"],
      { opcode: text, payload: PING, form: "medium" },
      { opcode: text, payload: PING, form: "long" },
    ));
});

describe("a wrong length", () => {
  test.each([
    ["of 63 bits", (1n << 63n) - 1n],
    ["of 64 bits", (1n << 64n) - 1n],
    ["with only the highest bit", 1n << 63n],
    ["of 4 GiB with fewer bytes", (1n << 32n) + BigInt(PING.length)],
    ["one over the limit", 67_585n],
  ])("%s closes with 1009 before its bytes arrive", (_, length) =>
    closes(1009, { opcode: text, payload: PING, length }),
  );

  test("100 announced frames whose bytes never arrive block no other client", () =>
    siege.withstands(async () => {
      await crowd(100, 20, async () => {
        const wire = await siege.wire();
        wire.raw(bits({ opcode: text, length: 67_584n, payload: "a".repeat(30_000) }));
      });
      const late = await siege.wire();
      expect(await late.sync()).toEqual([]);
    }));

  test("an incomplete header blocks no other client", () =>
    siege.withstands(async () => {
      await crowd(100, 20, async (at) => {
        const wire = await siege.wire();
        wire.raw(bits({ opcode: text, length: 60_000n, form: "long" }).subarray(0, 1 + (at % 13)));
      });
      const late = await siege.wire();
      expect(await late.sync()).toEqual([]);
    }));
});

describe("text that is not UTF-8", () => {
  test.each([
    ["bytes that never occur", [0xff, 0xfe]],
    ["a lone surrogate", [0xed, 0xa0, 0x80]],
    ["an overlong form", [0xc0, 0xaf]],
    ["a code point beyond Unicode", [0xf4, 0x90, 0x80, 0x80]],
    ["a truncated sequence", [0x22, 0xe2, 0x82]],
    ["a continuation byte alone", [0x80]],
  ])("%s closes with 1007", (_, bytes) => closes(1007, { opcode: text, payload: Buffer.from(bytes) }));

  test("a sequence truncated at a fragment closes with 1007", () =>
    closes(
      1007,
      { opcode: text, final: false, payload: Buffer.from([0x22, 0xe2, 0x82]) },
      { opcode: continuation, payload: Buffer.from([0x22]) },
    ));

  test("a character that spans two fragments is accepted", () =>
    stays(
      ["error"],
      { opcode: text, final: false, payload: Buffer.from([0x22, 0xe2, 0x82]) },
      { opcode: continuation, payload: Buffer.from([0xac, 0x22]) },
    ));

  test("in a binary frame is no protocol error", () =>
    stays(["error"], { opcode: binary, payload: Buffer.from([0xff, 0xfe]) }));
});

describe("fragments", () => {
  test("a continuation of nothing closes with 1002", () => closes(1002, { opcode: continuation, payload: PING }));
  test("the first part of a continuation of nothing closes with 1002", () =>
    closes(1002, { opcode: continuation, payload: PING, final: false }));
  test("a new message inside another closes with 1002", () =>
    closes(1002, { opcode: text, payload: "{", final: false }, { opcode: text, payload: PING }));

  test("control frames between them are answered, and the message is still accepted", () =>
    siege.withstands(async () => {
      const wire = await siege.wire();
      const frames: Bits[] = [{ opcode: text, payload: "", final: false }];
      for (const letter of PING)
        frames.push(
          { opcode: ping, payload: letter },
          { opcode: pong, payload: "9" },
          { opcode: continuation, payload: letter, final: false },
        );
      frames.push({ opcode: continuation });
      wire.raw(Buffer.concat(frames.map(bits)));
      expect((await wire.sync()).map(({ type }) => type)).toEqual(["pong"]);
      const pongs = wire.events.flatMap((event) => (event.kind === "pong" ? [event.payload] : []));
      expect(pongs.join("")).toBe(PING);
    }));

  test("of one byte each without a last one close with 1009 at the limit of a frame", () =>
    siege.withstands(async () => {
      const one = bits({ opcode: continuation, payload: "a", final: false });
      const bytes = Buffer.concat([bits({ opcode: text, final: false }), ...Array<Buffer>(67_700).fill(one)]);
      await crowd(4, 4, async () => {
        const wire = await siege.wire();
        wire.raw(bytes);
        expect((await wire.closed()).code).toBe(1009);
      });
    }));

  test("that are empty and never end cost the server nothing", () =>
    siege.withstands(async () => {
      const one = bits({ opcode: continuation, final: false });
      const bytes = Buffer.concat([bits({ opcode: text, final: false }), ...Array<Buffer>(50_000).fill(one)]);
      await crowd(4, 4, async () => {
        const wire = await siege.wire();
        wire.raw(Buffer.concat([bytes, bits({ opcode: continuation, payload: PING })]));
        expect((await wire.frame()).type).toBe("pong");
      });
    }));

  test("200 incomplete messages block no other client", () =>
    siege.withstands(async () => {
      await crowd(200, 20, async () => {
        const wire = await siege.wire();
        wire.raw(bits({ opcode: text, payload: "a".repeat(60_000), final: false }));
      });
      const late = await siege.wire();
      expect(await late.sync()).toEqual([]);
    }));
});

describe("control frames", () => {
  test.each([
    ["ping", ping],
    ["pong", pong],
    ["close", close],
  ])("a %s of 126 bytes closes with 1002", (_, opcode) =>
    closes(1002, { opcode, payload: Buffer.concat([closePayload(1000), Buffer.alloc(124, 97)]) }),
  );
  test("a ping of 70,000 bytes closes with 1002", () => closes(1002, { opcode: ping, payload: "a".repeat(70_000) }));
  test.each([ping, pong, close])("control opcode %p in fragments closes with 1002", (opcode) =>
    closes(1002, { opcode, final: false }),
  );
  test("an unsolicited pong changes nothing", () =>
    stays(
      [],
      ...["", "1", "-1", "NaN", "1e999", "0x10", "9".repeat(125), "\0", "🙂"].map((payload) => ({
        opcode: pong,
        payload,
      })),
    ));
});

describe("close frames", () => {
  test("a payload of one byte closes with 1002", () => closes(1002, { opcode: close, payload: Buffer.from([3]) }));
  test.each([0, 999, 1004, 1005, 1006, 1015, 1016, 2000, 2999, 5000, 65_535])("code %p closes with 1002", (code) =>
    closes(1002, { opcode: close, payload: closePayload(code) }),
  );
  test("a reason that is not UTF-8 closes with 1007", () =>
    closes(1007, { opcode: close, payload: Buffer.concat([closePayload(1000), Buffer.from([0xff, 0xfe])]) }));
  test("a close in the middle of a message closes with its code", () =>
    closes(1000, { opcode: text, payload: "{", final: false }, { opcode: close, payload: closePayload(1000) }));

  test("frames after one are ignored", () =>
    siege.withstands(async () => {
      const channel = "behind-a-close";
      const listener = await siege.wire();
      await listener.request({ type: "subscribe", channel });
      const wire = await siege.wire();
      const publish = JSON.stringify({ type: "publish", channel, data: 1 });
      wire.raw(
        Buffer.concat([bits({ opcode: close, payload: closePayload(1000) }), bits({ opcode: text, payload: publish })]),
      );
      expect((await wire.closed()).code).toBe(1000);
      await wire.gone();
      expect((await listener.sync()).filter(({ type }) => type === "message")).toEqual([]);
    }));
});

test("random bytes instead of frames end the connection", () =>
  siege.withstands(async () => {
    await crowd(200, 20, async () => {
      const wire = await siege.wire();
      // The first frame has a reserved opcode, so the rest of the bytes must not matter.
      wire.raw(Buffer.concat([Buffer.from([0x83]), crypto.getRandomValues(new Uint8Array(4000))]));
      expect((await wire.closed()).code).toBe(1002);
    });
  }));
