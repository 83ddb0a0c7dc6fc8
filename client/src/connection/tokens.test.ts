import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Parley } from "../parley.ts";
import { settled } from "../testing/clock.ts";
import { Kit } from "../testing/kit.ts";

const NOW = 1_700_000_000;
let kit: Kit;
let reasons: string[];
beforeEach(() => {
  kit = new Kit();
  kit.service.answersPings = true;
  reasons = [];
});
afterEach(() => kit.restore());

/** Tokens t1, t2, … */
const token = ({ reason }: { readonly reason: string }): string => `t${reasons.push(reason)}`;

/** Connected with a token of that many seconds. */
async function connectedFor(seconds: number, get = token, features = ["renew"]): Promise<Parley> {
  const parley = kit.client({ token: get });
  await settled();
  await kit.service.socket.welcome({ expiresAt: NOW + seconds, features });
  return parley;
}

describe("for a connect", () => {
  test("one token serves for many, until less than 5 s of it are left", async () => {
    kit.clock.random = 0;
    await connectedFor(3600, token, []);
    for (let round = 0; round < 5; round++) {
      await kit.reconnected(1006, { expiresAt: NOW + 3600, features: [] });
      await kit.clock.advance(6000);
    }
    expect(reasons).toEqual(["connect"]);
    expect(kit.service.socket.url).toBe("wss://service/v1?token=t1");
    await kit.service.socket.end();
    kit.clock.sleep(3_600_000);
    await kit.comesBack();
    expect(reasons).toEqual(["connect", "connect"]);
  });

  test("a token that has ended is not used again because the clock was set back", async () => {
    await connectedFor(3600, token, []);
    await kit.service.socket.end();
    kit.clock.setBack(36_000_000);
    kit.clock.freeze(3_600_000);
    await kit.comesBack();
    expect(reasons).toEqual(["connect", "connect"]);
  });

  test("a function that throws is called again after a wait, and reported", async () => {
    const parley = kit.client({
      token: (request) => {
        if (reasons.length > 0) return token(request);
        reasons.push("failed");
        throw new Error("offline");
      },
    });
    await settled();
    expect(kit.errors).toEqual(["token_failed"]);
    expect(kit.statuses).toEqual(["connecting token_failed"]);
    expect(parley.status.error?.cause).toEqual(new Error("offline"));
    await kit.clock.advance(500);
    expect(kit.service.socket.url).toContain("token=t2");
  });

  test("a function that hangs has failed after 30 s, and its late answer is not used", async () => {
    let late: (token: string) => void = () => undefined;
    let calls = 0;
    kit.client({
      token: () => (++calls === 1 ? new Promise<string>((resolve) => (late = resolve)) : "second"),
    });
    await kit.clock.advance(30_000);
    expect(kit.statuses).toEqual(["connecting token_failed"]);
    late("first");
    await kit.clock.advance(500);
    expect(kit.service.sockets.map(({ url }) => url)).toEqual(["wss://service/v1?token=second"]);
  });

  test("what is not a text has failed", async () => {
    kit.client({ token: () => undefined as unknown as string });
    await settled();
    expect(kit.statuses).toEqual(["connecting token_failed"]);
  });

  test("null ends the client", async () => {
    kit.client({ token: () => null });
    await settled();
    expect(kit.statuses).toEqual(["closed no_token"]);
    expect(kit.clock.waiting).toBe(0);
  });
});

describe("a refused token", () => {
  beforeEach(() => kit.service.refuses(401, "token_expired"));

  test("is replaced by one that is asked for as refused; if that is refused too, the client ends", async () => {
    kit.client({ token });
    await settled();
    await kit.service.socket.end();
    expect(kit.statuses).toEqual(["connecting token_expired"]);
    await kit.comesBack();
    expect(kit.service.socket.url).toContain("token=t2");
    await kit.service.socket.end();
    expect(reasons).toEqual(["connect", "refused"]);
    expect(kit.statuses.at(-1)).toBe("closed token_expired");
  });

  test("that has become old in an outage is replaced again", async () => {
    kit.client({ token });
    await settled();
    await kit.service.socket.end();
    await kit.comesBack();
    kit.service.answer = undefined;
    await kit.service.socket.end();
    await kit.comesBack();
    kit.service.refuses(401, "token_expired");
    await kit.service.socket.end();
    await kit.comesBack();
    expect(reasons).toEqual(["connect", "refused", "refused"]);
    await kit.service.socket.welcome({ expiresAt: NOW + 100 });
    expect(kit.statuses.at(-1)).toBe("connected");
  });
});

test("a refusal is forgotten with the next welcome", async () => {
  kit.service.refuses(401, "token_expired");
  kit.client({ token });
  await settled();
  await kit.service.socket.end();
  await kit.comesBack();
  await kit.service.socket.welcome({ expiresAt: NOW + 3600 });
  await kit.service.socket.end();
  kit.clock.sleep(3_600_000);
  await kit.comesBack();
  expect(reasons).toEqual(["connect", "refused", "connect"]);
});

