/**
 * A day of a client in two minutes: its memory after a collection does not grow, under Node and under Bun. Long: PARLEY_TEST_FULL=1.
 * PARLEY_TEST_DAY_SECONDS makes it shorter or longer.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { Parley } from "../../client/src/index.ts";
import { stateOf } from "../../client/src/state.ts";
import { NetworkProxy } from "../support/network-proxy.ts";
import { EmptyProject } from "./support/project.ts";
import { IS_FULL, Service } from "./support/service.ts";

/** How long a guest stays. */
const STAY_MS = 50;

const SECONDS = Number(process.env.PARLEY_TEST_DAY_SECONDS ?? 120);
setDefaultTimeout((SECONDS + 120) * 1000);

const CUT_EVERY_MS = 350;
const CALM_EVERY_MS = 8000;
/** Members that come and go one after the other, in each of these places. */
const PLACES = 3;
/** The first points are the warm-up: code is compiled, and tables reach their size. */
const WARM_UP_POINTS = 3;
/** The heap of a runtime moves by itself: this much of growth over the rest of the day is none. */
const GROWTH_MAX = 0.08;
/** What is under way at the moment; a day makes thousands of each. */
const TIMERS_MAX = 100;
const MORE_OBJECTS_MAX = 100;

interface Point {
  readonly heap: number;
  readonly objects: Readonly<Record<string, number>>;
  readonly timers: number;
  readonly members: number;
  readonly connects: number;
  readonly renewals: number;
  readonly visits: number;
  readonly published: number;
  readonly sent: number;
  readonly joined: number;
  readonly unhandled: number;
}

let service: Service;
let project: EmptyProject;
beforeAll(async () => {
  if (!IS_FULL) return;
  const env = { PARLEY_FRAMES_PER_SECOND: "5000", PARLEY_FRAMES_BURST: "5000" };
  service = await Service.start([{ pattern: "kept/*", history: { messages: 100, seconds: 3600 }, graceSec: 5 }], env);
  project = await EmptyProject.withBuild();
  project.link("ws");
  cpSync(join(import.meta.dir, "apps/day.mjs"), join(project.folder, "day.mjs"));
});
afterAll(async () => {
  project?.remove();
  await service?.stop();
});

/** Members of the same channel that come, write, and go, until it is stopped. */
function crowd(): () => Promise<void> {
  let isOver = false;
  let states = 0;
  const host = new Parley({ url: service.url, token: () => service.token("crowd") });
  host.on("direct", () => undefined);
  const typing = stateOf<{ number: number }>(host.channel("kept/main"));
  const place = async (): Promise<void> => {
    while (!isOver) {
      const guest = new Parley({ url: service.url, key: service.publishableKey });
      const channel = guest.channel("kept/main");
      await channel.subscribe();
      // Ten a second are allowed.
      await typing.set({ number: ++states }).catch(() => undefined);
      for (let number = 0; number < 5; number++) await channel.publish({ text: "x".repeat(200), number });
      await Bun.sleep(STAY_MS);
      guest.close();
    }
  };
  const places = Array.from({ length: PLACES }, place);
  return async () => {
    isOver = true;
    await Promise.all(places);
    host.close();
  };
}

/** The growth per point, as a line through all points. */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const of = (part: (at: number, value: number) => number): number =>
    values.reduce((sum, value, at) => sum + part(at, value), 0);
  return of((at, value) => (at - middle) * (value - mean)) / of((at) => (at - middle) ** 2);
}

async function dayOf(command: readonly string[]): Promise<readonly Point[]> {
  const line = await NetworkProxy.to(service.port);
  const leave = crowd();
  const args = [`http://127.0.0.1:${line.port}`, service.url, service.credential, String(SECONDS)];
  const child = Bun.spawn([...command, "day.mjs", ...args], { cwd: project.folder, stdout: "pipe", stderr: "inherit" });
  const beganMs = performance.now();
  const cutting = setInterval(() => {
    // In the calm between, tokens are renewed.
    if (Math.floor((performance.now() - beganMs) / CALM_EVERY_MS) % 2 === 1) return;
    line.cut();
    line.mend();
  }, CUT_EVERY_MS);
  try {
    const output = await new Response(child.stdout).text();
    expect(await child.exited).toBe(0);
    return output
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text) as Point);
  } finally {
    clearInterval(cutting);
    child.kill("SIGKILL");
    await leave();
    await line.close();
  }
}

describe.skipIf(!IS_FULL)("a day of a client", () => {
  test.each([
    ["Node", ["node", "--expose-gc"]],
    ["Bun", [process.execPath]],
  ] as const)("under %s does not grow", async (runtime, command) => {
    const points = await dayOf(command);
    const last = points.at(-1);
    const settled = points.slice(WARM_UP_POINTS);
    const heaps = settled.map(({ heap }) => heap);
    const growth = (slopeOf(heaps) * (heaps.length - 1)) / (heaps[0] ?? 1);
    console.log(
      `${runtime}: ${JSON.stringify({ growth: growth.toFixed(3), heaps: points.map(({ heap }) => Math.round(heap / 1024)), ...last })}`,
    );
    expect(points).toHaveLength(10);
    expect(growth).toBeLessThan(GROWTH_MAX);
    for (const [kind, count] of Object.entries(last?.objects ?? {}))
      expect([kind, count]).toSatisfy(() => count < (settled[0]?.objects[kind] ?? 0) + MORE_OBJECTS_MAX);
    for (const { timers, members, unhandled } of points) {
      expect(timers).toBeLessThan(TIMERS_MAX);
      expect(members).toBeLessThan(PLACES * 100);
      expect(unhandled).toBe(0);
    }
    // It was a day: what it has done is in proportion to its length.
    expect(last?.connects).toBeGreaterThan(SECONDS / 2);
    expect(last?.renewals).toBeGreaterThan(0);
    for (const count of [last?.visits, last?.published, last?.sent, last?.joined])
      expect(count).toBeGreaterThan(SECONDS * 2);
  });
});
