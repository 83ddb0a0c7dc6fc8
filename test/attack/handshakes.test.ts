/** Handshakes that are none: refused, held open, or cut, while everybody else goes on. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { PLAIN_PING } from "../../src/protocol/frames.ts";
import { OPCODE } from "../conformance/raw/support/frames.ts";
import { bits } from "./support/bytes.ts";
import { handshake, Line } from "./support/line.ts";
import { crowd, FULL, Siege } from "./support/siege.ts";

setDefaultTimeout(150_000);

/** How often each malformed handshake comes in one attack. */
const TIMES = 20;
const AT_ONCE = 20;

let siege: Siege;
beforeAll(async () => {
  siege = await Siege.start();
});
afterAll(() => siege.stop());

/** What the server says to it, over and over. 0: it hangs up without a word. */
async function answersWith(status: number, request: (query: string) => string | Uint8Array): Promise<void> {
  await siege.withstands(async () => {
    const statuses = await crowd(TIMES, AT_ONCE, async () => {
      const line = siege.keep(await Line.open(siege.url));
      line.write(request(siege.query()));
      const answer = await line.status();
      line.drop();
      return answer;
    });
    expect([...new Set(statuses)]).toEqual([status]);
  });
}

const numbered = (count: number, value = "v"): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`X-${i}`, value]));

