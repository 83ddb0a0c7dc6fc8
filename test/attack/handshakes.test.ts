/** Invalid handshakes: refused, held open, or cut off, while other clients continue. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { PLAIN_PING } from "../../src/protocol/frames.ts";
import { until } from "../support/wait.ts";
import { bits, OPCODE } from "../support/wire/frames.ts";
import { handshake, RawConnection } from "./support/connection.ts";
import { crowd, FULL, Siege } from "./support/siege.ts";

setDefaultTimeout(150_000);

/** How many times each malformed handshake is sent in one attack. */
const TIMES = FULL ? 20 : 5;
const AT_ONCE = 20;
/** The attacks' own times. */
const BATCH_EVERY_MS = 30;
/** The last 60 bytes of a head take half a second. */
const BYTE_EVERY_MS = 8;
/** A head takes minutes. */
const SLOW_BYTE_EVERY_MS = 500;

let siege: Siege;
beforeAll(async () => {
  siege = await Siege.start();
});
afterAll(() => siege.stop());

/** Expects this status for each of many attempts. 0: the connection is closed without a response. */
async function answersWith(status: number, request: (query: string) => string | Uint8Array): Promise<void> {
  await siege.withstands(async () => {
    const statuses = await crowd(TIMES, AT_ONCE, async () => {
      const connection = siege.keep(await RawConnection.open(siege.url));
      connection.write(request(siege.query()));
      const answer = await connection.status();
      connection.drop();
      return answer;
    });
    expect([...new Set(statuses)]).toEqual([status]);
  });
}

const numbered = (count: number, value = "v"): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`X-${i}`, value]));

