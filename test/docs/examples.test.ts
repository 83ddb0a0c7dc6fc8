/** What every example does, against a real server. examples-readme.test.ts starts them as a new user does. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { freePort } from "../../src/testing/ports.ts";
import { launchChromium, missingBrowser } from "../browser/support/chromium.ts";
import { mintToken } from "../support/admin.ts";
import { type Server, startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { tempFolder } from "../support/temp.ts";
import { welcomed } from "../support/wire/connect.ts";
import type { Wire } from "../support/wire/wire.ts";
import { Child, run } from "./support/child.ts";
import { startOn } from "./support/fixed-port.ts";
import { PROJECT } from "./support/page.ts";

const example = (path: string): string => `${PROJECT}/examples/${path}`;

let server: Server;
beforeAll(async () => {
  server = await startParley({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0" } });
});
afterAll(() => server.stop());

const tokenFor = (peerId: string, more: object = {}): Promise<string> =>
  mintToken(server.url, server.keys.secretKey, { peerId, ...more });

const listenerFor = async (peerId: string, more: object = {}): Promise<Wire> =>
  welcomed(server.url, `token=${await tokenFor(peerId, more)}`);

const text = ({ data }: { readonly data: unknown }): string => (data as { text: string }).text;

describe("chat-terminal", () => {
  /** Node 20 has its WebSocket behind a flag, which later versions still accept. */
  const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
    Bun: [process.execPath],
    Node: ["node", "--experimental-websocket"],
  };

  const chat = async (runtime: string, name: string, channel: string): Promise<Child> => {
    const token = await tokenFor(name.toLowerCase(), { channels: ["chat/*"], peerMetadata: { name } });
    const env = { PARLEY_URL: server.url, PARLEY_TOKEN: token };
    return new Child([...(RUNTIMES[runtime] ?? []), example("chat-terminal/chat.mjs"), channel], { env });
  };

  for (const runtime of Object.keys(RUNTIMES))
    test(`two people talk and see each other join and leave, under ${runtime}`, async () => {
      const channel = `chat/${runtime}`;
      await using alice = await chat(runtime, "Alice", channel);
      await alice.writes(/\* you are alice; here: nobody else\n/);
      await using bob = await chat(runtime, "Bob", channel);
      await bob.writes(/\* you are bob; here: Alice\n/);
      await alice.writes(/\* Bob joined\n/);
      alice.say("hello Bob");
      await bob.writes(/Alice: hello Bob\n/);
      bob.say("hello Alice");
      await alice.writes(/Bob: hello Alice\n/);
      alice.say("/to bob only for you");
      await bob.writes(/Alice, only to you: only for you\n/);
      alice.say("/to nobody hello");
      await alice.writes(/\* refused: peer_not_found/);
      alice.say("/who");
      await alice.writes(/\* here: Bob\n/);
      bob.hangUp();
      expect(await bob.exited).toBe(0);
      await alice.writes(/\* Bob left\n/);
    });

  test("without a WebSocket it says what to do", async () => {
    const without = `${tempFolder()}/without.mjs`;
    writeFileSync(without, "delete globalThis.WebSocket;");
    const { code, err } = await run(["node", "--import", without, example("chat-terminal/chat.mjs")]);
    expect([code, err]).toEqual([1, expect.stringContaining("node --experimental-websocket")]);
  });

  test("without a token it says what to set, and how", async () => {
    const { code, err } = await run([process.execPath, example("chat-terminal/chat.mjs")], {
      env: { PARLEY_URL: server.url },
    });
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^Set PARLEY_TOKEN .*\n +export PARLEY_TOKEN=\$\(bin\/parley /),
    ]);
  });

  test("what others send cannot control the terminal", async () => {
    await using alice = await chat("Bun", "Alice", "chat/escapes");
    await alice.writes(/nobody else/);
    using eve = await listenerFor("eve", { peerMetadata: { name: "\x1b[2JBob" } });
    const data = { text: "\x1b]0;title\x07\r\n\u202eend" };
    await eve.request({ type: "send", to: "alice", data });
    await alice.writes(/\ufffd\[2JBob, only to you: \ufffd\]0;title\ufffd\ufffd\ufffd\ufffdend\n/);
  });

  test("it reports why it is refused: a channel beyond its token, an invalid token, a kicked peer", async () => {
    await using lost = await chat("Bun", "Lost", "elsewhere");
    await lost.writes(/\* refused: channel_not_authorized/);
    const env = { PARLEY_URL: server.url, PARLEY_TOKEN: "none" };
    await using invalid = new Child([process.execPath, example("chat-terminal/chat.mjs")], { env });
    await invalid.writes(/\* the end: invalid_token/);
    expect(await invalid.exited).toBe(1);
    await using kicked = await chat("Bun", "Kicked", "chat/kicked");
    await kicked.writes(/nobody else/);
    const headers = { Authorization: `Bearer ${server.keys.secretKey}` };
    await fetch(`${server.url}/v1/peers/kicked`, { method: "DELETE", headers });
    await kicked.writes(/\* the end: 4020/);
    expect(await kicked.exited).toBe(1);
  });

  test("it reconnects after the server has been restarted, and receives new messages", async () => {
    const port = await freePort();
    const data = tempFolder();
    const own = await startOn(port, data);
    const { secretKey } = own.keys;
    const env = { PARLEY_URL: own.url, PARLEY_TOKEN: await mintToken(own.url, secretKey, { peerId: "alice" }) };
    await using alice = new Child([process.execPath, example("chat-terminal/chat.mjs"), "chat/1"], { env });
    await alice.writes(/nobody else/);
    await own.kill("SIGTERM");
    await alice.writes(/\* connection lost \(1001\)/);
    await using restarted = await startOn(port, data);
    await alice.writes(/\* you are alice; here: nobody else/);
    const token = await mintToken(restarted.url, secretKey, { peerId: "bob" });
    using bob = await welcomed(restarted.url, `token=${token}`);
    await bob.request({ type: "publish", channel: "chat/1", data: { text: "welcome back" } });
    await alice.writes(/bob: welcome back/);
  });
});

