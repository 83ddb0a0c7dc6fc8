/** The checker finds one faulty delivery in ten thousand (in npm test: in 1,000), and reports nothing if there is no fault. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Kind } from "../../src/verify/findings.ts";
import { Fleet, type Report } from "../../src/verify/fleet.ts";
import { type Fault, FaultyProxy } from "../support/faulty-proxy.ts";
import { type Server, startParley } from "../support/parley.ts";
import { until } from "../support/wait.ts";

const ONE_IN = process.env.PARLEY_TEST_FULL ? 10_000 : 1000;
const FAULTS = 3;
const DELIVERIES_MIN = FAULTS * ONE_IN;

let server: Server;
beforeAll(async () => {
  server = await startParley({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0" } });
});
afterAll(() => server.stop());

/** Sends until enough was delivered, with a fault planted in one of ONE_IN deliveries. */
async function run(fault: Fault): Promise<{ report: Report; deliveries: number; planted: number }> {
  const line = await FaultyProxy.to(Number(new URL(server.url).port), fault, { every: ONE_IN, most: FAULTS });
  await using link = line.link;
  const url = `ws://127.0.0.1:${link.port}`;
  // Few messages to many receivers, because deliveries are what counts here.
  await using fleet = await Fleet.open({
    urls: [url],
    secretKey: server.keys.secretKey,
    clients: 80,
    channels: 1,
    rate: 200,
  });
  fleet.talk();
  // A swap is complete only when the sender has sent another message.
  const wanted = fault === "none" ? 0 : FAULTS;
  await until("the faults are planted", () => line.deliveries >= DELIVERIES_MIN && line.planted >= wanted, 120_000);
  fleet.hush();
  const settleMs = fault === "none" ? 10_000 : 1500;
  const report = await fleet.settle(settleMs);
  return { report, deliveries: line.deliveries, planted: line.planted };
}

const kinds = ({ problems }: Report): Partial<Record<Kind, number>> =>
  Object.fromEntries(problems.map(({ kind, count }) => [kind, count]));
const examples = ({ problems }: Report): string => problems.flatMap((problem) => problem.examples).join("\n");

test("without a planted fault nothing is reported", async () => {
  const { report, deliveries, planted } = await run("none");
  expect([report.problems, planted]).toEqual([[], 0]);
  expect(deliveries).toBeGreaterThanOrEqual(DELIVERIES_MIN);
  // Every message that the server wrote was checked, and direct messages as well.
  expect(report.figures.deliveries).toBeGreaterThan(deliveries);
  expect(report.figures).toMatchObject({ refused: 0, unknown: 0, errors: {}, closes: {}, reconnects: 0 });
  expect(report.figures.acked).toBe(report.figures.sent);
});

const PEER = "[0-9a-f]{8}-\\d+";
test.each([
  ["drop", "lost", `${PEER} never got number \\d+ of ${PEER} in verify/`],
  ["double", "doubled", `${PEER} got number \\d+ of ${PEER} in verify/\\S+ twice`],
  ["swap", "disordered", `${PEER} got number \\d+ of ${PEER} in verify/\\S+ after number \\d+`],
  ["flap", "flapped", `${PEER} was shown that ${PEER} left, which it did not, in verify/`],
] as const)(`%s: one in ${ONE_IN} is found, counted and reported`, async (fault, kind, sentence) => {
  const { report, planted } = await run(fault);
  expect(planted).toBe(FAULTS);
  expect(kinds(report)).toEqual({ [kind]: FAULTS });
  expect(examples(report)).toMatch(new RegExp(sentence));
});

test("left: a member that is announced as left and is still there gives two findings", async () => {
  const { report, planted } = await run("left");
  const { flapped, roster, ...others } = kinds(report);
  expect([planted, flapped, others]).toEqual([FAULTS, FAULTS, {}]);
  // A roster counts once, however many members are missing in it.
  expect(roster).toBeWithin(1, FAULTS + 1);
  expect(examples(report)).toMatch(new RegExp(`${PEER} misses ${PEER} in verify/`));
});
