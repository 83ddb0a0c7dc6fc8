import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { FakeClock, turned } from "../testing/clock.ts";
import { FakeEvents } from "../testing/events.ts";
import { HttpLink } from "./http-link.ts";

const realFetch = globalThis.fetch;
let clock: FakeClock;
let events: FakeEvents;
beforeEach(() => {
  clock = new FakeClock().install();
  events = new FakeEvents().install();
});
afterEach(() => {
  clock.restore();
  globalThis.fetch = realFetch;
});

const WELCOME = { type: "welcome", peerId: "me", session: "s1" };

interface Seen {
  readonly link: HttpLink;
  readonly frames: string[];
  readonly closings: object[];
}

function opened(url = "wss://service/v1?token=t"): Seen {
  const link = new HttpLink(url);
  const frames: string[] = [];
  const closings: object[] = [];
  link.onmessage = ({ data }) => frames.push(data);
  link.onclose = (closing) => closings.push(closing);
  return { link, frames, closings };
}

async function welcomed(): Promise<Seen> {
  const seen = opened();
  await turned();
  events.stream.frames(WELCOME);
  await turned();
  return seen;
}

const numbers = (): number[] => events.posts.map(({ n }) => n);

describe("frames of the service", () => {
  test("come as they are, the welcome with its session, from the address of the WebSocket", async () => {
    const { link, frames } = opened("wss://service/base/v1/?token=a%20b");
    let opens = 0;
    link.onopen = () => opens++;
    await turned();
    expect([opens, link.readyState]).toEqual([1, 1]);
    expect(events.stream.url).toBe("https://service/base/v1/events?token=a%20b");
    events.stream.frames(WELCOME, { type: "pong" });
    await turned();
    expect(frames).toEqual([JSON.stringify(WELCOME), '{"type":"pong"}']);
  });

  test("come whole, wherever the network cuts them, and with every character", async () => {
    const { frames } = await welcomed();
    const text = JSON.stringify({ type: "message", data: "ä\u2028😀: data:" });
    for (const byte of new TextEncoder().encode(`:\r\n\r\ndata:${text}\n\n`)) {
      events.stream.write(new Uint8Array([byte]));
      await turned();
    }
    expect(frames.slice(1)).toEqual([text]);
  });

  test("come in a task each: what one has caused is done before the next", async () => {
    const { link } = await welcomed();
    const order: string[] = [];
    link.onmessage = async ({ data }) => {
      order.push(data);
      for (let step = 0; step < 20; step++) await null;
      order.push("done");
    };
    events.stream.write("data:1\n\ndata:2\n\n");
    await turned();
    expect(order).toEqual(["1", "done", "2", "done"]);
  });
});

describe("frames of the client", () => {
  test("wait for the welcome, and those of one turn go together, a line each", async () => {
    const { link } = opened();
    link.send('{"type":"a"}');
    await turned();
    expect(events.posts).toEqual([]);
    events.stream.frames(WELCOME);
    await turned();
    link.send('{\r\n"type":"b"}');
    link.send('{"type":"c"}');
    expect(link.unsent).toHaveLength(2);
    await turned();
    expect(events.posts.map(({ n, session, text }) => [n, session, text])).toEqual([
      [1, "s1", '{"type":"a"}'],
      [2, "s1", '{  "type":"b"}\n{"type":"c"}'],
    ]);
    expect(link.unsent).toEqual([]);
  });

  test("go one batch at a time: 64 frames at most, and no more than 256 KiB", async () => {
    const { link } = await welcomed();
    let answer: (response: Response) => void = () => undefined;
    events.answer = () => new Promise((resolve) => (answer = resolve));
    for (let at = 0; at < 100; at++) link.send(JSON.stringify({ type: "a", at }));
    for (let at = 0; at < 5; at++) link.send(JSON.stringify({ type: "b", at, data: "€".repeat(60_000) }));
    const sizes: number[] = [];
    for (let batch = 1; link.unsent.length > 0; batch++) {
      await turned();
      expect(numbers()).toEqual(Array.from({ length: batch }, (_, at) => at + 1));
      const { text = "" } = events.posts.at(-1) ?? {};
      expect(new TextEncoder().encode(text).length).toBeLessThanOrEqual(262_144);
      sizes.push(text.split("\n").length);
      answer(new Response(null, { status: 204 }));
      await turned();
    }
    expect(sizes).toEqual([64, 37, 1, 1, 1, 1]);
    expect(events.stream.sent.map(({ at }) => at)).toEqual([...Array(100).keys(), ...Array(5).keys()]);
  });

  test.each([
    ["a network error", () => Promise.reject(new TypeError("failed"))],
    ["503", () => new Response("", { status: 503 })],
    ["502", () => new Response("<html>", { status: 502 })],
    ["429", () => new Response("", { status: 429 })],
  ])("are repeated after %s with the same number, for as long as the service waits", async (_, fails) => {
    const { link, closings } = await welcomed();
    const { answer } = events;
    events.answer = fails;
    link.send('{"type":"a"}');
    await turned();
    link.send('{"type":"b"}');
    while (events.posts.length < 6) {
      await clock.advance(1000);
      await turned();
    }
    expect(events.posts.every(({ n, text }) => n === 1 && text === '{"type":"a"}')).toBe(true);
    events.answer = answer;
    events.stream.comment();
    await turned();
    await clock.advance(10_000);
    await turned();
    expect(numbers().slice(-2)).toEqual([1, 2]);
    expect(closings).toEqual([]);
  });

  test("that cannot be sent for a minute end the connection", async () => {
    const { link, closings } = await welcomed();
    events.answer = () => Promise.reject(new TypeError("failed"));
    link.send('{"type":"a"}');
    for (let seconds = 0; closings.length === 0; seconds++) {
      expect(seconds).toBeLessThan(75);
      events.stream.comment();
      await turned();
      await clock.advance(1000);
      await turned();
    }
    expect(closings).toEqual([{ code: 1006, reason: "timeout" }]);
  });

  test.each([
    [404, "not_found"],
    [409, "conflict"],
    [413, "too_large"],
  ])("that are refused with %i end the connection, which says why", async (status, error) => {
    const { link, closings } = await welcomed();
    events.answer = () => Response.json({ error }, { status });
    link.send('{"type":"a"}');
    await turned();
    await clock.advance(1000);
    await turned();
    expect(closings).toEqual([{ code: 1006, reason: `${status} {"error":"${error}"}` }]);
    expect([events.posts.length, events.stream.isAborted]).toEqual([1, true]);
  });

  test("to a connection that the service has closed: its close comes first", async () => {
    const { link, closings } = await welcomed();
    events.answer = () => new Response("", { status: 404 });
    link.send('{"type":"a"}');
    await turned();
    events.stream.close(4020, "kicked");
    await turned();
    await clock.advance(5000);
    expect(closings).toEqual([{ code: 4020, reason: "kicked" }]);
  });
});

