import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { settled } from "../testing/clock.ts";
import { Kit } from "../testing/kit.ts";

let kit: Kit;
beforeEach(() => {
  kit = new Kit();
});
afterEach(() => kit.restore());

const attempts = (): number => kit.service.sockets.length;

describe("coming back", () => {
  test("waits by full jitter, at most 0.5 s at first and 20 s in the end, from the first connect on", async () => {
    kit.client();
    await settled();
    for (const mostMs of [500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]) {
      const before = attempts();
      await kit.service.socket.end();
      await kit.clock.advance(mostMs - 1);
      expect(attempts()).toBe(before);
      await kit.clock.advance(1);
      expect(attempts()).toBe(before + 1);
    }
    kit.clock.random = 0;
    await kit.service.socket.end();
    await kit.clock.advance(0);
    expect(attempts()).toBe(10);
    expect(new Set(kit.statuses)).toEqual(new Set(["connecting unreachable"]));
  });

  test("says how long it waits, and connect() ends the wait, but not one that the service has asked for", async () => {
    const parley = kit.client();
    await settled();
    await kit.service.socket.end();
    expect(parley.status).toMatchObject({ state: "connecting", retryInMs: 500 });
    parley.connect();
    await kit.clock.advance(0);
    expect(attempts()).toBe(2);
    parley.connect();
    expect(attempts()).toBe(2);
    await kit.service.socket.welcome();
    expect(parley.status).toEqual({ state: "connected", transport: "websocket" });
    parley.connect();
    await kit.service.socket.receive({ type: "going_away", retryAfterMs: 3000 });
    await kit.service.socket.end(1001);
    expect(parley.status.retryInMs).toBeGreaterThanOrEqual(3000);
    parley.connect();
    await kit.clock.advance(2999);
    expect(attempts()).toBe(2);
    await kit.clock.advance(1);
    expect(attempts()).toBe(3);
  });

  test("a connection that lasted makes the wait short again, and one that ended at once does not", async () => {
    kit.client();
    await settled();
    for (let failure = 0; failure < 3; failure++) {
      await kit.service.socket.end();
      await kit.comesBack();
    }
    await kit.service.socket.welcome();
    await kit.service.socket.end();
    expect(kit.clock.waits).toContain(4000);
    await kit.comesBack();
    await kit.service.socket.welcome();
    await kit.clock.advance(2001);
    await kit.service.socket.end();
    expect(kit.clock.waits).toContain(500);
  });

  test("waits as long as going_away asks for, and then by jitter", async () => {
    await kit.connected();
    await kit.service.socket.receive({ type: "going_away", retryAfterMs: 3000 });
    await kit.service.socket.end(1001);
    await kit.clock.advance(3499);
    expect(attempts()).toBe(1);
    await kit.clock.advance(1);
    expect(attempts()).toBe(2);
  });

  test("a wait that was asked for is over with the next attempt", async () => {
    await kit.connected();
    await kit.service.socket.receive({ type: "going_away", retryAfterMs: 3000 });
    await kit.service.socket.end(1001);
    await kit.comesBack();
    await kit.clock.advance(15_000);
    await kit.clock.advance(1000);
    expect(attempts()).toBe(3);
  });

  test("a wait that no timer can keep does not become none", async () => {
    await kit.connected();
    await kit.service.socket.receive({ type: "going_away", retryAfterMs: 1e12 });
    await kit.service.socket.end(1001);
    await kit.clock.advance(3_000_000);
    expect(attempts()).toBe(1);
    await kit.clock.advance(601_000);
    expect(attempts()).toBe(2);
  });

  test("a welcome that never comes ends the attempt after 15 s", async () => {
    kit.client();
    await settled();
    await kit.clock.advance(15_000);
    expect(kit.service.socket.closedWith).toBe(4000);
    expect(kit.statuses).toEqual(["connecting unreachable"]);
    await kit.clock.advance(500);
    expect(attempts()).toBe(2);
  });
});

