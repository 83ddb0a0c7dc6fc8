/** Connections over HTTP with several workers: a POST may reach any of them. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { fresh, tokenQuery, type World } from "../conformance/raw/support/world.ts";
import { call } from "../support/http.ts";
import { until } from "../support/wait.ts";
import { connectOverHttp, type OverHttp } from "../support/wire/over-http.ts";
import { childrenOf, startWorkers } from "./support/workers.ts";

setDefaultTimeout(120_000);

let world: World;
beforeAll(async () => {
  world = await startWorkers({}, 2);
});
afterAll(() => world.stop());

const opened = (): Promise<OverHttp> => connectOverHttp(world.url, { query: tokenQuery(world.token()) });
/** The process that holds it, by the name that it has among the nodes. */
const homeOf = ({ session }: OverHttp): string => session.slice(3, session.indexOf("."));

const post = async (session: string, n: number, body: string): Promise<number> =>
  (await call(`${world.url}/v1/events?session=${session}&n=${n}`, { method: "POST", body })).status;

test("frames of many POSTs arrive in order and once, whichever worker gets them", async () => {
  const channel = fresh("room");
  const guests = [await opened()];
  await until("both workers hold connections", async () => {
    guests.push(await opened());
    return new Set(guests.map(homeOf)).size === 2;
  });
  const { wire: reader } = await world.subscriber(channel);
  const sent: Record<string, number[]> = {};
  await Promise.all(
    guests.map(async ({ session, peerId }) => {
      sent[peerId] = Array.from({ length: 30 }, (_, n) => n + 1);
      for (let n = 1; n <= 30; n++) {
        const frame = JSON.stringify({ type: "publish", channel, data: n });
        // Each is sent twice: a client cannot know whether a POST whose answer was lost was taken.
        const statuses = [await post(session, n, frame), await post(session, n, frame)];
        expect([peerId, n, ...statuses]).toEqual([peerId, n, 204, 204]);
      }
    }),
  );
  const got: Record<string, unknown[]> = {};
  for (let count = 0; count < 30 * guests.length; count++) {
    const { from, data } = await reader.frame("message");
    got[from] = [...(got[from] ?? []), data];
  }
  expect(got).toEqual(sent);
  expect(await reader.sync()).toEqual([]);
  for (const { wire } of guests) wire.drop();
});

test("a connection whose worker is killed is gone for all: 503 until the others know, then 404", async () => {
  const guests = await Promise.all(Array.from({ length: 12 }, opened));
  const pids = childrenOf(world.server.pid);
  const [victim = 0] = pids;
  process.kill(victim, "SIGKILL");
  await until("its connections have ended", () => guests.some(({ wire }) => wire.isOver));
  await until("the worker is replaced", () => {
    const now = childrenOf(world.server.pid);
    return now.length === pids.length && !now.includes(victim);
  });
  const [gone, kept] = [guests.find(({ wire }) => wire.isOver), guests.find(({ wire }) => !wire.isOver)];
  if (!gone || !kept) throw new Error("one worker held all connections");
  await until("it is gone", async () => {
    const status = await post(gone.session, 1, '{"type":"ping"}');
    expect([404, 503]).toContain(status);
    return status === 404;
  });
  for (let n = 1; n <= 10; n++) expect(await post(kept.session, n, '{"type":"ping"}')).toBe(204);
  for (const { wire } of guests) wire.drop();
});

/** Shorter than what a worker may be silent for. */
const PAUSED_MS = 1000;
/** Its supervisor replaces a worker that is silent for longer. */
const ANSWER_MAX_MS = 15_000;

test("POSTs while their worker is paused are taken once, whichever worker gets them", async () => {
  const channel = fresh("room");
  const { wire: reader } = await world.subscriber(channel);
  const guests = await Promise.all(Array.from({ length: 8 }, opened));
  const [victim = 0] = childrenOf(world.server.pid);
  process.kill(victim, "SIGSTOP");
  const taking = guests.map(async ({ session, peerId }) => {
    const frame = JSON.stringify({ type: "publish", channel, data: peerId });
    await until(
      "it is taken",
      async () => {
        // One that came to the paused worker waits there.
        const status = await post(session, 1, frame);
        expect([204, 503]).toContain(status);
        return status === 204;
      },
      ANSWER_MAX_MS,
    );
  });
  await Bun.sleep(PAUSED_MS);
  process.kill(victim, "SIGCONT");
  await Promise.all(taking);
  const heard = new Set<unknown>();
  for (const _ of guests) heard.add((await reader.frame("message")).data);
  expect(heard).toEqual(new Set(guests.map(({ peerId }) => peerId)));
  expect(await reader.sync()).toEqual([]);
  for (const { wire, session } of guests) {
    wire.drop();
    // Late: it has ended, and which worker is asked does not matter.
    await until("it is gone", async () => (await post(session, 2, '{"type":"ping"}')) === 404);
  }
});
