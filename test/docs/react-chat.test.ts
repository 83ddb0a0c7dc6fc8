/** examples/react-chat in a browser, against a real server; with --full also as its README says, with npm and Vite. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Browser, BrowserContext } from "playwright-core";
import { freePort } from "../../src/testing/ports.ts";
import { launchChromium, missingBrowser } from "../browser/support/chromium.ts";
import { Line } from "../browser/support/line.ts";
import type { EmptyProject } from "../client/support/project.ts";
import { call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { tempFolder } from "../support/temp.ts";
import { Child, run } from "./support/child.ts";
import { block, commands, PROJECT } from "./support/page.ts";
import { type Backend, build, ChatTab, copyOfExample, startBackend } from "./support/react-chat.ts";

setDefaultTimeout(90_000);

const AXE = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");

let server: Server;
let line: Line;
let folder = "";
let project: EmptyProject;

beforeAll(async () => {
  server = await startParley({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0" } });
  const channelRules = [{ pattern: "rooms/*", history: { messages: 50, seconds: 3600 } }];
  await server.admin.must("PATCH", "/apps/demo", { channelRules });
  line = await Line.to(Number(new URL(server.url).port));
  project = await copyOfExample();
  folder = project.folder;
});

afterAll(async () => {
  await line?.close();
  await server?.stop();
  project?.remove();
});

/** The page connects through the line, which the tests cut. */
const environment = (): Record<string, string> => ({
  PARLEY_URL: `http://127.0.0.1:${line.port}`,
  PARLEY_KEY: server.keys.secretKey,
});

const HISTORY = "/v1/channels/rooms%2Flobby";

async function publish(...texts: string[]): Promise<void> {
  const bearer = server.keys.secretKey;
  for (const text of texts)
    await call(`${server.url}${HISTORY}/publish`, { body: { data: { text }, peerMetadata: { name: "Ann" } }, bearer });
}

/** What `fetch` would not send: a path that is no path. Returns the first line of the answer. */
async function rawGet(url: string, path: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port: Number(new URL(url).port),
    socket: { data: (_, bytes) => resolve(bytes.toString()), close: () => reject(new Error("closed")) },
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  return promise.finally(() => socket.end());
}

test("its types are right", async () => {
  const { code, out } = await run([join(PROJECT, "node_modules/.bin/tsc"), "-p", folder], {});
  expect([code, out]).toEqual([0, ""]);
});

test("its backend issues tokens only for sessions that it has made, and shows no secret", async () => {
  await using backend = await startBackend(folder, environment());
  const post = (path: string, body: object, session = "") =>
    fetch(backend.url + path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { Authorization: `Bearer ${session}` },
    });
  const { session } = (await (await post("/api/login", { name: "Zoë" })).json()) as { session: string };
  const { token } = (await (await post("/api/token", {}, session)).json()) as { token: string };
  expect(await server.admin.check(token)).toMatchObject({ valid: true, channels: ["rooms/*"] });
  const [, signature] = session.split(".");
  const forged = `${Buffer.from('{"id":"user-1","name":"Eve"}').toString("base64url")}.${signature}`;
  for (const wrong of ["", forged, `${session}x`]) expect((await post("/api/token", {}, wrong)).status).toBe(401);
  for (const body of [{}, { name: " " }, { name: "x".repeat(2000) }])
    expect((await post("/api/login", body)).status).toBe(400);
  for (const path of ["/server.mjs", "/../server.mjs", "/%2e%2e/server.mjs"])
    expect((await fetch(backend.url + path)).status).toBe(404);
  expect(await rawGet(backend.url, "//")).toStartWith("HTTP/1.1 404");
  expect((await post("/api/login", { name: "still there" })).status).toBe(200);
  expect(token + session).not.toContain("sk_secret_");
});

