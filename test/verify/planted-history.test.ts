/** The checker finds single faults on channels with history, and reports nothing if there is no fault. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Kind } from "../../src/verify/findings.ts";
import { Fleet, FleetError, type FleetOptions, type Report } from "../../src/verify/fleet.ts";
import type { App } from "../support/admin.ts";
import { type Fault, FaultyProxy } from "../support/faulty-proxy.ts";
import { flowing } from "../support/flowing.ts";
import { runParley, type Server, startParley } from "../support/parley.ts";
import { until } from "../support/wait.ts";

const ONE_IN = 400;
const FAULTS = 3;

let server: Server;
beforeAll(async () => {
  server = await startParley({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0" } });
  const [app] = (await server.admin.must<{ data: App[] }>("GET", "/apps")).data;
  const channelRules = [{ pattern: "stored/**", history: { messages: 1000, seconds: 600 } }];
  await server.admin.must("PATCH", `/apps/${app?._id}`, { channelRules });
});
afterAll(() => server.stop());

const plan = (url: string, more: Partial<FleetOptions> = {}): FleetOptions => ({
  urls: [url],
  secretKey: server.keys.secretKey,
  clients: 40,
  channels: 1,
  rate: 100,
  prefix: "stored",
  history: true,
  ...more,
});

async function run(fault: Fault, more: Partial<FleetOptions> = {}): Promise<{ report: Report; planted: number }> {
  const every = fault === "drop replayed" ? 10 : ONE_IN;
  const line = await FaultyProxy.to(Number(new URL(server.url).port), fault, { every, most: FAULTS });
  await using link = line.link;
  await using fleet = await Fleet.open(plan(`ws://127.0.0.1:${link.port}`, more));
  fleet.talk();
  const wanted = fault === "none" ? 0 : FAULTS;
  const isEnough = (): boolean =>
    line.planted >= wanted && (fault === "drop replayed" || line.deliveries >= ONE_IN * FAULTS);
  await until("the faults are planted", isEnough, 120_000);
  // A hole shows when the next message arrives.
  await flowing(fleet);
  fleet.hush();
  return { report: await fleet.settle(fault === "none" ? 10_000 : 1000), planted: line.planted };
}

const kinds = ({ problems }: Report): Partial<Record<Kind, number>> =>
  Object.fromEntries(problems.map(({ kind, count }) => [kind, count]));

test("without a planted fault nothing is reported, and clients that cut their connections recover", async () => {
  const { report } = await run("none", { cuts: 20 });
  expect(report.problems).toEqual([]);
  const { recoveries, unrecovered, reconnects, replayed } = report.figures;
  expect({ recoveries, unrecovered }).toEqual({ recoveries: reconnects, unrecovered: 0 });
  expect(recoveries).toBeGreaterThan(5);
  expect(replayed).toBeGreaterThan(0);
});

test("drop: each is found", async () => {
  const { report, planted } = await run("drop");
  expect(planted).toBe(FAULTS);
  // The client that misses a message may see that first by the position of its own ack.
  const { hole = 0, ahead = 0, ...others } = kinds(report);
  expect([hole + ahead, others]).toEqual([FAULTS, {}]);
});

test("double: each is found", async () => {
  const { report, planted } = await run("double");
  expect(planted).toBe(FAULTS);
  expect(kinds(report)).toEqual({ doubled: FAULTS });
});

test("swap: each is found", async () => {
  const { report, planted } = await run("swap");
  expect(planted).toBe(FAULTS);
  // A message may be swapped with another one, or with the ack of an own one.
  const { disordered = 0, ahead = 0, ...others } = kinds(report);
  expect([disordered + ahead, others]).toEqual([FAULTS, {}]);
});

test("a message that is missing in a replay is found", async () => {
  const { report } = await run("drop replayed", { clients: 80, cuts: 40 });
  const { hole = 0, miscounted = 0, lost = 0, ...others } = kinds(report);
  expect(others).toEqual({});
  expect(hole + miscounted + lost).toBeGreaterThan(0);
});

test("--history demands a channel rule, and the report counts recoveries", async () => {
  const refused = await Fleet.open(plan(server.url.replace(/^http/, "ws"), { prefix: "plain" })).catch(
    (error) => error,
  );
  expect(refused).toBeInstanceOf(FleetError);
  expect(refused.message).toMatch(/^plain\/\S+ has no history: a channel rule/);
  const args = ["--clients", "30", "--channels", "3", "--rate", "100", "--seconds", "2", "--cuts", "3"];
  const { code, output } = await runParley(
    ["verify", "--url", server.url, "--prefix", "stored", "--history", ...args],
    {
      PARLEY_KEY: server.keys.secretKey,
    },
  );
  expect([code, output]).toEqual([0, expect.stringMatching(/^verdict +correct$/m)]);
  expect(output).toMatch(/^recoveries +[1-9]\d*: \d+ recovered with \d+ messages replayed, 0 not recovered$/m);
});