describe("renewal", () => {
  // The service's time is in whole seconds: a second less may be left than it seems.
  test("60 s before the end, on the open connection", async () => {
    kit.clock.random = 0;
    await connectedFor(3600);
    const { socket } = kit.service;
    await kit.clock.advance(3_538_000);
    expect(reasons).toEqual(["connect"]);
    await kit.clock.advance(1500);
    expect(socket.last("renew")).toMatchObject({ token: "t2" });
    await socket.ack("renew", { expiresAt: NOW + 7200 });
    await kit.clock.advance(3_598_000);
    expect(reasons).toEqual(["connect", "renew"]);
    await kit.clock.advance(3000);
    expect(reasons).toEqual(["connect", "renew", "renew"]);
    expect(kit.service.sockets).toHaveLength(1);
    expect(kit.statuses).toEqual(["connected"]);
  });

  test("brings other metadata where the service has some, and leaves it as it was otherwise", async () => {
    const parley = await connectedFor(120);
    const came: unknown[] = [];
    parley.on("metadata", (metadata) => came.push(metadata));
    const before = parley.metadata;
    await kit.clock.advance(100_000);
    await kit.service.socket.ack("renew", { expiresAt: NOW + 240 });
    expect([came, parley.metadata]).toEqual([[], before]);
    await kit.clock.advance(120_000);
    await kit.service.socket.ack("renew", { expiresAt: NOW + 360, metadata: { iceServers: [1] } });
    expect([came, parley.metadata]).toEqual([[{ iceServers: [1] }], { iceServers: [1] }]);
  });

  test("of a short token after two thirds of its life; not all clients at the same moment", async () => {
    await connectedFor(6);
    await kit.clock.advance(2800);
    expect(reasons).toHaveLength(1);
    await kit.clock.advance(200);
    expect(reasons).toEqual(["connect", "renew"]);
  });

  test("where the service does not offer it, the new token is there for the reconnect", async () => {
    await connectedFor(120, token, []);
    await kit.clock.advance(100_000);
    expect(kit.service.socket.of("renew")).toHaveLength(0);
    await kit.reconnected(4002);
    expect(kit.service.socket.url).toContain("token=t2");
    expect(reasons).toEqual(["connect", "renew"]);
  });

  test("a function that fails is called again before the token ends", async () => {
    const fails = new Set([2, 3]);
    await connectedFor(120, (request) => {
      const made = token(request);
      if (fails.has(reasons.length)) throw new Error("no");
      return made;
    });
    await kit.clock.advance(95_000);
    expect(kit.errors).toEqual(["token_failed", "token_failed"]);
    expect(kit.service.socket.last("renew")).toMatchObject({ token: "t4" });
    expect(kit.statuses).toEqual(["connected"]);
  });

  test("a token that the service refuses is reported and replaced; the connection goes on", async () => {
    await connectedFor(120);
    const { socket } = kit.service;
    await kit.clock.advance(71_000);
    await socket.refuse("renew", "invalid_token");
    expect(kit.errors).toEqual(["invalid_token"]);
    await kit.clock.advance(10_000);
    expect(reasons).toEqual(["connect", "renew", "refused"]);
    await socket.ack("renew", { expiresAt: NOW + 1000 });
    await kit.clock.advance(28_000);
    await socket.receive({ type: "pong" });
    expect(kit.statuses).toEqual(["connected"]);
    expect(kit.errors).toHaveLength(1);
  });

  test.each(["rate_limited", "internal_error"])("%s says nothing about the token", async (code) => {
    await connectedFor(120);
    await kit.clock.advance(71_000);
    await kit.service.socket.refuse("renew", code);
    await kit.clock.advance(10_000);
    expect(reasons).toEqual(["connect", "renew", "renew"]);
    expect(kit.service.socket.of("renew")).toHaveLength(2);
  });

  test("a token that has ended already is not asked for in a loop", async () => {
    let asked = 0;
    kit.client({ token: () => `t${++asked}` });
    await settled();
    await kit.service.socket.welcome({ expiresAt: 1_600_000_000 });
    for (let step = 0; step < 30; step++) {
      await kit.clock.advance(100);
      if (kit.service.socket.of("renew").length > 0)
        await kit.service.socket.ack("renew", { expiresAt: 1_600_000_000 });
    }
    expect(asked).toBeLessThanOrEqual(4);
  });

  test("a token that is too long for a frame waits for the reconnect", async () => {
    const long = "x".repeat(68_000);
    await connectedFor(120, ({ reason }) => {
      reasons.push(reason);
      return long;
    });
    await kit.clock.advance(110_000);
    expect(kit.errors).toEqual([]);
    await kit.reconnected(4002);
    expect(reasons).toEqual(["connect", "renew"]);
  });

  test("a token that was refused for a renewal is not used for a connect", async () => {
    await connectedFor(120);
    await kit.clock.advance(71_000);
    await kit.service.socket.refuse("renew", "invalid_token");
    await kit.service.socket.end();
    await kit.comesBack();
    expect(kit.service.socket.url).toContain("token=t3");
  });

  test("a connection that is lost meanwhile uses the token that was asked for already", async () => {
    let give: (token: string) => void = () => undefined;
    await connectedFor(120, (request) => {
      const made = token(request);
      return (request.reason === "renew" ? new Promise((resolve) => (give = resolve)) : made) as string;
    });
    await kit.clock.advance(71_000);
    await kit.service.socket.end();
    kit.clock.sleep(200_000);
    await kit.clock.advance(3000);
    expect(kit.service.sockets).toHaveLength(1);
    give("renewed");
    await settled();
    expect(kit.service.socket.url).toContain("token=renewed");
    expect(reasons).toEqual(["connect", "renew"]);
    await kit.service.socket.welcome({ expiresAt: NOW + 1000 });
    expect(kit.service.socket.of("renew")).toHaveLength(0);
  });

  test("null ends the client", async () => {
    await connectedFor(120, ({ reason }) => (reason === "renew" ? null : "t") as string);
    await kit.clock.advance(71_000);
    expect(kit.statuses.at(-1)).toBe("closed no_token");
  });
});