describe("agent-python", () => {
  if (!Bun.which("python3")) {
    console.warn("NOT RUN: examples/agent-python, since there is no `python3` here");
    test.skip("NOT RUN, there is no `python3` here", () => undefined);
    return;
  }

  const agent = (channel: string, url = server.url): Child =>
    new Child(["python3", example("agent-python/agent.py"), channel], {
      env: { PARLEY_URL: url, PARLEY_KEY: server.keys.secretKey, PYTHONDONTWRITEBYTECODE: "1" },
    });

  test("without a key it says what to set, and how", async () => {
    for (const env of [{}, { PARLEY_KEY: "pk_live_1" }]) {
      const { code, err } = await run(["python3", example("agent-python/agent.py")], {
        env: { PARLEY_URL: server.url, PYTHONDONTWRITEBYTECODE: "1", ...env },
      });
      expect([code, err]).toEqual([1, expect.stringMatching(/^Set PARLEY_KEY .*\n +export PARLEY_KEY=/)]);
    }
  });

  test("it answers messages that are addressed to it, and no others", async () => {
    using ann = await listenerFor("ann");
    await ann.join("chat/agent");
    await using python = agent("chat/agent");
    await python.writes(/in chat\/agent, with \['ann'\]/);
    const { joined } = await ann.until("presence");
    expect(joined).toEqual([{ peerId: "agent", metadata: { name: "agent" } }]);
    using ben = await listenerFor("ben");
    await ben.join("chat/agent");
    const say = (message: string) => ann.request({ type: "publish", channel: "chat/agent", data: { text: message } });
    await say("this is not for the agent");
    await say("@agent who is here?");
    const answer = await ann.until("message");
    expect(answer).toMatchObject({ from: "agent", data: { text: "I see ben", to: "ann" } });
    // Over 64 KiB in UTF-8, in both directions: needs the longest form of frame lengths, and text that is not ASCII.
    await say(`@agent ${"Grüße ".repeat(8200)}`);
    expect(text(await ann.until("message"))).toEndWith("in 8200 words");
  });

  test("it reconnects after a loss, and ends when it is kicked", async () => {
    await using python = agent("chat/cut");
    await python.writes(/in chat\/cut/);
    using ann = await listenerFor("ann");
    await ann.join("chat/cut");
    const key = await server.admin.createKey("demo");
    await using guest = new Child(["python3", example("agent-python/agent.py"), "chat/cut"], {
      env: { PARLEY_URL: server.url, PARLEY_KEY: key.credential, PYTHONDONTWRITEBYTECODE: "1" },
    });
    await guest.writes(/in chat\/cut/);
    // Its secret is retired: 4002, then a refusal, because it signs the next token with the same secret.
    await server.admin.rotate(key.keyId, { graceSec: 0 });
    await guest.writes(/connection lost \(4002\)/);
    await guest.writes(/refused: 401 .*token_expired/);
    expect(await guest.exited).toBe(1);
    const headers = { Authorization: `Bearer ${server.keys.secretKey}` };
    await fetch(`${server.url}/v1/peers/agent`, { method: "DELETE", headers });
    await python.writes(/the end: 4020/);
    expect(await python.exited).toBe(1);
  });

  test("it keeps trying until the server starts", async () => {
    const port = await freePort();
    await using python = agent("chat/late", `http://127.0.0.1:${port}`);
    await python.writes(/connection lost/);
    await using _ = await startOn(port, tempFolder());
    // This server has other keys, so the refusal shows that the connect reached it.
    await python.writes(/refused: 401 .*invalid_token/);
  });
});

