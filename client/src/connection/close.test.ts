import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Parley } from "../parley.ts";
import { settled } from "../testing/clock.ts";
import { Kit } from "../testing/kit.ts";
import { welcomeFrame } from "../testing/service.ts";

let kit: Kit;
beforeEach(() => {
  kit = new Kit();
});
afterEach(() => kit.restore());

describe("close() leaves no timer, no socket and no listener", () => {
  /** Nothing happens any more, whatever happens outside. */
  const isQuiet = async (): Promise<void> => {
    const { sockets } = kit.service;
    const before = sockets.length;
    kit.online();
    await settled();
    expect(kit.clock.waiting).toBe(0);
    await kit.clock.advance(100_000);
    expect(sockets.length).toBe(before);
    expect(kit.statuses.at(-1)).toBe("closed closed");
    expect(kit.statuses.filter((status) => status.startsWith("closed"))).toHaveLength(1);
  };

  test("before it was opened", async () => {
    const parley = kit.client({ autoConnect: false });
    parley.close();
    parley.connect();
    await isQuiet();
  });

  test.each([
    ["comes", (give: (token: string) => void) => give("late")],
    ["never comes", () => undefined],
  ])("while it waits for a token that %s", async (_, then) => {
    let give: (token: string) => void = () => undefined;
    const parley = kit.client({ token: () => new Promise((resolve) => (give = resolve)) });
    await settled();
    parley.close();
    then(give);
    await isQuiet();
    expect(kit.errors).toEqual([]);
  });

  test("while it waits for a token that fails", async () => {
    let fail: (error: Error) => void = () => undefined;
    const parley = kit.client({ token: () => new Promise((_, reject) => (fail = reject)) });
    await settled();
    parley.close();
    fail(new Error("late"));
    await isQuiet();
    expect(kit.errors).toEqual([]);
  });

  test("while it connects", async () => {
    const parley = kit.client();
    await settled();
    parley.close();
    expect(kit.service.socket.closedWith).toBe(1000);
    await kit.service.socket.welcome();
    await kit.service.socket.end();
    await isQuiet();
  });

  test("while it asks why it was refused", async () => {
    kit.service.answer = () => new Promise(() => undefined);
    const parley = kit.client();
    await settled();
    await kit.service.socket.end();
    parley.close();
    await settled();
    await isQuiet();
  });

  test("while it waits for the next attempt", async () => {
    const parley = kit.client();
    await settled();
    await kit.service.socket.end();
    parley.close();
    await isQuiet();
  });

  test("while it is connected, with a goodbye; what waits for an answer is rejected", async () => {
    const parley = await kit.connected();
    const waiting = parley.channel("chat").publish(1);
    kit.online();
    parley.close();
    expect(kit.service.socket.closedWith).toBe(1000);
    expect(await waiting.catch((error) => error.code)).toBe("closed");
    await isQuiet();
  });

  test("while a token is being renewed", async () => {
    const token = ({ reason }: { readonly reason: string }) =>
      reason === "renew" ? new Promise<string>(() => undefined) : "t";
    const parley = kit.client({ token });
    await settled();
    await kit.service.socket.welcome({ expiresAt: 1_700_000_090 });
    await kit.clock.advance(70_000);
    parley.close();
    await isQuiet();
  });

  test("in a listener of its own welcome", async () => {
    const parley = kit.client();
    parley.on("welcome", () => parley.close());
    await settled();
    await kit.service.socket.welcome();
    await isQuiet();
  });
});

describe("frames that are not understood", () => {
  test.each(["", "{", "null", "7", '"text"', "[]", "{}", '{"type":7}', '{"type":"news","channel":"chat"}'])(
    "%s is ignored",
    async (text) => {
      const parley = await kit.connected();
      parley.channel("chat").on("message", () => undefined);
      kit.service.socket.text(text);
      kit.service.socket.text(new Blob([text]));
      await settled();
      expect(kit.errors).toEqual([]);
      expect(parley.isConnected).toBe(true);
    },
  );

  test.each([
    { type: "presence", channel: "chat", joined: null },
    { type: "presence", channel: "chat", joined: [null] },
    { type: "presence", channel: "chat", left: 7 },
  ])("%j is reported, and does not end the program", async (frame) => {
    const parley = await kit.connected();
    parley.channel("chat").on("message", () => undefined);
    await settled();
    await kit.service.socket.ack("subscribe");
    await kit.service.socket.receive(frame);
    expect(kit.errors).toEqual(["internal_error"]);
    expect(parley.isConnected).toBe(true);
  });

  test("a second welcome is ignored", async () => {
    const parley = await kit.connected();
    await kit.service.socket.receive(welcomeFrame({ peerId: "other" }));
    expect(parley.peerId).toBe("me");
    expect(kit.statuses).toEqual(["connected"]);
  });

  test("a late answer is not an error of its own", async () => {
    await kit.connected();
    await kit.service.socket.receive({ type: "error", requestId: "gone", code: "backend_error", message: "" });
    expect(kit.errors).toEqual([]);
  });
});

describe("options", () => {
  test("one credential", () => {
    const url = "https://service";
    const both = { url, key: "pk", token: () => "t" };
    expect(() => new Parley(both as unknown as { url: string; key: string })).toThrow("either");
    expect(() => new Parley({ url } as unknown as { url: string; key: string })).toThrow("either");
  });

  test("an address that is none ends with an error", async () => {
    const WebSocket = class {
      constructor() {
        throw new SyntaxError("bad");
      }
    };
    kit.client({ WebSocket: WebSocket as never });
    await settled();
    expect(kit.statuses).toEqual(["closed unreachable"]);
    expect(kit.clock.waiting).toBe(0);
  });
});

describe("an error of the socket", () => {
  test("without a close, before the welcome, is a refusal, as Node 22 reports it", async () => {
    kit.service.refuses(401, "unauthorized");
    kit.client();
    await settled();
    await kit.service.socket.fail();
    expect(kit.statuses.at(-1)).toBe("closed unauthorized");
  });

  test("with its close asks for the reason once", async () => {
    kit.service.refuses(429, "rate_limited");
    kit.client();
    await settled();
    await kit.service.socket.fail();
    await kit.service.socket.end(1006);
    expect(kit.service.asked).toHaveLength(1);
  });

  test("of a connection waits for its close, whose code decides", async () => {
    await kit.connected();
    await kit.service.socket.fail();
    expect(kit.statuses.at(-1)).toBe("connected");
    await kit.service.socket.end(4020);
    expect(kit.statuses.at(-1)).toBe("closed kicked");
  });
});
