import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Server } from "bun";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { STREAM_GRACE_MS, STREAM_MIN_CHARS_PER_SECOND, STREAMS_PER_APP_MAX, STREAMS_PER_NODE_MAX } from "../limits.ts";
import { streamedArray } from "./streamed-array.ts";
import { StreamedResponses } from "./streamed-responses.ts";

const PAGE = 3;
const clock = new FakeClock();
const responses = new StreamedResponses(clock);
let server: Server<undefined>;
let total = 0;
let failAt = Number.POSITIVE_INFINITY;
let read = 0;
let isAllowed = () => true;
const cuts: string[] = [];

async function* pages(): AsyncGenerator<object[], undefined> {
  for (read = 0; ; ) {
    if (read >= failAt) throw new Error("the store is unreachable");
    const page = Array.from({ length: Math.min(PAGE, total - read) }, (_, i) => ({ n: read + i }));
    read += page.length;
    yield page;
    if (page.length < PAGE) return;
  }
}

beforeAll(() => {
  const check = (): void => {
    if (!isAllowed()) throw new Error("not any more");
  };
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const around = request.url.endsWith("/around") ? { before: '{"list":', after: "}" } : undefined;
      const logIncomplete = (error: unknown): void => void cuts.push((error as Error).message);
      return streamedArray({
        pages: pages(),
        write: JSON.stringify,
        pageSize: PAGE,
        check,
        logIncomplete,
        owner: "someone",
        responses,
        ...(around && { around }),
      });
    },
  });
});
afterAll(() => server.stop(true));

const ask = async (path = ""): Promise<unknown> => (await fetch(`${server.url}${path}`)).json();
const upTo = (count: number): object[] => Array.from({ length: count }, (_, n) => ({ n }));

test.each([0, 1, 2, 3, 4, 6, 7, 300, 301])("%d items arrive as one array, complete and in order", async (count) => {
  total = count;
  expect(await ask()).toEqual(upTo(count));
  expect(await ask("around")).toEqual({ list: upTo(count) });
});

test.each([2, 301])("%d items end with a newline, sent whole or in pieces", async (count) => {
  total = count;
  for (const [path, end] of [
    ["", "]\n"],
    ["around", "]}\n"],
  ] as const)
    expect((await (await fetch(`${server.url}${path}`)).text()).slice(-end.length)).toBe(end);
});

test("a page that cannot be read cuts the connection, and its reason is reported once", async () => {
  total = 300;
  failAt = 150;
  await expect(ask()).rejects.toThrow();
  expect(cuts.splice(0)).toEqual(["the store is unreachable"]);
  failAt = Number.POSITIVE_INFINITY;
});

test("a client that may no longer read the list is cut off", async () => {
  total = 300;
  isAllowed = () => read < 100;
  await expect(ask()).rejects.toThrow();
  expect(cuts.splice(0)).toEqual(["not any more"]);
  isAllowed = () => true;
});

test("a list that was read to its end frees its place", () => {
  expect(responses.size).toBe(0);
});