describe("the key of a handshake", () => {
  test("must be there", () => answersWith(400, (q) => handshake(q, { "Sec-WebSocket-Key": undefined })));
  test("must not be empty", () => answersWith(400, (q) => handshake(q, { "Sec-WebSocket-Key": "" })));
  test("must not be too short", () => answersWith(400, (q) => handshake(q, { "Sec-WebSocket-Key": "abc" })));
  test("must not be too long", () => answersWith(400, (q) => handshake(q, { "Sec-WebSocket-Key": "A".repeat(1000) })));
  test("must be base64", () => answersWith(400, (q) => handshake(q, { "Sec-WebSocket-Key": `${"!".repeat(22)}==` })));
  test("must be one", () => answersWith(400, (q) => handshake(q, { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" })));
});

describe("the version of a handshake", () => {
  test("must be there", () => answersWith(426, (q) => handshake(q, { "Sec-WebSocket-Version": undefined })));
  test("must be 13", () => answersWith(426, (q) => handshake(q, { "Sec-WebSocket-Version": "8" })));
  test("must be one", () => answersWith(426, (q) => handshake(q, { "sec-websocket-version": "8" })));

  test("is named in the answer to a wrong one, which says what is wrong", async () => {
    const line = siege.keep(await Line.open(siege.url));
    line.write(handshake(siege.query(), { "Sec-WebSocket-Version": "8" }));
    const [head = "", body = ""] = (await line.hears((received) => received.includes("}"))).split("\r\n\r\n");
    line.drop();
    expect(head).toMatch(/^sec-websocket-version: 13$/im);
    expect(JSON.parse(body)).toEqual({
      error: "upgrade_required",
      message: expect.stringContaining("WebSocket version 13"),
    });
  });
});

describe("a request that is no handshake", () => {
  test("POST is refused", () =>
    answersWith(405, (q) => handshake(q, { "Content-Length": "0" }, `POST /v1?${q} HTTP/1.1`)));
  test("a made-up method ends the connection", () => answersWith(0, (q) => handshake(q, {}, `BREW /v1?${q} HTTP/1.1`)));
  test("HTTP/0.9 is refused", () => answersWith(505, (q) => `GET /v1?${q}\r\n\r\n`));
  test("HTTP/2.0 is refused", () => answersWith(505, (q) => handshake(q, {}, `GET /v1?${q} HTTP/2.0`)));
  test("the preface of HTTP/2 is refused", () => answersWith(400, () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  test("an upgrade to two things at once is none", () => answersWith(426, (q) => handshake(q, { upgrade: "h2c" })));
  test("a request without a Host is refused", () => answersWith(400, (q) => handshake(q, { Host: undefined })));
  test("a TLS hello is refused", () =>
    answersWith(400, () => `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${"a".repeat(500)}`));
  test("frames before a handshake are refused", () =>
    answersWith(400, () =>
      Buffer.concat(Array<Buffer>(1000).fill(bits({ opcode: OPCODE.ping, payload: PLAIN_PING }))),
    ));
  test("line ends without end are refused", () => answersWith(400, () => "\r\n".repeat(5000)));
});

describe("malformed headers are refused", () => {
  test("2,000 of them", () => answersWith(431, (q) => handshake(q, numbered(2000))));
  test("a head of 129 KiB", () => answersWith(431, (q) => handshake(q, { "X-Big": "a".repeat(129 * 1024) })));
  test("a head of 300 KiB", () => answersWith(431, (q) => handshake(q, { "X-Big": "a".repeat(300 * 1024) })));
  test("a NUL in a value", () => answersWith(400, (q) => handshake(q, { "X-A": "a\0b" })));
  test("a space in a name", () => answersWith(400, (q) => handshake(q, { "X A": "b" })));
  test("a folded line", () => answersWith(400, (q) => handshake(q, { "X-A": "a\r\n b" })));
  test("a length beside chunks", () =>
    answersWith(400, (q) => handshake(q, { "Content-Length": "5", "Transfer-Encoding": "chunked" })));
  test("a negative length", () => answersWith(400, (q) => handshake(q, { "Content-Length": "-5" })));
  test("a length of twenty digits", () => answersWith(400, (q) => handshake(q, { "Content-Length": "9".repeat(20) })));
});

// RFC 6455 4.2.1 asks for more of a handshake; Bun does not. It must be a whole connection then, under all our checks.
describe("taken for a handshake all the same", () => {
  const connects = (request: (query: string) => string): Promise<void> =>
    siege.withstands(async () => {
      await crowd(TIMES, AT_ONCE, async () => {
        const line = siege.keep(await Line.open(siege.url));
        line.write(request(siege.query()));
        await line.hears((received) => received.includes('"welcome"'));
        line.write(bits({ opcode: OPCODE.text, payload: PLAIN_PING }));
        expect(await line.hears((received) => received.includes('"pong"'))).toStartWith("HTTP/1.1 101");
      });
      const forged = siege.keep(await Line.open(siege.url));
      forged.write(request("token=forged"));
      expect(await forged.status()).toBe(401);
    });

  test("HTTP/1.0", () => connects((q) => handshake(q, {}, `GET /v1?${q} HTTP/1.0`)));
  test("no Connection header", () => connects((q) => handshake(q, { Connection: undefined })));
  test("two Host headers", () => connects((q) => handshake(q, { host: "b" })));
});

describe("behind a request", () => {
  test("garbage is refused, and the request still answered", () =>
    siege.withstands(async () => {
      await crowd(TIMES, AT_ONCE, async () => {
        const line = siege.keep(await Line.open(siege.url));
        line.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n\x00\x01garbage\r\n\r\n");
        await line.ended;
        expect(line.received.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
      });
    }));

  test("500 more in the same packet are answered in turn", () =>
    siege.withstands(async () => {
      await crowd(4, 4, async () => {
        const line = siege.keep(await Line.open(siege.url));
        line.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".repeat(500));
        const count = (text: string): number => text.match(/HTTP\/1\.1 200/g)?.length ?? 0;
        expect(count(await line.hears((received) => count(received) === 500))).toBe(500);
      });
    }));

  test.each(["/openapi.json", "/v1"])("10,000 more for %s whose answers nobody reads pile up nowhere", (path) =>
    siege.withstands(async () => {
      const line = siege.keep(await Line.open(siege.url));
      line.socket.pause();
      let most = 0;
      for (let i = 0; i < 5; i++) {
        line.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(2000));
        await Bun.sleep(30);
        most = Math.max(most, siege.rss);
      }
      // The answers together are 370 MB of the one and 6 MB of the other.
      expect(most).toBeLessThan(200e6);
    }),
  );

  test("HTTP in place of frames closes a connection with 1002", () =>
    siege.withstands(async () => {
      await crowd(TIMES, AT_ONCE, async () => {
        const line = siege.keep(await Line.open(siege.url));
        line.write(`${handshake(siege.query())}GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`);
        await line.ended;
        expect(line.received).toStartWith("HTTP/1.1 101");
        expect(line.received).toContain("\x03\xea");
        expect(line.received).not.toContain('{"status"');
      });
    }));

  test("what a body claims to be is not taken for frames", () =>
    siege.withstands(async () => {
      await crowd(TIMES, AT_ONCE, async () => {
        const line = siege.keep(await Line.open(siege.url));
        line.write(`${handshake(siege.query(), { "Content-Length": "21" })}\x81\x8f\0\0\0\0{"type":"ping"}`);
        await line.hears((received) => received.includes('"welcome"'));
        expect(line.received).not.toContain('"pong"');
      });
    }));
});

describe("held open", () => {
  test("500 half-sent heads and 500 silent connections keep nobody out", () =>
    siege.withstands(async () => {
      const half = await crowd(500, 50, async () => {
        const line = siege.keep(await Line.open(siege.url));
        line.write(`GET /v1?${siege.query()} HTTP/1.1\r\nHost: a\r\nUpgr`);
        return line;
      });
      await crowd(500, 50, async () => siege.keep(await Line.open(siege.url)));
      const wire = await siege.wire();
      expect(await wire.sync()).toEqual([]);
      expect(half.every((line) => line.received === "")).toBe(true);
    }));

  test("with 1,100 connections that are none yet, long heads are refused and ordinary ones connect; then all is as before", async () => {
    const lines = await crowd(1100, 50, async () => siege.keep(await Line.open(siege.url)));
    const status = async (headBytes: number): Promise<number> => {
      const line = await Line.open(siege.url);
      line.write(handshake(siege.query(), { "X-Big": "a".repeat(headBytes) }));
      const answer = await line.status();
      line.drop();
      return answer;
    };
    const eventually = async (expected: number): Promise<void> => {
      const deadline = performance.now() + 10_000;
      while ((await status(100_000)) !== expected && performance.now() < deadline) await Bun.sleep(50);
      expect(await status(100_000)).toBe(expected);
    };
    await eventually(431);
    expect(await status(10_000)).toBe(101);
    for (const line of lines) line.drop();
    await eventually(101);
  });

  test("100 heads that come byte by byte keep nobody out, and the patient ones get in", () =>
    siege.withstands(async () => {
      await crowd(100, 100, async () => {
        const line = siege.keep(await Line.open(siege.url));
        const head = handshake(siege.query());
        // Whole but for its end, which then comes as slowly as somebody can who means harm for a second.
        line.write(head.slice(0, -60));
        for (const byte of head.slice(-60)) {
          line.write(byte);
          await Bun.sleep(8);
        }
        expect(await line.status()).toBe(101);
      });
    }));

  test("bodies that never come keep nobody out", () =>
    siege.withstands(async () => {
      await crowd(200, 50, async () => {
        const line = siege.keep(await Line.open(siege.url));
        line.write("POST /v1/tokens HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n{");
      });
      const wire = await siege.wire();
      expect(await wire.sync()).toEqual([]);
    }));

  test.if(FULL)("half-sent heads are cut in time, also those that go on byte by byte", () =>
    siege.withstands(async () => {
      const half = siege.keep(await Line.open(siege.url));
      half.write("GET /v1 HTTP/1.1\r\nHost: a\r\n");
      const slow = siege.keep(await Line.open(siege.url));
      const head = handshake(siege.query(), { "X-Long": "a".repeat(1000) });
      for (let at = 0; at < 60 && !slow.isOver; at++) {
        slow.write(head[at] ?? "");
        await Bun.sleep(500);
      }
      expect({ half: half.isOver, slow: slow.isOver }).toEqual({ half: true, slow: true });
    }),
  );
});