describe("staying connected", () => {
  test("it pings when it has sent nothing for 25 s, also where timers are late", async () => {
    await welcomed();
    for (const pings of [0, 1, 1, 2]) {
      clock.freeze(15_000);
      events.stream.comment();
      await turned();
      expect(events.stream.of("ping")).toHaveLength(pings);
    }
  });

  test("40 s without a byte end it; a comment is one", async () => {
    const { closings } = await welcomed();
    await clock.advance(39_000);
    events.stream.comment();
    await turned();
    await clock.advance(39_000);
    expect(closings).toEqual([]);
    await clock.advance(1000);
    await turned();
    expect(closings).toEqual([{ code: 1006, reason: "silent for too long" }]);
    expect(events.stream.isAborted).toBe(true);
  });

  test("so does an attempt that is not answered", async () => {
    Object.assign(globalThis, { fetch: () => new Promise(() => undefined) });
    const { closings } = opened();
    await clock.advance(40_000);
    await turned();
    expect(closings).toEqual([{ code: 1006, reason: "silent for too long" }]);
  });
});

describe("the end", () => {
  test("has the code and reason of the service, behind all frames", async () => {
    const { frames, closings, link } = await welcomed();
    events.stream.frames({ type: "error", code: "token_expired" });
    events.stream.close(4002, "token expired");
    await turned();
    expect(frames).toHaveLength(2);
    expect(closings).toEqual([{ code: 4002, reason: "token expired" }]);
    link.send("{}");
    await turned();
    expect([link.readyState, link.unsent, clock.waiting]).toEqual([3, [], 0]);
  });

  test("of a stream without a close is 1006, once", async () => {
    const { closings, link } = await welcomed();
    events.stream.end();
    await turned();
    void link.close();
    await turned();
    expect(closings).toEqual([{ code: 1006, reason: "" }]);
    expect(clock.waiting).toBe(0);
  });

  test("of a refused attempt is 1006 with the answer", async () => {
    events.refusal = () => Response.json({ error: "unauthorized" }, { status: 401 });
    const { closings } = opened();
    await turned();
    expect(closings).toEqual([{ code: 1006, reason: '401 {"error":"unauthorized"}' }]);
  });

  test("by close() is a goodbye behind everything that was sent, also from a page that is being closed", async () => {
    const { link, closings, frames } = await welcomed();
    link.send('{"type":"last"}');
    void link.close(1000, "bye");
    expect(link.readyState).toBe(2);
    events.stream.frames({ type: "pong" });
    await turned();
    expect(events.posts.map(({ n, isBye, keepalive, text }) => [n, isBye, keepalive, text])).toEqual([
      [1, false, false, '{"type":"last"}'],
      [2, true, true, ""],
    ]);
    expect([closings, frames.length]).toEqual([[{ code: 1000, reason: "bye" }], 1]);
    expect([events.stream.isAborted, clock.waiting]).toEqual([true, 0]);
  });

  test("by close() with a code of its own is none", async () => {
    const { link, closings } = await welcomed();
    void link.close(4000);
    await turned();
    expect(events.posts).toEqual([]);
    expect([closings, events.stream.isAborted]).toEqual([[{ code: 4000, reason: "" }], true]);
  });

  test("by close() before the welcome needs no goodbye", async () => {
    const { link, closings } = opened();
    void link.close();
    await turned();
    expect([events.posts, closings, clock.waiting]).toEqual([[], [{ code: 1005, reason: "" }], 0]);
  });
});