describe("the key of a handshake", () => {
  test("must be present", () => answersWith(400, (q) => handshake(q, { "Sec-WebSocket-Key": undefined })));
  test("must not be empty", () => answersWith(400, (q) => handshake(q, { "Sec-WebSocket-Key": "" })));
  test("must not be too short", () => answersWith(400, (q) => handshake(q, { "Sec-WebSocket-Key": "abc" })));
  test("must not be too long", () => answersWith(400, (q) => handshake(q, { "Sec-WebSocket-Key": "A".repeat(1000) })));
  test("must be base64", () => answersWith(400, (q) => handshake(q, { "Sec-WebSocket-Key": `${"!".repeat(22)}==` })));
  test("must occur once", () =>
    answersWith(400, (q) => handshake(q, { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" })));
});

describe("the version of a handshake", () => {
  test("must be present", () => answersWith(426, (q) => handshake(q, { "Sec-WebSocket-Version": undefined })));
  test("must be 13", () => answersWith(426, (q) => handshake(q, { "Sec-WebSocket-Version": "8" })));
  test("must occur once", () => answersWith(426, (q) => handshake(q, { "sec-websocket-version": "8" })));

  test("is named in the response to a wrong one", async () => {
    const connection = siege.keep(await RawConnection.open(siege.url));
    connection.write(handshake(siege.query(), { "Sec-WebSocket-Version": "8" }));
    const [head = "", body = ""] = (await connection.hears((received) => received.includes("}"))).split("\r\n\r\n");
    connection.drop();
    expect(head).toMatch(/^sec-websocket-version: 13$/im);
    expect(JSON.parse(body)).toEqual({
      error: "upgrade_required",
      message: expect.stringContaining("WebSocket version 13"),
    });
  });
});

describe("a request that is not a handshake", () => {
  test("POST is refused", () =>
    answersWith(405, (q) => handshake(q, { "Content-Length": "0" }, `POST /v1?${q} HTTP/1.1`)));
  test("an unknown method ends the connection", () =>
    answersWith(0, (q) => handshake(q, {}, `BREW /v1?${q} HTTP/1.1`)));
  test("HTTP/0.9 is refused", () => answersWith(505, (q) => `GET /v1?${q}\r\n\r\n`));
  test("HTTP/2.0 is refused", () => answersWith(505, (q) => handshake(q, {}, `GET /v1?${q} HTTP/2.0`)));
  test("the preface of HTTP/2 is refused", () => answersWith(400, () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  test("an upgrade to two protocols at once is refused", () =>
    answersWith(426, (q) => handshake(q, { upgrade: "h2c" })));
  test("a request without a Host is refused", () => answersWith(400, (q) => handshake(q, { Host: undefined })));
  test("two Host headers are refused", () => answersWith(400, (q) => handshake(q, { host: "b" })));
  test("a TLS hello is refused", () =>
    answersWith(400, () => `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${"a".repeat(500)}`));
  test("frames before a handshake are refused", () =>
    answersWith(400, () =>
      Buffer.concat(Array<Buffer>(1000).fill(bits({ opcode: OPCODE.ping, payload: PLAIN_PING }))),
    ));
  test("an endless run of line breaks is refused", () => answersWith(400, () => "\r\n".repeat(5000)));
});

// The runtime would decode and normalise such a name, which takes more than a second.
describe("a Host header full of combining marks is refused", () => {
  const HOST = `a${"%CC%81".repeat(8000)}${"%CC%96".repeat(8000)}`;
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`;

  test("with a handshake", () => answersWith(400, (q) => handshake(q, { Host: HOST })));
  for (const path of ["/v1", "/healthz", "/readyz", "/docs/tour", "/v1/channels/a//b", "/api/v1/rooms", "/none"])
    test(`with GET ${path}`, () => answersWith(400, () => get(path)));
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

// RFC 6455 4.2.1 requires more of a handshake than Bun checks. Such a connection must still pass all our own checks.
describe("incomplete handshakes that are accepted", () => {
  const connects = (request: (query: string) => string): Promise<void> =>
    siege.withstands(async () => {
      await crowd(TIMES, AT_ONCE, async () => {
        const connection = siege.keep(await RawConnection.open(siege.url));
        connection.write(request(siege.query()));
        await connection.hears((received) => received.includes('"welcome"'));
        connection.write(bits({ opcode: OPCODE.text, payload: PLAIN_PING }));
        expect(await connection.hears((received) => received.includes('"pong"'))).toStartWith("HTTP/1.1 101");
      });
      const forged = siege.keep(await RawConnection.open(siege.url));
      forged.write(request("token=forged"));
      expect(await forged.status()).toBe(401);
    });

  test("HTTP/1.0", () => connects((q) => handshake(q, {}, `GET /v1?${q} HTTP/1.0`)));
  test("no Connection header", () => connects((q) => handshake(q, { Connection: undefined })));
});

describe("after a request", () => {
  test("garbage is refused, and the request is still answered", () =>
    siege.withstands(async () => {
      await crowd(TIMES, AT_ONCE, async () => {
        const connection = siege.keep(await RawConnection.open(siege.url));
        connection.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n\x00\x01garbage\r\n\r\n");
        await connection.ended;
        expect(connection.received.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
      });
    }));

  test("a few more in the same packet are answered in order", () =>
    siege.withstands(async () => {
      await crowd(4, 4, async () => {
        const connection = siege.keep(await RawConnection.open(siege.url));
        connection.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".repeat(16));
        const count = (text: string): number => text.match(/HTTP\/1\.1 200/g)?.length ?? 0;
        expect(count(await connection.hears((received) => count(received) === 16))).toBe(16);
      });
    }));

  test.each(["/openapi.json", "/v1"])("10,000 more for %s whose responses are not read do not fill memory", (path) =>
    siege.withstands(async () => {
      const connection = siege.keep(await RawConnection.open(siege.url));
      connection.socket.pause();
      let most = 0;
      for (let i = 0; i < 5; i++) {
        connection.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(2000));
        await Bun.sleep(BATCH_EVERY_MS);
        most = Math.max(most, siege.rss);
      }
      // The responses together are 370 MB for the one path and 6 MB for the other.
      expect(most).toBeLessThan(200e6);
    }),
  );

  test("HTTP instead of frames closes a connection with 1002", () =>
    siege.withstands(async () => {
      await crowd(TIMES, AT_ONCE, async () => {
        const connection = siege.keep(await RawConnection.open(siege.url));
        connection.write(`${handshake(siege.query())}GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`);
        await connection.ended;
        expect(connection.received).toStartWith("HTTP/1.1 101");
        expect(connection.received).toContain("\x03\xea");
        expect(connection.received).not.toContain('{"status"');
      });
    }));

  test("a request body that looks like frames is not read as frames", () =>
    siege.withstands(async () => {
      await crowd(TIMES, AT_ONCE, async () => {
        const connection = siege.keep(await RawConnection.open(siege.url));
        connection.write(`${handshake(siege.query(), { "Content-Length": "21" })}\x81\x8f\0\0\0\0{"type":"ping"}`);
        await connection.hears((received) => received.includes('"welcome"'));
        expect(connection.received).not.toContain('"pong"');
      });
    }));
});

describe("held open", () => {
  test("500 incomplete heads and 500 silent connections block no other client", () =>
    siege.withstands(async () => {
      const half = await crowd(500, 50, async () => {
        const connection = siege.keep(await RawConnection.open(siege.url));
        connection.write(`GET /v1?${siege.query()} HTTP/1.1\r\nHost: a\r\nUpgr`);
        return connection;
      });
      await crowd(500, 50, async () => siege.keep(await RawConnection.open(siege.url)));
      const wire = await siege.wire();
      expect(await wire.sync()).toEqual([]);
      expect(half.every((connection) => connection.received === "")).toBe(true);
    }));

  test("with 1,100 unfinished connections, long heads are refused and ordinary ones connect; afterwards all heads are accepted", async () => {
    const connections = await crowd(1100, 50, async () => siege.keep(await RawConnection.open(siege.url)));
    const status = async (headBytes: number): Promise<number> => {
      const connection = await RawConnection.open(siege.url);
      connection.write(handshake(siege.query(), { "X-Big": "a".repeat(headBytes) }));
      const answer = await connection.status();
      connection.drop();
      return answer;
    };
    const eventually = (expected: number): Promise<unknown> =>
      until(`a long head is answered with ${expected}`, async () => (await status(100_000)) === expected, 10_000);
    await eventually(431);
    expect(await status(10_000)).toBe(101);
    for (const connection of connections) connection.drop();
    await eventually(101);
  });

  test("100 heads sent byte by byte block no other client, and still connect", () =>
    siege.withstands(async () => {
      await crowd(100, 100, async () => {
        const connection = siege.keep(await RawConnection.open(siege.url));
        const head = handshake(siege.query());
        // Complete except for its end, which is then sent as slowly as an attacker could within a second.
        connection.write(head.slice(0, -60));
        for (const byte of head.slice(-60)) {
          connection.write(byte);
          await Bun.sleep(BYTE_EVERY_MS);
        }
        expect(await connection.status()).toBe(101);
      });
    }));

  test("bodies that never arrive block no other client", () =>
    siege.withstands(async () => {
      await crowd(200, 50, async () => {
        const connection = siege.keep(await RawConnection.open(siege.url));
        connection.write("POST /v1/tokens HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n{");
      });
      const wire = await siege.wire();
      expect(await wire.sync()).toEqual([]);
    }));

  test.if(FULL)("incomplete heads are closed in time, also those that continue byte by byte", () =>
    siege.withstands(async () => {
      const half = siege.keep(await RawConnection.open(siege.url));
      half.write("GET /v1 HTTP/1.1\r\nHost: a\r\n");
      const slow = siege.keep(await RawConnection.open(siege.url));
      const head = handshake(siege.query(), { "X-Long": "a".repeat(1000) });
      for (let at = 0; at < 60 && !slow.isOver; at++) {
        slow.write(head[at] ?? "");
        await Bun.sleep(SLOW_BYTE_EVERY_MS);
      }
      expect({ half: half.isOver, slow: slow.isOver }).toEqual({ half: true, slow: true });
    }),
  );
});

describe("requests that do not wait for their answers", () => {
  const host = "Host: localhost\r\n\r\n";
  const refused = handshake("").replace(/ \S+ /, " /v1 ");
  for (const [what, request] of [
    ["an unknown path", `GET /x HTTP/1.1\r\n${host}`],
    ["a health check", `GET /healthz HTTP/1.1\r\n${host}`],
    ["a host that is none", "GET /x HTTP/1.1\r\nHost: a b\r\n\r\n"],
    ["a call without a credential", `GET /v1/usage HTTP/1.1\r\n${host}`],
    ["a handshake without a credential", refused],
  ] as const)
    test(`have an end: ${what}`, () =>
      siege.withstands(async () => {
        const connection = siege.keep(await RawConnection.open(siege.url));
        connection.write(request.repeat(3000));
        await connection.ended;
        const answers = connection.received.match(/HTTP\/1\.1 \d+/g) ?? [];
        // What was read in one turn: 16, or a few more beside requests of others. An answer that has to wait ends the connection, too.
        expect(answers.length).toBeWithin(1, 200);
      }));
});
