/** One of two workers has as many connections as it can hold: the other one gets the new ones. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readMetrics } from "../conformance/raw/support/metrics.ts";
import { fresh, type Guest, QUIET, subscribe, tokenQuery, type World } from "../conformance/raw/support/world.ts";
import { filesLimitedTo } from "../faults/support/open-files.ts";
import { retried, until } from "../support/wait.ts";
import { attempt } from "../support/wire/connect.ts";
import { nodesOf, startWorkers } from "./support/workers.ts";

setDefaultTimeout(60_000);

/** Each process has it. */
const LIMIT = 160;
/** If both workers listened, this number of connects in a row would reach the same one with a probability of 1 in 2^30. */
const IN_A_ROW = 30;

let world: World;
beforeAll(async () => {
  world = await startWorkers(filesLimitedTo(LIMIT));
});
afterAll(() => world.stop());

async function fullWorkers(): Promise<number[]> {
  // A full worker closes connections: a request may reach one before the other has closed its own.
  const metrics = await retried("the metrics are answered", () => readMetrics(world.server));
  return [0, 1].filter((slot) => metrics.get(`parley_files_full{worker="${slot}"}`) === 1);
}

/** The slot of the worker that a peer is connected to. */
async function workerOf({ peerId }: Guest): Promise<number> {
  const peer = await world.admin.must<{ connections: readonly { readonly nodeId: string }[] }>(
    "GET",
    `/apps/${world.app._id}/peers/${peerId}`,
  );
  return (await nodesOf(world)).find(({ nodeId }) => nodeId === peer.connections[0]?.nodeId)?.worker ?? -1;
}

test("a full worker leaves new connections to the other one, keeps its own, and takes new ones when it has room", async () => {
  const channel = fresh("everyone");
  const held: Guest[] = [];
  const connect = async (): Promise<Guest> => {
    const guest = await world.guest(QUIET);
    held.push(guest);
    return guest;
  };
  const drop = (guests: readonly Guest[]): void => {
    for (const guest of guests) {
      guest.wire.drop();
      held.splice(held.indexOf(guest), 1);
    }
  };
  const reachesAll = async (data: string): Promise<void> => {
    for (const { wire } of held) await subscribe(wire, channel);
    expect((await world.restPublish(channel, { data })).status).toBe(200);
    for (const { wire } of held) await wire.until("message", (frame) => frame.data === data);
  };
  /** Connections of a process have ids with the same beginning. */
  const sameWorker = ({ welcome }: Guest): Guest[] => {
    const beginning = (of: object): string => String("connection" in of && of.connection).split("-")[0] ?? "";
    return held.filter((guest) => beginning(guest.welcome) === beginning(welcome));
  };

  let full: number[] = [];
  while (full.length === 0) {
    for (let i = 0; i < 5; i++) await connect().catch(() => undefined);
    full = await fullWorkers();
  }
  // The other worker is about as full: its clients leave.
  const [first] = full;
  const [someone] = held;
  if (!someone) throw new Error("no one is connected");
  const his = sameWorker(someone);
  const isHisFull = (await workerOf(someone)) === first;
  drop(isHisFull ? held.filter((one) => !his.includes(one)) : his);
  await until("only one is full", async () => (await fullWorkers()).length === 1);
  const remaining = held.length;
  for (let i = 0; i < IN_A_ROW; i++) expect(await workerOf(await connect())).not.toBe(first);
  expect(await fullWorkers()).toEqual([first ?? -1]);
  await reachesAll("one is full");

  // When both are full, both listen and refuse.
  while (await connect().catch(() => undefined));
  await until("both are full", async () => (await fullWorkers()).length === 2);
  for (let i = 0; i < IN_A_ROW; i++)
    expect(await attempt(world.url, { query: tokenQuery(world.token()) })).toMatchObject({ status: 503 });

  // Clients of both leave: both take connections, one of them on a port that was opened anew.
  drop([...held.slice(0, remaining / 2), ...held.slice(remaining)]);
  await until("both have room", async () => (await fullWorkers()).length === 0);
  const slots = new Set<number>();
  for (let i = 0; i < IN_A_ROW; i++) slots.add(await workerOf(await connect()));
  expect([...slots].toSorted()).toEqual([0, 1]);
  await reachesAll("all have room");
});
