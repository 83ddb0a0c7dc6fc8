import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { settled } from "../testing/clock.ts";
import { Kit } from "../testing/kit.ts";

let kit: Kit;
let lines: string[];
beforeEach(() => {
  kit = new Kit();
  kit.clock.random = 0;
  lines = [];
});
afterEach(() => kit.restore());

const debug = (line: string): unknown => lines.push(line);

test("it reports states, tokens that are asked for, and frames by their type, in both directions", async () => {
  const parley = kit.client({ token: () => "a-secret-token", debug });
  const chat = parley.channel("chat");
  chat.on("message", () => undefined);
  await settled();
  await kit.service.socket.welcome({ features: ["renew"] });
  await kit.service.socket.ack("subscribe");
  chat.publish({ password: "a-secret-payload" }).catch(() => undefined);
  await kit.service.socket.refuse("publish", "action_not_permitted");
  await kit.service.socket.receive({ type: "message", channel: "chat", from: "bob", data: "a-secret-payload" });
  await kit.service.socket.end(4011, "too much");
  parley.close();
  expect(lines).toEqual([
    "token: connect",
    "connect wss://service/v1",
    "← welcome",
    "→ subscribe chat",
    "connected",
    "← ack",
    "→ publish chat",
    "← error action_not_permitted",
    "← message chat",
    "reconnecting rate_limited: The connection was closed: too much (4011).",
    "closed closed: The client was closed.",
  ]);
});

test("neither tokens nor keys nor payloads are in it", async () => {
  const parley = kit.client({ token: () => "a-secret-token", debug });
  await settled();
  await kit.service.socket.welcome({ expiresAt: 1_700_000_006 });
  await kit.clock.advance(5000);
  expect(kit.service.socket.last("renew")).toMatchObject({ token: "a-secret-token" });
  parley.send("bob", "a-secret-payload").catch(() => undefined);
  await kit.service.socket.receive({ type: "direct", from: "bob", data: "a-secret-payload" });
  kit.service.refuses(429, "rate_limited");
  await kit.service.socket.end();
  await kit.comesBack();
  await kit.service.socket.end();
  expect(lines).toContain("→ renew");
  expect(lines).toContain("→ send");
  expect(lines.join("\n")).not.toMatch(/secret/);
  parley.close();
});

test("with true it writes to the console; without it, nothing", async () => {
  const log = spyOn(console, "log").mockImplementation(() => undefined);
  try {
    (await kit.connected()).close();
    (await kit.connected({ debug: false })).close();
    expect(log).not.toHaveBeenCalled();
    (await kit.connected({ debug: true })).close();
    expect(log.mock.calls.flat()).toContain("parley: connected");
  } finally {
    log.mockRestore();
  }
});

test("a function that throws does not disturb the client", async () => {
  const thrown: unknown[] = [];
  const { queueMicrotask } = globalThis;
  globalThis.queueMicrotask = (run) =>
    queueMicrotask(() => {
      try {
        run();
      } catch (error) {
        thrown.push(error);
      }
    });
  try {
    const failure = new Error("a bug of the application");
    const parley = await kit.connected({
      debug: () => {
        throw failure;
      },
    });
    expect(parley.isConnected).toBe(true);
    expect(kit.errors).toEqual([]);
    expect(thrown).toContain(failure);
    parley.close();
  } finally {
    globalThis.queueMicrotask = queueMicrotask;
  }
});