describe("the backends", () => {
  for (const name of ["react-chat", "backend-express-free"])
    test(`${name}: a port in use and a missing key are named, without a stack`, async () => {
      const { port } = new URL(server.url);
      const command = ["node", example(`${name}/server.mjs`)];
      const used = await run(command, { env: { PORT: port, PARLEY_KEY: server.keys.secretKey } });
      expect([used.code, used.err]).toEqual([
        1,
        expect.stringMatching(new RegExp(`^Port ${port} is in use\\..* PORT=${Number(port) + 1} .*\n$`)),
      ]);
      const keyless = await run(command, { env: { PORT: "0", PARLEY_KEY: "" } });
      expect([keyless.code, keyless.err]).toEqual([1, "Set PARLEY_KEY to a secret key, sk_id_…:sk_secret_…\n"]);
    });
});

describe("iot-signals", () => {
  const signals = (...args: string[]) =>
    run(["sh", example("iot-signals/signals.sh"), ...args], {
      env: { PARLEY_URL: server.url, PARLEY_KEY: server.keys.secretKey },
    });

  test("a device reports, lists the subscribers, and sends one of them a message", async () => {
    const reported = await signals("report", "kitchen", '{"celsius":21.5}');
    expect(JSON.parse(reported.out)).toEqual({ channel: "signals/kitchen", published: true });
    expect(JSON.parse((await signals("active")).out)).toEqual({ data: [], next: null });
    using watcher = await listenerFor("watcher", { peerMetadata: { name: "W" } });
    await watcher.join("signals/kitchen");
    await signals("report", "kitchen", '{"celsius":22.0}');
    const message = await watcher.until("message");
    expect(message).toMatchObject({ channel: "signals/kitchen", from: "kitchen", data: { celsius: 22 } });
    const active = JSON.parse((await signals("active")).out) as { data: unknown };
    expect(active.data).toEqual([{ channel: "signals/kitchen", peers: 1, connections: 1 }]);
    const watchers = JSON.parse((await signals("watchers", "kitchen")).out) as { peers: unknown };
    expect(watchers.peers).toEqual([{ peerId: "watcher", metadata: { name: "W" } }]);
    await signals("tell", "watcher", '{"text":"it is cold"}');
    expect(await watcher.until("direct")).toMatchObject({ from: "server", data: { text: "it is cold" } });
  });

  test("a failure shows in the answer and in the exit code; the key is not among the arguments", async () => {
    const absent = await signals("tell", "absent", "1");
    expect(absent.code).not.toBe(0);
    expect(absent.out).toContain("peer_not_found");
    expect((await signals("dance")).code).toBe(2);
    // A curl that prints its arguments, because every user of a machine can see those.
    const bin = tempFolder();
    writeFileSync(`${bin}/curl`, '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
    const shown = await run(["sh", example("iot-signals/signals.sh"), "active"], {
      env: { PARLEY_URL: server.url, PARLEY_KEY: server.keys.secretKey, PATH: `${bin}:${process.env.PATH}` },
    });
    expect(shown.out).toContain(`${server.url}/v1/channels`);
    expect(shown.out).not.toContain("sk_secret_");
  });

  test("the key that its README recommends can report and do nothing else", async () => {
    const key = await server.admin.createKey("demo", { channelPatterns: ["signals/*"], actions: ["publish"] });
    const env = { PARLEY_URL: server.url, PARLEY_KEY: key.credential };
    const limited = (...args: string[]) => run(["sh", example("iot-signals/signals.sh"), ...args], { env });
    expect((await limited("report", "hall", "1")).code).toBe(0);
    expect((await limited("watchers", "hall")).out).toContain("action_not_permitted");
  });
});

describe("backend-express-free", () => {
  const backend = async (onPort = "0"): Promise<{ child: Child; url: string; port: string }> => {
    const env = { PARLEY_URL: server.url, PARLEY_KEY: server.keys.secretKey, PORT: onPort };
    const child = new Child(["node", example("backend-express-free/server.mjs")], { env });
    const [, port = ""] = await child.writes(/open http:\/\/localhost:(\d+)/);
    return { child, url: `http://127.0.0.1:${port}`, port };
  };

  test("it issues tokens only to users who are logged in", async () => {
    const { child, url } = await backend();
    await using _ = child;
    const post = (path: string, body: object, session = "") =>
      fetch(url + path, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { Authorization: `Bearer ${session}` },
      });
    expect((await post("/token", {})).status).toBe(401);
    const login = (await (await post("/login", { name: "Zoë" })).json()) as { session: string; url: string };
    expect(login).toEqual({ session: expect.any(String), url: server.url.replace("http", "ws") });
    expect((await post("/token", {}, `${login.session}x`)).status).toBe(401);
    const { token } = (await (await post("/token", {}, login.session)).json()) as { token: string };
    expect(await server.admin.check(token)).toMatchObject({ valid: true, channels: ["rooms/*"] });
    expect((await post("/login", { name: "x".repeat(2000) })).status).toBe(400);
    expect((await fetch(`${url}/server.mjs`)).status).toBe(404);
    for (const path of ["/", "/page.js", "/realtime.js"])
      expect(await (await fetch(url + path)).text()).not.toContain("sk_secret_");
  });

  if (missingBrowser) {
    console.warn(`NOT RUN: the page of examples/backend-express-free, since ${missingBrowser}`);
    test.skip(`NOT RUN, ${missingBrowser}: two tabs talk`, () => undefined);
    return;
  }

  test.if(IS_FULL)("two tabs of one browser are two users who talk, also after a restart of the backend", async () => {
    const first = await backend();
    await using browser = await launchChromium();
    const context = await browser.newContext();
    const isConnected = (page: Page) =>
      page.waitForFunction('document.querySelector("#state").textContent === "connected"');
    const enter = async (name: string) => {
      const page = await context.newPage();
      await page.goto(first.url);
      await page.fill("#name", name);
      await page.click("#login button");
      await isConnected(page);
      await page.waitForSelector("#login", { state: "hidden" });
      return page;
    };
    const sees = (page: Page, people: string) =>
      page.waitForFunction(`document.querySelector("#people").textContent === "${people}"`);
    const alice = await enter("Alice");
    const bob = await enter("Bob");
    await sees(bob, "Alice");
    await sees(alice, "Bob");
    const say = async (page: Page, text: string) => {
      await page.fill("#text", text);
      await page.click("#say button");
    };
    await say(alice, "hello Bob");
    await bob.waitForSelector("text=Alice: hello Bob");
    await alice.waitForSelector("text=you: hello Bob");
    await alice.selectOption("#to", { label: "to Bob" });
    await say(alice, "between us");
    await bob.waitForSelector("text=Alice, to you: between us");
    await alice.waitForSelector("text=you, to Bob: between us");
    await first.child.stop();
    const { child } = await backend(first.port);
    await using _ = child;
    await Promise.all([alice, bob].map(async (page) => isConnected(await page.reload().then(() => page))));
    await sees(bob, "Alice");
    await sees(alice, "Bob");
    await bob.close();
    await sees(alice, "nobody else");
  });
});