describe("close codes", () => {
  test.each([
    [4001, "key_revoked"],
    [4020, "kicked"],
    [4021, "put_out"],
  ])("%i is final", async (code, name) => {
    const parley = await kit.connected();
    await kit.service.socket.end(code, "reason");
    await kit.clock.advance(100_000);
    expect(kit.statuses).toEqual(["connected", `closed ${name}`]);
    expect(parley.status.error?.message).toContain("reason");
    expect(attempts()).toBe(1);
    expect(kit.clock.waiting).toBe(0);
  });

  test.each([
    [1000, "connection_lost"],
    [1001, "connection_lost"],
    [1006, "connection_lost"],
    [1009, "connection_lost"],
    [1011, "connection_lost"],
    [4002, "token_expired"],
    [4010, "over_connection_limit"],
    [4011, "rate_limited"],
    [4999, "connection_lost"],
  ])("after %i it comes back", async (code, name) => {
    await kit.connected();
    await kit.service.socket.end(code);
    expect(kit.statuses).toEqual(["connected", `reconnecting ${name}`]);
    await kit.comesBack();
    await kit.service.socket.welcome();
    expect(kit.statuses.at(-1)).toBe("connected");
    expect(kit.service.asked).toEqual([]);
  });

  test("the limit of connections closes before the welcome, and is shown as such", async () => {
    const parley = kit.client();
    await settled();
    await kit.service.socket.end(4010, "over concurrent limit");
    expect(parley.status).toMatchObject({ state: "connecting", error: { code: "over_connection_limit" } });
    expect(kit.service.asked).toEqual([]);
    await kit.comesBack();
  });
});

describe("a refused connect", () => {
  test.each([1006, 1002])("is asked for its reason, whatever close code the runtime shows (%i)", async (code) => {
    kit.service.refuses(401, "origin_not_allowed");
    const parley = kit.client();
    await settled();
    await kit.service.socket.end(code);
    expect(kit.service.asked).toEqual(["https://service/v1?key=pk"]);
    expect(parley.status).toMatchObject({
      state: "closed",
      error: { code: "origin_not_allowed", message: "The service refused `key`: because of origin_not_allowed" },
    });
    expect(kit.clock.waiting).toBe(0);
  });

  test("is retried when the service asks for it, even if the network comes back before", async () => {
    kit.service.refuses(503, "internal_error", { "Retry-After": "7" });
    kit.client();
    await settled();
    await kit.service.socket.end();
    expect(kit.statuses).toEqual(["connecting internal_error"]);
    kit.online();
    await kit.clock.advance(6999);
    expect(attempts()).toBe(1);
    await kit.clock.advance(1);
    expect(attempts()).toBe(2);
  });

  test("for a reason that is no object is retried", async () => {
    kit.service.answer = () => new Response("null", { status: 502 });
    kit.client();
    await settled();
    await kit.service.socket.end();
    expect(kit.statuses).toEqual(["connecting unreachable"]);
    await kit.comesBack();
  });

  test("its error does not contain the credential, which runtimes add to theirs", async () => {
    const fails = (url = ""): never => {
      throw Object.assign(new TypeError(`no connection to ${url}`), { path: url });
    };
    kit.service.answer = () => fails(kit.service.asked[0]);
    const refused = kit.client();
    await settled();
    await kit.service.socket.end();
    const Failing = class extends kit.service.WebSocket {
      constructor(url: string) {
        super(url);
        fails(url);
      }
    };
    const invalid = kit.client({ WebSocket: Failing });
    await settled();
    for (const { status } of [refused, invalid]) {
      expect(status.error?.code).toBe("unreachable");
      expect(Bun.inspect(status)).not.toContain("key=pk");
    }
  });

  test("a date is understood too", async () => {
    kit.service.refuses(429, "rate_limited", { "Retry-After": new Date(Date.now() + 9000).toUTCString() });
    kit.client();
    await settled();
    await kit.service.socket.end();
    await kit.clock.advance(7900);
    expect(attempts()).toBe(1);
    await kit.clock.advance(1700);
    expect(attempts()).toBe(2);
  });

  test.each([
    ["an answer of something else", () => new Response("<html>", { status: 502 }), "502"],
    [
      "a service that would accept it",
      () => Response.json({ error: "upgrade_required" }, { status: 426 }),
      "WebSocket",
    ],
  ])("%s is shown, and retried", async (_, answer, text) => {
    kit.service.answer = answer;
    const parley = kit.client();
    await settled();
    await kit.service.socket.end();
    expect(parley.status.error?.code).toBe("unreachable");
    expect(parley.status.error?.message).toContain(text);
    await kit.comesBack();
  });
});

