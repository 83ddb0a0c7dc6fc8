/** Pages behind a network that passes no WebSockets on: the public SDK with HttpSocket, and parley-client by itself. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import type { Parley } from "../../client/src/index.ts";
import { HostileProxy } from "../support/hostile-proxy.ts";
import { until } from "../support/wait.ts";
import { launchChromium } from "./support/chromium.ts";
import { Service } from "./support/service.ts";
import { Site } from "./support/site.ts";
import { Tab } from "./support/tab.ts";

setDefaultTimeout(90_000);

const CUT_AFTER_MS = 3000;
const BUFFER_MS = 500;

type InPage = { readonly parley: Parley; readonly heard: unknown[]; readonly statuses: string[] };

let browser: Browser;
let service: Service;
let site: Site;

beforeAll(async () => {
  [browser, service] = await Promise.all([launchChromium(), Service.start()]);
  site = new Site({ url: service.url, secretKey: service.keys.secretKey });
  const channelRules = [{ pattern: "kept/*", history: { messages: 1000, seconds: 600 } }];
  await service.admin.must("PATCH", "/apps/demo", { channelRules });
});

afterAll(async () => {
  await browser?.close();
  await site?.stop();
  await service?.stop();
});

test("the public SDK with HttpSocket: messages, members, and the roster after a reconnect", async () => {
  await using proxy = await HostileProxy.to(service.port, { upgrades: 403 });
  const context = await browser.newContext();
  const tabs = await Promise.all([1, 2].map(() => Tab.open(context, `${site.origin}/`)));
  const [a, b] = tabs as [Tab, Tab];
  const room = "room/without";
  await a.connect({ url: proxy.url.replace("http", "ws"), peerId: "alice", isOverHttp: true }, room);
  await b.connect({ url: `ws://127.0.0.1:${service.port}`, peerId: "bob" }, room);
  await Promise.all([a.saw("bob"), b.saw("alice")]);
  await a.publish(room, { text: "from alice" });
  expect(await b.heard("from alice")).toBe("alice");
  await b.publish(room, { text: "from bob" });
  expect(await a.heard("from bob")).toBe("bob");
  await b.send("alice", { text: "between us" });
  expect(await a.direct("between us")).toBe("bob");
  expect([proxy.upgrades, proxy.streams]).toEqual([0, 1]);
  proxy.cut();
  await until("it connects again", () => proxy.streams === 2 && proxy.openStreams === 1);
  // Who comes now is in the roster, or announced behind it.
  const c = await Tab.open(context, `${site.origin}/`);
  await c.connect({ url: `ws://127.0.0.1:${service.port}`, peerId: "carol" }, room);
  await Promise.all([a.saw("carol"), c.saw("alice")]);
  await c.publish(room, { text: "after the cut" });
  expect(await a.heard("after the cut")).toBe("carol");
  expect([...tabs, c].flatMap(({ faults }) => faults)).toEqual([]);
  await context.close();
});

test("parley-client where upgrades are refused, connections end every three seconds and responses are collected: all messages come", async () => {
  const hostility = { upgrades: 400, cutAfterMs: CUT_AFTER_MS, bufferMs: BUFFER_MS } as const;
  await using proxy = await HostileProxy.to(service.port, hostility);
  const { outputs } = await Bun.build({ entrypoints: [join(import.meta.dir, "../../client/src/all.ts")], throw: true });
  const client = (await outputs[0]?.text()) ?? "";
  const page = await browser.newPage();
  await page.goto(`${site.origin}/`);
  await page.addScriptTag({ type: "module", content: `${client}; globalThis.Parley = Parley;` });
  const key = service.keys.publishableKey;
  await page.evaluate(
    async ([url, key]) => {
      const here = globalThis as unknown as InPage & { Parley: typeof Parley };
      const parley = new here.Parley({ url, key } as { url: string; key: string });
      const [heard, statuses]: [unknown[], string[]] = [[], []];
      parley.on("status", ({ state, transport = "" }) => statuses.push(`${state} ${transport}`));
      parley.channel("kept/page").on("message", ({ data }) => heard.push(data));
      Object.assign(here, { parley, heard, statuses });
      await parley.channel("kept/page").subscribed;
    },
    [proxy.url, key],
  );
  let sent = 0;
  const address = `${service.url}/v1/channels/kept%2Fpage/publish`;
  await until("several connections are cut", async () => {
    const Authorization = `Bearer ${service.keys.secretKey}`;
    const body = JSON.stringify({ data: ++sent });
    expect((await fetch(address, { method: "POST", headers: { Authorization }, body })).status).toBe(200);
    return proxy.streams >= 4;
  });
  const heard = (): Promise<unknown[]> => page.evaluate(() => (globalThis as unknown as InPage).heard);
  await until("the last message comes", async () => (await heard()).at(-1) === sent);
  expect(await heard()).toEqual(Array.from({ length: sent }, (_, at) => at + 1));
  const statuses = await page.evaluate(() => (globalThis as unknown as InPage).statuses);
  expect([statuses[0], proxy.upgrades]).toEqual(["connected http", 1]);
  await page.close();
});
