/** The client behind networks that pass no WebSockets on, end connections that last, or collect what they pass on; under Bun. */
import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { Parley, type ParleyOptions } from "../../client/src/index.ts";
import { stateOf } from "../../client/src/state.ts";
import { parleyCommand } from "../support/command.ts";
import { HostileProxy } from "../support/hostile-proxy.ts";
import { IS_FULL } from "../support/slack.ts";
import { until } from "../support/wait.ts";
import { hurry } from "./support/hurry.ts";
import { Service } from "./support/service.ts";

setDefaultTimeout(60_000);

const PUBLISH_EVERY_MS = 30;
/** Longer than a WebSocket that is cut soon lasts. */
const CUT_AFTER_MS = 2000;
const BUFFER_MS = 700;

const service = await Service.start([{ pattern: "kept/*", history: { messages: 1000, seconds: 600 } }]);
const clients: Parley[] = [];
const unhurry = hurry();

afterAll(async () => {
  unhurry();
  await service.stop();
});

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

async function client(peerId: string, url: string, options: Partial<ParleyOptions> = {}): Promise<Parley> {
  const token = await service.token(peerId);
  const parley = new Parley({ url, token: () => token, ...(options as object) });
  clients.push(parley);
  return parley;
}

const connected = (parley: Parley, how = "http"): Promise<number> =>
  until(`${parley.status.error?.message} over ${how}`, () => parley.status.transport === how);

/** What happens in the channel, as a member on a WebSocket sees it. */
async function observer(channel: string): Promise<{ parley: Parley; seen: string[]; states: () => unknown[] }> {
  const parley = await client("observer", service.url);
  const seen: string[] = [];
  const chat = parley.channel(channel);
  chat.on("message", ({ from, data }) => seen.push(`${from}: ${data}`));
  chat.presence.on("joined", ({ peerId }) => seen.push(`${peerId} joined`));
  chat.presence.on("left", ({ peerId }) => seen.push(`${peerId} left`));
  const states = stateOf<{ mood: string }>(chat);
  states.on("changed", () => undefined);
  await chat.subscribed;
  await connected(parley, "websocket");
  return { parley, seen, states: () => [...states.all.values()].map(({ state }) => state) };
}

/** Publishes 1, 2, 3, … until the returned function is called, which resolves with the last number. */
function counting(parley: Parley, channel: string): () => Promise<number> {
  let isOver = false;
  const counted = (async () => {
    for (let number = 1; ; number++) {
      await parley.channel(channel).publish(number);
      if (isOver) return number;
      await Bun.sleep(PUBLISH_EVERY_MS);
    }
  })();
  return () => {
    isOver = true;
    return counted;
  };
}

const numbersTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1);

test.each(IS_FULL ? ([400, 403, "hang"] as const) : ([400, 403] as const))(
  "upgrades that get %p: messages, direct messages, presence and states go over HTTP",
  async (upgrades) => {
    await using proxy = await HostileProxy.to(service.port, { upgrades });
    const { parley, seen, states } = await observer("plain/1");
    const bob = await client("bob", proxy.url);
    const statuses: string[] = [];
    bob.on("status", ({ state }) => statuses.push(state));
    const chat = bob.channel("plain/1");
    const heard: unknown[] = [];
    chat.on("message", ({ data }) => heard.push(data));
    bob.on("direct", ({ data }) => heard.push(data));
    await stateOf(chat).set({ mood: "good" });
    expect([bob.status.transport, statuses, proxy.upgrades]).toEqual(["http", ["connected"], 1]);
    await chat.publish("hello");
    await parley.channel("plain/1").publish("welcome");
    await parley.send("bob", "between us");
    await until("bob hears both", () => heard.length === 2);
    expect(heard).toEqual(["welcome", "between us"]);
    await until("the observer sees all", () => seen.includes("bob: hello") && states().length === 1);
    expect([seen, states()]).toEqual([["bob joined", "bob: hello"], [{ mood: "good" }]]);
    // The next client does not try a WebSocket first.
    await connected(await client("carol", proxy.url));
    expect(proxy.upgrades).toBe(1);
    bob.close();
    await until("bob is seen to leave", () => seen.includes("bob left"));
  },
);

test("connections that are ended every two seconds: each message comes once and in order, both ways", async () => {
  await using proxy = await HostileProxy.to(service.port, { upgrades: 403, cutAfterMs: CUT_AFTER_MS });
  const [bob, carol] = [await client("bob", proxy.url), await client("carol", service.url)];
  const gaps: string[] = [];
  const heard: unknown[] = [];
  bob.channel("kept/cuts").on("message", ({ data }) => heard.push(data));
  bob.channel("kept/cuts").on("gap", ({ reason }) => gaps.push(reason));
  await bob.channel("kept/cuts").subscribed;
  await connected(carol, "websocket");
  const stop = counting(carol, "kept/cuts");
  await until("several connections have been cut", () => proxy.streams >= 4);
  const last = await stop();
  await until("the last message comes", () => heard.at(-1) === last);
  expect(heard).toEqual(numbersTo(last));
  expect(gaps).toEqual([]);
});