describe("a dead connection", () => {
  test("is noticed by a ping after 25 s of silence, and given up 10 s later without a goodbye", async () => {
    await kit.connected();
    await kit.clock.advance(24_000);
    expect(kit.service.socket.of("ping")).toHaveLength(0);
    await kit.clock.advance(4000);
    expect(kit.service.socket.of("ping")).toHaveLength(1);
    await kit.clock.advance(10_000);
    expect(kit.service.sockets[0]?.closedWith).toBe(4000);
    expect(kit.statuses.at(-1)).toBe("reconnecting connection_lost");
  });

  test("any frame shows that it is alive", async () => {
    await kit.connected();
    for (let round = 0; round < 10; round++) {
      await kit.clock.advance(28_000);
      await kit.service.socket.receive({ type: "pong" });
    }
    expect(attempts()).toBe(1);
    expect(kit.service.socket.of("ping")).toHaveLength(10);
  });

  test("is noticed although someone sets the clock back", async () => {
    await kit.connected();
    kit.clock.setBack(3_600_000);
    await kit.clock.advance(40_000);
    expect(kit.service.sockets[0]?.closedWith).toBe(4000);
  });

  test("after ten minutes of sleep it is given up within 6 s", async () => {
    await kit.connected();
    kit.clock.sleep(600_000);
    await kit.clock.advance(2000);
    expect(kit.service.socket.of("ping")).toHaveLength(1);
    await kit.clock.advance(4000);
    expect(kit.service.sockets[0]?.closedWith).toBe(4000);
    await kit.clock.advance(500);
    expect(attempts()).toBe(2);
  });

  test("a frozen page does not judge by a ping of before: the pong may wait to be read", async () => {
    await kit.connected();
    await kit.clock.advance(1000);
    kit.online();
    // The ping is due before the next look.
    await kit.clock.advance(3500);
    kit.clock.freeze(60_000);
    await kit.clock.advance(0);
    expect(kit.service.socket.closedWith).toBeUndefined();
    await kit.service.socket.receive({ type: "pong" });
    await kit.clock.advance(20_000);
    expect(attempts()).toBe(1);
  });
});

describe("waking", () => {
  const hidden = Object.assign(new EventTarget(), { visibilityState: "hidden" });
  const page = Object.assign(new EventTarget(), { visibilityState: "visible" });
  afterEach(() => {
    Reflect.deleteProperty(globalThis, "document");
  });

  test.each([
    ["online", () => kit.online()],
    ["visibilitychange", () => page.dispatchEvent(new Event("visibilitychange"))],
  ])("%s: pings a connection, and gives it up after 4 s", async (_, happens) => {
    Object.assign(globalThis, { document: page });
    await kit.connected();
    happens();
    expect(kit.service.socket.of("ping")).toHaveLength(1);
    await kit.clock.advance(4000);
    expect(kit.service.sockets[0]?.closedWith).toBe(4000);
    // It does not wait for the jitter either.
    happens();
    await kit.clock.advance(0);
    expect(attempts()).toBe(2);
  });

  test("a page that is hidden wakes nothing", async () => {
    Object.assign(globalThis, { document: hidden });
    await kit.connected();
    hidden.dispatchEvent(new Event("visibilitychange"));
    expect(kit.service.socket.of("ping")).toHaveLength(0);
  });

  test("sleep ends the wait for the next attempt", async () => {
    kit.client();
    await settled();
    for (let failure = 0; failure < 6; failure++) {
      await kit.service.socket.end();
      await kit.comesBack();
    }
    await kit.service.socket.end();
    kit.clock.sleep(600_000);
    await kit.clock.advance(2000);
    expect(attempts()).toBe(8);
    // And the waits begin anew: the network may need a moment.
    await kit.service.socket.end();
    await kit.clock.advance(500);
    expect(attempts()).toBe(9);
  });
});
