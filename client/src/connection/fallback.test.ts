/** HTTP where something on the way blocks WebSockets, and the way back. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { OfflineQueue } from "../queue.ts";
import { settled, turned } from "../testing/clock.ts";
import { FakeEvents } from "../testing/events.ts";
import { Kit } from "../testing/kit.ts";
import { welcomeFrame } from "../testing/service.ts";

let kit: Kit;
let events: FakeEvents;
beforeEach(() => {
  kit = new Kit();
  events = FakeEvents.in(kit.service);
  upgradesFail();
});
afterEach(() => kit.restore());

const AUTO = { transport: "auto" } as const;
const TOKEN = { ...AUTO, token: () => "t" };

const upgradesFail = (): void => {
  kit.service.answer = () => Response.json({ error: "upgrade_required", message: "" }, { status: 426 });
};
const sockets = (): number => kit.service.sockets.length;

const welcomedOverHttp = async (fields: object = {}): Promise<void> => {
  await turned();
  events.stream.frames({ ...welcomeFrame(fields), session: `s${events.streams.length}` });
  await turned();
};

/** A client whose WebSocket was blocked. */
async function fallen(options: object = TOKEN): Promise<ReturnType<Kit["client"]>> {
  const parley = kit.client(options);
  await settled();
  await kit.service.socket.end();
  await welcomedOverHttp();
  return parley;
}

describe("a WebSocket that is blocked", () => {
  test.each([TOKEN, AUTO])("is replaced by HTTP at once, without an error", async (options) => {
    const parley = await fallen(options);
    expect(kit.statuses).toEqual(["connected"]);
    expect(parley.status).toEqual({ state: "connected", transport: "http" });
    expect([sockets(), events.streams.length]).toEqual([1, 1]);
    expect(events.stream.url).toMatch(/^https:\/\/service\/v1\/events\?(token=t|key=pk)$/);
    const published = parley.channel("chat").publish("hello");
    await turned();
    expect(events.stream.of("publish")).toMatchObject([{ channel: "chat", data: "hello" }]);
    events.stream.frames(events.stream.ackOf("publish"));
    await published;
  });

  test("and never gets its welcome counts as one, after 15 s", async () => {
    kit.client(AUTO);
    await settled();
    await kit.clock.advance(15_000);
    expect(kit.service.socket.closedWith).toBe(4000);
    await welcomedOverHttp();
    expect(kit.statuses).toEqual(["connected"]);
  });

  test("is not tried by the next clients of that service, for ten minutes", async () => {
    const first = await fallen(AUTO);
    first.close();
    const second = kit.client(AUTO);
    await welcomedOverHttp();
    expect([sockets(), events.streams.length]).toEqual([1, 2]);
    second.close();
    await kit.clock.advance(600_000);
    kit.client(AUTO);
    await settled();
    expect(sockets()).toBe(2);
  });

  test("is tried again if HTTP fails, too", async () => {
    events.refusal = () => Response.json({ error: "not_found", message: "" }, { status: 404 });
    const parley = kit.client(AUTO);
    await settled();
    await kit.service.socket.end();
    await turned();
    expect(parley.status).toMatchObject({ state: "connecting", error: { code: "unreachable" }, retryInMs: 500 });
    await kit.clock.advance(500);
    expect(sockets()).toBe(2);
  });

  test("is final with `websocket`, and not tried with `http`", async () => {
    const parley = kit.client({ transport: "websocket" });
    await settled();
    await kit.service.socket.end();
    await turned();
    expect([parley.status.error?.code, events.streams.length]).toEqual(["unreachable", 0]);
    kit.client({ transport: "http" });
    await welcomedOverHttp();
    expect([sockets(), kit.statuses.at(-1)]).toEqual([1, "connected"]);
  });

  test("changes nothing for a client that is closed meanwhile", async () => {
    let answer: (response: Response) => void = () => undefined;
    kit.service.answer = () => new Promise((resolve) => (answer = resolve));
    const parley = kit.client(AUTO);
    await settled();
    await kit.service.socket.end();
    parley.close();
    answer(Response.json({ error: "upgrade_required" }, { status: 426 }));
    await turned();
    expect([sockets(), events.streams.length, kit.clock.waiting]).toEqual([1, 0, 0]);
  });

  test("a refused credential ends the client, over HTTP as well", async () => {
    kit.client({ transport: "http" });
    events.refusal = () => Response.json({ error: "unauthorized", message: "no" }, { status: 401 });
    kit.service.refuses(401, "unauthorized");
    await turned();
    expect(kit.statuses).toEqual(["closed unauthorized"]);
  });

  test("a runtime without WebSocket uses HTTP", async () => {
    const { WebSocket } = globalThis;
    Reflect.deleteProperty(globalThis, "WebSocket");
    try {
      const parley = kit.client({ ...AUTO, WebSocket: undefined });
      await welcomedOverHttp();
      expect(parley.status.transport).toBe("http");
    } finally {
      Object.assign(globalThis, { WebSocket });
    }
  });
});