describe("many and slow clients", () => {
  const long = async function* (): AsyncGenerator<string[], undefined> {
    for (let i = 0; i < 100; i++) yield Array.from({ length: PAGE }, () => "x".repeat(100_000));
  };
  let time: FakeClock;
  let own: StreamedResponses;
  let cutReasons: unknown[];
  beforeEach(() => {
    time = new FakeClock();
    own = new StreamedResponses(time);
    cutReasons = [];
  });
  const list = (owner: string, pages = long()): Promise<Response> =>
    streamedArray({
      pages,
      write: JSON.stringify,
      pageSize: PAGE,
      check: () => undefined,
      logIncomplete: (error) => cutReasons.push(error),
      owner,
      responses: own,
    });
  const readerOf = async (owner: string, pages = long()) => {
    const reader = (await list(owner, pages)).body?.getReader();
    if (!reader) throw new Error("it has no body");
    return reader;
  };

  test("a credential over its limit of concurrent lists gets 429 until one has ended", async () => {
    const readers = [];
    for (let i = 0; i < STREAMS_PER_APP_MAX; i++) readers.push(await readerOf("one"));
    const refused = await list("one").catch((problem: unknown) => problem);
    expect(refused).toMatchObject({ code: "rate_limited", retryAfterSeconds: 1 });
    await readerOf("other");
    await readers[0]?.cancel();
    await readerOf("one");
    expect(own.size).toBe(STREAMS_PER_APP_MAX + 1);
  });

  test("a node has a limit of concurrent lists, across all credentials", async () => {
    for (let i = 0; i < STREAMS_PER_NODE_MAX; i++) await readerOf(String(i));
    await expect(list("one more")).rejects.toMatchObject({ code: "rate_limited" });
  });

  test("pieces are small, however large a page is", async () => {
    const reader = await readerOf("one");
    for (let i = 0; i < 20; i++) expect(String((await reader.read()).value).length).toBeLessThan(130_000);
  });

  test("a single page that is very long is sent in pieces too, and takes a place", async () => {
    const page = ["x".repeat(300_000), "y"];
    const onePage = async function* (): AsyncGenerator<string[], undefined> {
      yield page;
    };
    const response = await list("one", onePage());
    expect(own.size).toBe(1);
    expect(await response.json()).toEqual(page);
    expect(own.size).toBe(0);
  });

  test("a page is read from the store only when the client has read the pages before it", async () => {
    let pagesRead = 0;
    const counted = async function* (): AsyncGenerator<string[], undefined> {
      for await (const page of long()) {
        pagesRead++;
        yield page;
      }
    };
    const reader = await readerOf("one", counted());
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(pagesRead).toBe(1);
    for (let i = 0; i <= PAGE; i++) await reader.read();
    expect(pagesRead).toBe(2);
  });

  test.each(["disconnects", "is cut off"])("no further page is read once the client %s", async (how) => {
    const ended = Promise.withResolvers<void>();
    const ending = async function* (): AsyncGenerator<string[], undefined> {
      try {
        yield* long();
      } finally {
        ended.resolve();
      }
    };
    const reader = await readerOf("one", ending());
    await reader.read();
    if (how === "disconnects") await reader.cancel();
    else time.advance(2 * STREAM_GRACE_MS);
    await ended.promise;
    expect(own.size).toBe(0);
  });

  test("a page that cannot be read after its client was cut off is not reported", async () => {
    const requested = Promise.withResolvers<void>();
    const store = Promise.withResolvers<never>();
    const failing = async function* (): AsyncGenerator<string[], undefined> {
      yield Array.from({ length: PAGE }, () => "x");
      requested.resolve();
      yield await store.promise;
    };
    const reader = await readerOf("one", failing());
    await reader.read();
    const next = reader.read();
    await requested.promise;
    time.advance(2 * STREAM_GRACE_MS);
    await expect(next).rejects.toBeUndefined();
    store.reject(new Error("the store is unreachable"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(cutReasons.map((one) => (one as Error).message)).toEqual(["The list was read too slowly."]);
  });

  test("a client that reads too slowly is cut off after its grace period, and its place is free", async () => {
    const reader = await readerOf("one");
    await reader.read();
    time.advance(STREAM_GRACE_MS - 1000);
    expect(cutReasons).toEqual([]);
    time.advance(5000);
    expect(cutReasons).toHaveLength(1);
    expect(own.size).toBe(0);
    await expect(reader.read()).rejects.toBeUndefined();
    time.advance(10_000);
    expect(time.waiting).toBe(0);
  });

  test("a client that reads a piece from time to time, but too few, is cut off", async () => {
    const reader = await readerOf("one");
    let chars = 0;
    for (let ms = 0; ms < 2 * STREAM_GRACE_MS && cutReasons.length === 0; ms += STREAM_GRACE_MS / 4) {
      chars += String((await reader.read()).value).length;
      time.advance(STREAM_GRACE_MS / 4);
    }
    expect(cutReasons).toHaveLength(1);
    expect(chars).toBeLessThan((2 * STREAM_GRACE_MS * STREAM_MIN_CHARS_PER_SECOND) / 1000);
  });

  test("a fault while one client is cut off does not prevent that the others are", () => {
    const cut: string[] = [];
    own.begin("one", () => {
      throw new Error("planted");
    });
    own.begin("other", () => cut.push("other"));
    expect(() => time.advance(2 * STREAM_GRACE_MS)).toThrow("planted");
    time.advance(2000);
    expect([cut, own.size]).toEqual([["other"], 0]);
  });

  test("a client that reads fast enough is not cut off", async () => {
    const reader = await readerOf("one");
    for (let i = 0; i < 50; i++) {
      const { value } = await reader.read();
      time.advance((String(value).length / STREAM_MIN_CHARS_PER_SECOND) * 1000);
    }
    expect([cutReasons, own.size]).toEqual([[], 1]);
  });
});
