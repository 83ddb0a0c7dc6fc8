/** Rounds of turns: some people enter rooms, then as many peers enter plain channels, until all are inside; CPU of the service per step. */
import { setTimeout as sleep } from "node:timers/promises";
import { exactCpuSeconds } from "../lib/cpu-clock.ts";
import type { Room, RoomNode } from "./node.ts";
import { inChannels, inRooms, PER_ROOM, type RoomSteps, type Steps } from "./people.ts";
import { exchange } from "./signals.ts";

/** A machine's speed changes within a second: a turn is short, so that both get the same share of fast and slow times. */
const ROOMS_PER_TURN = 5;
/** What follows the last answer of a step, such as presence for the others, belongs to it. */
const SETTLE_MS = 15;

/** Below the rate of joins per room. */
const WARM_UPS_PER_ROOM = 20;

/** Microseconds of CPU per participant and step, and per signal. */
export interface Round {
  readonly steps: Readonly<Record<string, number>>;
  readonly usPerSignal: number;
}

export interface Effort {
  readonly rooms: number;
  readonly rounds: number;
  /** How often all of them enter before anything is measured. */
  readonly warmUps: number;
}

export async function measureRounds(node: RoomNode, { rooms, rounds, warmUps }: Effort): Promise<Round[]> {
  await warmUp(node, rooms, warmUps);
  const measured: Round[] = [];
  for (let at = 0; at < rounds; at++) measured.push(await measureRound(node, rooms, at));
  return measured;
}

/** The runtime compiles what runs often in threads of its own: a service that has run for a minute has this behind it. */
export async function warmUp(node: RoomNode, roomCount: number, times: number): Promise<void> {
  let rooms: readonly Room[] = [];
  for (let at = 0; at < times; at++) {
    if (at % WARM_UPS_PER_ROOM === 0) rooms = await node.newRooms(roomCount);
    for (const all of [await inRooms(node, rooms), inChannels(node, roomCount * PER_ROOM, `warm-up-${at}`)]) {
      for (const [, work] of all.steps) await work();
      await all.leave();
    }
  }
}

export async function measureRound(node: RoomNode, roomCount: number, number: number): Promise<Round> {
  const rooms = await node.newRooms(roomCount);
  const seconds = new Map<string, number>();
  const measure = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    const before = cpuOf(node);
    await work();
    await sleep(SETTLE_MS);
    seconds.set(name, (seconds.get(name) ?? 0) + cpuOf(node) - before);
  };
  const take = async ({ steps }: Steps): Promise<void> => {
    for (const [name, work] of steps) await measure(name, work);
  };
  const inside: RoomSteps[] = [];
  const plain: Steps[] = [];
  for (let from = 0; from < rooms.length; from += ROOMS_PER_TURN) {
    const some = rooms.slice(from, from + ROOMS_PER_TURN);
    const people = await inRooms(node, some);
    const peers = inChannels(node, some.length * PER_ROOM, `round-${number}-${from}`);
    inside.push(people);
    plain.push(peers);
    await sleep(SETTLE_MS);
    // In turns, so that neither always follows the other.
    for (const one of (from / ROOMS_PER_TURN) % 2 === 0 ? [peers, people] : [people, peers]) await take(one);
  }
  const signals = await signalling(inside, (work) => measure("signals", work));
  for (const one of [...inside, ...plain]) await one.leave();
  const usPer = (name: string, count: number): number => ((seconds.get(name) ?? Number.NaN) / count) * 1e6;
  const names = [inside, plain].flatMap(([first]) => first?.steps.map(([name]) => name) ?? []);
  const steps = Object.fromEntries(names.map((name) => [name, usPer(name, rooms.length * PER_ROOM)]));
  return { steps, usPerSignal: usPer("signals", signals) };
}

const cpuOf = ({ pids }: RoomNode): number => pids.reduce((sum, pid) => sum + exactCpuSeconds(pid), 0);

/** Every pair of each room. Returns how many signals there were. */
async function signalling(
  inside: readonly RoomSteps[],
  measure: (work: () => Promise<unknown>) => Promise<void>,
): Promise<number> {
  const rooms = inside.flatMap((one) => one.rooms);
  for (const { client, inbox } of rooms.flat()) await client.ask({ type: "subscribe", channel: inbox });
  await sleep(SETTLE_MS);
  let signals = 0;
  await measure(async () => {
    for (const people of rooms) signals += await exchange(people);
  });
  return signals;
}