describe("WebSockets that are cut", () => {
  test("within 10 s, three in a row, are blocked ones", async () => {
    await kit.connected(AUTO);
    for (let cut = 0; cut < 2; cut++) {
      await kit.clock.advance(9000);
      await kit.reconnected();
    }
    await kit.clock.advance(9000);
    await kit.service.socket.end();
    await kit.clock.advance(4000);
    await welcomedOverHttp();
    expect([sockets(), kit.statuses.at(-1)]).toEqual([3, "connected"]);
  });

  test.each([
    ["later", 11_000, 1006],
    ["by the service", 100, 1001],
  ])("%s are not", async (_, afterMs, code) => {
    await kit.connected(AUTO);
    for (let cut = 0; cut < 5; cut++) {
      await kit.clock.advance(afterMs);
      await kit.reconnected(code);
    }
    expect([sockets(), events.streams.length]).toEqual([6, 0]);
  });
});

describe("back to a WebSocket", () => {
  const tried = async (): Promise<void> => {
    kit.online();
    events.stream.frames({ type: "pong" });
    await turned();
  };
  /** After five minutes, give or take one. */
  const triedLater = async (): Promise<void> => {
    const before = sockets();
    let seconds = 0;
    for (; sockets() === before; seconds += 10) {
      await kit.clock.advance(10_000);
      events.stream.frames({ type: "pong" });
      await turned();
    }
    expect(Math.abs(seconds - 300)).toBeLessThanOrEqual(70);
  };
  /** The answer to what the client asks before it changes. */
  const answered = async (): Promise<void> => {
    await turned();
    events.stream.frames({ ...events.stream.ackOf("ping"), type: "pong" });
    await turned();
  };

  test("with a token, after five minutes: subscriptions go on behind the last position, and then the old one says goodbye", async () => {
    const parley = await fallen();
    const seen: unknown[] = [];
    const chat = parley.channel("chat");
    chat.on("message", ({ data }) => seen.push(data));
    chat.on("gap", () => seen.push("gap"));
    await turned();
    const old = events.stream;
    old.frames(old.ackOf("subscribe", { pos: "p0" }), { type: "message", channel: "chat", data: 1, pos: "p1" });
    await triedLater();
    const { socket } = kit.service;
    await socket.welcome({ connection: "c2" });
    await answered();
    expect(parley.status).toEqual({ state: "connected", transport: "websocket" });
    expect(socket.of("subscribe")).toMatchObject([{ channel: "chat", recover: "p1", connection: "c1" }]);
    old.frames({ type: "message", channel: "chat", data: 2, pos: "p2" });
    await turned();
    await socket.ack("subscribe", { pos: "p2", recovered: true, replay: 1 });
    await socket.receive({ type: "message", channel: "chat", data: 2, pos: "p2" });
    expect([seen, old.saysGoodbye]).toEqual([[1, 2], false]);
    await kit.clock.advance(5000);
    await turned();
    expect([old.saysGoodbye, old.isAborted, kit.statuses]).toEqual([true, true, ["connected", "connected"]]);
    // The address is free again.
    await kit.reconnected();
    expect(events.streams).toHaveLength(1);
  });

  test("waits for the answers to what was sent, which come over HTTP", async () => {
    const parley = await fallen();
    const published = parley.channel("chat").publish(1);
    await tried();
    await kit.service.socket.welcome({ connection: "c2" });
    const later = parley
      .channel("chat")
      .publish(2)
      .catch(({ code }) => code);
    await answered();
    expect(parley.status.transport).toBe("http");
    const [first, second] = events.stream.of("publish");
    events.stream.frames({ type: "ack", requestId: first?.requestId });
    events.stream.frames({ type: "ack", requestId: second?.requestId });
    await turned();
    await Promise.all([published, later]);
    expect(parley.status.transport).toBe("websocket");
    expect(kit.service.socket.of("publish")).toEqual([]);
  });

  test("a queue goes on there, in its order", async () => {
    const parley = await fallen({ ...TOKEN, queue: new OfflineQueue() });
    const all = [1, 2, 3].map((data) => parley.channel("chat").publish(data));
    await turned();
    await tried();
    await kit.service.socket.welcome({ connection: "c2" });
    await answered();
    expect(parley.status.transport).toBe("http");
    events.stream.frames(events.stream.ackOf("publish"));
    await turned();
    for (const data of [2, 3]) {
      expect(kit.service.socket.of("publish").at(-1)).toMatchObject({ data });
      await kit.service.socket.ack("publish");
    }
    await Promise.all(all);
    expect(events.stream.of("publish").map(({ data }) => data)).toEqual([1]);
  });

  test("each direct message comes once, whichever connection it came over", async () => {
    const parley = await fallen();
    const seen: unknown[] = [];
    parley.on("direct", ({ data }) => seen.push(data));
    await tried();
    const { socket } = kit.service;
    const direct = (data: number): object => ({ type: "direct", from: "bob", data, id: `d${data}` });
    events.stream.frames(direct(1));
    await turned();
    await socket.receive(welcomeFrame({ connection: "c2" }), direct(2), direct(3));
    events.stream.frames(direct(2));
    await answered();
    await socket.receive(direct(4));
    events.stream.frames(direct(3), direct(4));
    await turned();
    expect(seen).toEqual([1, 2, 3, 4]);
  });

  test("that fails changes nothing, and is tried again", async () => {
    await fallen();
    await tried();
    await kit.service.socket.end();
    await triedLater();
    await kit.clock.advance(15_000);
    expect(kit.service.socket.closedWith).toBe(1000);
    expect([kit.statuses, sockets(), events.streams.length]).toEqual([["connected"], 3, 1]);
  });

  test("is tried at once when the network is back", async () => {
    await fallen();
    kit.online();
    await settled();
    expect(sockets()).toBe(2);
    kit.online();
    await settled();
    expect(sockets()).toBe(2);
  });

  test.each([AUTO, { transport: "http", token: () => "t" }])("is not tried with %o", async (options) => {
    await fallen(AUTO);
    const before = sockets();
    kit.client(options);
    await welcomedOverHttp();
    kit.online();
    for (let seconds = 0; seconds < 600; seconds += 20) {
      for (const stream of events.streams) stream.frames({ type: "pong" });
      await turned();
      await kit.clock.advance(20_000);
    }
    expect([sockets(), kit.statuses]).toEqual([before, ["connected", "connected"]]);
  });

  test("in a room the new connection ends the old one, and the client goes on", async () => {
    const parley = await fallen();
    await tried();
    events.stream.close(4021, "replaced");
    await turned();
    expect(parley.status.state).toBe("reconnecting");
    await kit.service.socket.welcome({ connection: "c2" });
    expect(parley.status).toEqual({ state: "connected", transport: "websocket" });
    expect(events.streams).toHaveLength(1);
  });

  test.each(["before the welcome", "after it", "after the change"])("close() %s ends both", async (when) => {
    const parley = await fallen();
    await tried();
    const { socket } = kit.service;
    if (when !== "before the welcome") await socket.welcome({ connection: "c2" });
    if (when === "after the change") await answered();
    parley.close();
    await turned();
    expect([socket.closedWith, events.stream.saysGoodbye, events.stream.isAborted]).toEqual([1000, true, true]);
    expect(kit.clock.waiting).toBe(0);
  });
});