test("a proxy that collects what it passes on makes it late, and nothing else", async () => {
  await using proxy = await HostileProxy.to(service.port, { upgrades: 400, bufferMs: BUFFER_MS });
  const [bob, carol] = [await client("bob", proxy.url), await client("carol", service.url)];
  const heard: unknown[] = [];
  bob.channel("kept/late").on("message", ({ data }) => heard.push(data));
  await bob.channel("kept/late").subscribed;
  await connected(carol, "websocket");
  const stop = counting(carol, "kept/late");
  await until("messages come", () => heard.length >= 10);
  const last = await stop();
  await until("the last message comes", () => heard.at(-1) === last);
  expect(heard).toEqual(numbersTo(last));
  expect(proxy.streams).toBe(1);
});

test("WebSockets that are cut at once, three times: HTTP", async () => {
  await using proxy = await HostileProxy.to(service.port, {});
  const bob = await client("bob", proxy.url);
  for (let cut = 1; cut <= 3; cut++) {
    await until("it is connected", () => proxy.upgrades === cut && bob.isConnected);
    proxy.cut();
  }
  await connected(bob);
  expect(proxy.upgrades).toBe(3);
});

test("back to a WebSocket: messages both ways once and in order, and the others see nothing", async () => {
  const hostility: { upgrades?: 403 } = { upgrades: 403 };
  await using proxy = await HostileProxy.to(service.port, hostility);
  const { parley, seen, states } = await observer("kept/back");
  const bob = await client("bob", proxy.url);
  const heard: unknown[] = [];
  const trouble: string[] = [];
  const statuses: string[] = [];
  const chat = bob.channel("kept/back");
  chat.on("message", ({ data }) => heard.push(data));
  chat.on("gap", ({ reason }) => trouble.push(reason));
  bob.on("error", ({ code }) => trouble.push(code));
  bob.on("status", ({ state, transport }) => statuses.push(`${state} ${transport}`));
  const directs: unknown[] = [];
  bob.on("direct", ({ data }) => directs.push(data));
  await stateOf(chat).set({ mood: "good" });
  const stops = [counting(parley, "kept/back"), counting(bob, "kept/back")];
  let sent = 0;
  let isOver = false;
  const sending = (async () => {
    for (; !isOver; sent++) await Promise.all([parley.send("bob", sent), Bun.sleep(PUBLISH_EVERY_MS)]);
  })();
  await until("messages go both ways", () => heard.length > 5 && seen.length > 5);
  delete hostility.upgrades;
  const { connection } = await new Promise<{ connection?: string }>((resolve) => {
    bob.once("welcome", resolve);
    (globalThis as unknown as EventTarget).dispatchEvent(new Event("online"));
  });
  const before = heard.length;
  await until("messages go on", () => heard.length > before + 20);
  await until("the connection over HTTP is closed", () => proxy.openStreams === 0);
  isOver = true;
  await sending;
  const [last = 0, own = 0] = await Promise.all(stops.map((stop) => stop()));
  await until("the last messages come", () => heard.at(-1) === last && seen.at(-1) === `bob: ${own}`);
  await until("the direct messages come", () => directs.length >= sent);
  expect(heard).toEqual(numbersTo(last));
  expect(directs).toEqual([...Array(sent).keys()]);
  expect(seen).toEqual(["bob joined", ...numbersTo(own).map((number) => `bob: ${number}`)]);
  await until("the state is there", () => states().length === 1);
  expect([states(), trouble, statuses]).toEqual([[{ mood: "good" }], [], ["connected http", "connected websocket"]]);
  expect(connection).toBeDefined();
});

test("parley listen says once that it uses HTTP", async () => {
  await using proxy = await HostileProxy.to(service.port, { upgrades: 403 });
  const env = { ...process.env, PARLEY_KEY: service.credential, PARLEY_URL: proxy.url };
  const command = parleyCommand("listen", "plain/cli", "--count", "2");
  const child = Bun.spawn([...command], { env, stdio: ["ignore", "pipe", "pipe"] });
  const parley = await client("publisher", service.url);
  const [output, errors] = [new Response(child.stdout).text(), new Response(child.stderr).text()];
  await connected(parley, "websocket");
  while (child.exitCode === null)
    await Promise.all([parley.channel("plain/cli").publish("hello"), Bun.sleep(PUBLISH_EVERY_MS)]);
  expect([child.exitCode, (await output).match(/hello/g)?.length]).toEqual([0, 2]);
  expect((await errors).match(/WebSockets to http:\S+ are blocked; connected over HTTP instead/g)).toHaveLength(1);
});
