/**
 * A laptop that sleeps. For ten minutes in a jump of the clock: the network of the client carries nothing any more, its clock on the
 * wall goes on by ten minutes, and its timers do not notice. With PARLEY_TEST_FULL=1 also without a trick: its process is stopped
 * until the service has dropped the silent connection.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { Parley } from "../../client/src/index.ts";
import { NetworkProxy } from "../support/network-proxy.ts";
import { SLACK_MS } from "../support/slack.ts";
import { until } from "../support/wait.ts";
import { IS_FULL, Service } from "./support/service.ts";

setDefaultTimeout(180_000);

const SLEEP_MS = 600_000;
/** The client looks every two seconds, and gives the service four seconds to answer. */
const NOTICED_WITHIN_MS = 10_000 + SLACK_MS;

let service: Service;
let publisher: Parley;
beforeAll(async () => {
  service = await Service.start([{ pattern: "kept/*", history: { messages: 1000, seconds: 3600 } }]);
  publisher = new Parley({ url: service.url, key: service.publishableKey });
  await publisher.channel("kept/1").subscribe();
});
afterAll(async () => {
  publisher.close();
  await service.stop();
});

const publish = async (...numbers: number[]): Promise<void> => {
  for (const number of numbers) await publisher.channel("kept/1").publish(number);
};

test("after ten minutes of sleep the client comes back with a new token, and gets what it has missed", async () => {
  const proxy = await NetworkProxy.to(service.port);
  const reasons: string[] = [];
  const parley = new Parley({
    url: `http://127.0.0.1:${proxy.port}`,
    token: ({ reason }) => {
      reasons.push(reason);
      return service.token("sleeper", 300);
    },
  });
  const channel = parley.channel("kept/1");
  const seen: unknown[] = [];
  channel.on("message", ({ data }) => seen.push(data));
  channel.on("gap", () => seen.push("gap"));
  await channel.subscribed;
  await publish(1, 2);
  await until("messages arrive", () => seen.length === 2);
  const { now } = Date;
  try {
    proxy.stall();
    await publish(3, 4, 5);
    Date.now = () => now() + SLEEP_MS;
    const tookMs = await until("the sleep is noticed", () => parley.status.state === "reconnecting");
    expect(tookMs).toBeLessThan(NOTICED_WITHIN_MS);
    proxy.mend();
    await until("it is back", () => parley.isConnected && seen.length >= 5);
    await publish(6);
    await until("new messages arrive", () => seen.length >= 6);
    expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
    // The first one has ended meanwhile, by the clock of the client.
    expect(reasons).toEqual(["connect", "connect"]);
  } finally {
    Date.now = now;
    parley.close();
    await proxy.close();
  }
});

test.skipIf(!IS_FULL)("a process that was stopped until the service dropped it comes back and recovers", async () => {
  const script = join(import.meta.dir, "apps/sleeper.ts");
  const child = Bun.spawn([process.execPath, script, service.url, await service.token("stopped")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const events: [string, unknown][] = [];
  const reading = (async () => {
    let text = "";
    for await (const bytes of child.stdout) {
      text += new TextDecoder().decode(bytes);
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) events.push(JSON.parse(line));
    }
  })();
  const of = (name: string): unknown[] => events.filter(([event]) => event === name).map(([, value]) => value);
  const { presence } = publisher.channel("kept/1");
  const isThere = (): boolean => presence.get("stopped") !== undefined;
  try {
    await until("it is subscribed", () => of("subscribed").length === 1 && isThere());
    await publish(11);
    await until("messages arrive", () => of("message").length === 1);
    child.kill("SIGSTOP");
    await publish(12, 13);
    await until("the service drops the silent connection", () => !isThere(), 120_000);
    // What came before waits in the buffers of its machine; this one has no connection to come on.
    await publish(14);
    child.kill("SIGCONT");
    const tookMs = await until("it recovers", () => of("message").length >= 4);
    console.log(`back after ${Math.round(tookMs)} ms`);
    expect(of("message")).toEqual([11, 12, 13, 14]);
    expect(of("gap")).toEqual([]);
    expect(of("subscribed")).toEqual([null, true]);
    expect(of("status")).toEqual(["connected", "reconnecting", "connected"]);
  } finally {
    child.kill("SIGKILL");
    await reading;
  }
});