if (missingBrowser) {
  console.warn(`NOT RUN: the pages of examples/react-chat, since ${missingBrowser}`);
  test.skip(`NOT RUN, ${missingBrowser}: two tabs talk`, () => undefined);
} else
  describe("in a browser", () => {
    let browser: Browser;
    let context: BrowserContext;
    let tabs: ChatTab[] = [];

    beforeAll(async () => {
      browser = await launchChromium();
      await build(folder);
    });
    afterAll(() => browser?.close());

    beforeEach(async () => {
      context = await browser.newContext();
      tabs = [];
      await call(`${server.url}${HISTORY}/history`, { method: "DELETE", bearer: server.keys.secretKey });
    });

    afterEach(async () => {
      await context.close();
      expect(tabs.flatMap(({ faults }) => faults)).toEqual([]);
    });

    async function enter(url: string, name: string): Promise<ChatTab> {
      const tab = await ChatTab.open(context, url, name);
      tabs.push(tab);
      return tab;
    }

    /** Two tabs of one browser talk, and see each other and who is typing. */
    async function talk(url: string): Promise<[ChatTab, ChatTab]> {
      const alice = await enter(url, "Alice");
      expect(await alice.page.locator("#name").count()).toBe(0);
      const bob = await enter(url, "Bob");
      await alice.shows(".people", "2 Bob, Alice (you)");
      await bob.shows(".people", "2 Alice, Bob (you)");
      await alice.type("hello");
      await bob.shows(".typing", "Alice is typing…");
      await alice.say(" Bob");
      await bob.lists("Alice: hello Bob");
      for (const { page } of [alice, bob]) expect(await page.locator("text=Load earlier messages").count()).toBe(0);
      await bob.shows(".typing", "");
      await bob.say("hello Alice");
      await alice.lists("You: hello Bob", "Bob: hello Alice");
      return [alice, bob];
    }

    test("two tabs are two users, also after a reload and a restart of the backend", async () => {
      let backend: Backend = await startBackend(folder, environment());
      const { url, port } = backend;
      const [alice, bob] = await talk(url);
      await backend[Symbol.asyncDispose]();
      backend = await startBackend(folder, environment(), port);
      await using _ = backend;
      await Promise.all([alice, bob].map(({ page }) => page.reload()));
      await Promise.all([alice, bob].map((tab) => tab.isConnected()));
      await alice.lists("You: hello Bob", "Bob: hello Alice");
      await bob.lists("Alice: hello Bob", "You: hello Alice");
      await bob.shows(".people", "2 Alice, Bob (you)");
      await bob.page.click("text=Leave");
      await alice.shows(".people", "1 Alice (you)");
    });

    test("the list begins with the newest messages, and earlier ones are loaded above them", async () => {
      await using backend = await startBackend(folder, environment());
      const texts = Array.from({ length: 45 }, (_, at) => `${at}`);
      await publish(...texts);
      const alice = await enter(backend.url, "Alice");
      const said = texts.map((text) => `Ann: ${text}`);
      await alice.lists(...said.slice(-30));
      await alice.isAtEnd();
      // The list becomes smaller, and still shows the newest message.
      line.cut();
      await alice.isReconnecting();
      await alice.say("waits");
      await alice.isAtEnd();
      line.mend();
      said.push("You: waits");
      await alice.lists(...said.slice(-31));
      await alice.isAtEnd();
      await alice.page.click("text=Load earlier messages");
      await alice.lists(...said);
      await alice.page.waitForSelector("text=Load earlier messages", { state: "detached" });
    });

    test.if(IS_FULL)(
      "a lost connection is shown; nothing is missing after it, or the place where something is",
      async () => {
        await using backend = await startBackend(folder, environment());
        const alice = await enter(backend.url, "Alice");
        await publish("one");
        await alice.lists("Ann: one");
        line.cut();
        await alice.isReconnecting();
        await alice.say("written meanwhile");
        await alice.shows(".waiting li", "written meanwhile sending…");
        await publish("two");
        line.mend();
        await alice.lists("Ann: one", "Ann: two", "You: written meanwhile");
        expect(await alice.page.locator(".waiting").count()).toBe(0);
        line.cut();
        await alice.isReconnecting();
        await publish(...Array.from({ length: 60 }, (_, at) => `missed ${at}`));
        line.mend();
        await alice.lists("Ann: one", "Ann: two", "You: written meanwhile", "gap");
        await publish("three");
        await alice.lists("Ann: one", "Ann: two", "You: written meanwhile", "gap", "Ann: three");
      },
    );

    for (const colorScheme of ["light", "dark"] as const)
      test.if(IS_FULL)(`it fits into 360 pixels and passes axe-core, ${colorScheme}`, async () => {
        await using backend = await startBackend(folder, environment());
        await context.close();
        context = await browser.newContext({ viewport: { width: 360, height: 640 }, colorScheme });
        await publish(`${"long".repeat(40)} https://example.com/${"path".repeat(40)}`);
        const alice = await enter(backend.url, "A".repeat(40));
        await alice.page.waitForSelector(".messages li");
        line.cut();
        await alice.isReconnecting();
        await alice.say("waits");
        await alice.shows(".waiting li", "waits sending…");
        await alice.page.evaluate(AXE);
        const wide = await alice.page.evaluate("document.documentElement.scrollWidth > innerWidth");
        const found = await alice.page.evaluate<{ id: string }[]>("axe.run().then(({ violations }) => violations)");
        line.mend();
        expect([wide, found.map(({ id }) => id)]).toEqual([false, []]);
      });

    test.skipIf(!IS_FULL)(
      "copied and started as its README says, with npm and Vite",
      async () => {
        const copy = join(tempFolder(), "my-chat");
        const script = block("examples/react-chat/README.md", "sh", "Take it with you");
        const shell = ["set -e", ...commands(script)].join("\n").replaceAll(/(\.\.\/)+my-chat/g, copy);
        expect(await run(["sh", "-c", shell], { patienceMs: 300_000 })).toMatchObject({ code: 0 });
        const npm = async (...args: string[]) => {
          const { code, out, err } = await run(["npm", ...args], { cwd: copy, patienceMs: 300_000 });
          if (code !== 0) throw new Error(`npm ${args.join(" ")}: ${out}${err}`);
        };
        await npm("install", "--no-audit", "--no-fund", "./parley-client-0.2.0.tgz");
        await npm("run", "build");
        const port = String(await freePort());
        // Without npm between, which would not pass on the signal that ends it.
        await using vite = new Child(["node", "node_modules/vite/bin/vite.js"], {
          cwd: copy,
          env: { ...environment(), PORT: port },
        });
        await vite.writes(/Local/);
        await talk(`http://127.0.0.1:${port}`);
        await run(["rm", "-rf", dirname(copy)]);
      },
      600_000,
    );
  });
