/** A member that keeps coming and going: what each byte of it makes the service write to a channel of a hundred. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Wire } from "../conformance/raw/support/wire.ts";
import { fresh, join } from "../conformance/raw/support/world.ts";
import { crowd, Siege } from "./support/siege.ts";

setDefaultTimeout(60_000);

const SEEN = { permissions: ["publish", "subscribe", "send", "presence"] };
const MEMBERS = 100;
/** One of the members. */
const FRIEND = "friend";
/** Of the one that flaps: as much as is allowed, since every change of it carries it. */
const PEER_METADATA = { about: "m".repeat(4096 - '{"about":""}'.length) };
/** A presence frame about it alone: its metadata, and what stands around it. */
const CHANGE_MAX_BYTES = 4096 + 300;
/** Within 10 s: five changes, and a join that a message makes necessary. */
const CHANGES_MAX = 6;

let siege: Siege;
let channel: string;
let members: Wire[];

beforeAll(async () => {
  siege = await Siege.start();
  channel = fresh("room");
  members = await crowd(MEMBERS, 10, async (at) => {
    const wire = await siege.wire({ ...SEEN, sub: at === 0 ? FRIEND : fresh("member") });
    await join(wire, channel);
    return wire;
  });
  // Everybody knows everybody: what comes from here on is about those who flap.
  await received();
});
afterAll(() => siege.stop());

/** All bytes that the members have received so far. */
async function received(): Promise<number> {
  for (const wire of members) await wire.sync();
  return members.reduce((sum, { bytesReceived }) => sum + bytesReceived, 0);
}

/** What the acks of `received` itself come to. */
const SYNC_MAX_BYTES = MEMBERS * 100;

interface Cost {
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** `attack` gives the frames that are sent in one go, and is called until it gives none. */
async function costOf(attack: (turn: number) => readonly object[] | undefined): Promise<Cost> {
  const before = await received();
  const wire = await siege.wire({ ...SEEN, peerMetadata: PEER_METADATA });
  let bytesIn = 0;
  for (let turn = 0; ; turn++) {
    const frames = attack(turn);
    if (!frames) break;
    wire.send(...frames);
    for (const frame of frames) bytesIn += JSON.stringify(frame).length + 6;
    await wire.sync();
    // Longer than a channel of this size waits between two ticks: each turn's state could be shown.
    await Bun.sleep(80);
  }
  const bytesOut = (await received()) - before - SYNC_MAX_BYTES;
  wire.drop();
  return { bytesIn, bytesOut };
}

const subscribe = (): object => ({ type: "subscribe", channel });
const unsubscribe = (): object => ({ type: "unsubscribe", channel });
const sendToNobody = { type: "send", to: "nobody", data: 1 };

test("coming and going with direct messages to nobody in between costs one change at most", async () => {
  const flap = [subscribe(), sendToNobody, unsubscribe(), sendToNobody];
  const { bytesIn, bytesOut } = await costOf((turn) => (turn === 0 ? Array(50).fill(flap).flat() : undefined));
  expect(bytesIn).toBeGreaterThan(9000);
  // Nobody receives anything, so nothing is shown ahead of its tick, and at the tick it is as it was.
  expect(bytesOut).toBeLessThanOrEqual(MEMBERS * CHANGE_MAX_BYTES);
});

test("coming and going slowly enough to be shown costs five changes within 10 s", async () => {
  const { bytesOut } = await costOf((turn) => (turn < 12 ? [turn % 2 === 0 ? subscribe() : unsubscribe()] : undefined));
  expect(bytesOut).toBeGreaterThan(2 * MEMBERS * 4096);
  expect(bytesOut).toBeLessThanOrEqual(CHANGES_MAX * MEMBERS * CHANGE_MAX_BYTES);
});

test("coming and going with messages in between costs those messages and six changes", async () => {
  const publish = { type: "publish", channel, data: 1 };
  const flap = [subscribe(), publish, unsubscribe(), publish];
  const { bytesOut } = await costOf((turn) => (turn === 0 ? Array(50).fill(flap).flat() : undefined));
  const messagesMaxBytes = 100 * MEMBERS * 200;
  expect(bytesOut).toBeLessThanOrEqual(messagesMaxBytes + CHANGES_MAX * MEMBERS * CHANGE_MAX_BYTES);
});

test("coming and going with direct messages to one member shows it to that member alone", async () => {
  const send = { type: "send", to: FRIEND, data: 1 };
  const flap = [subscribe(), send, unsubscribe(), send];
  const { bytesOut } = await costOf((turn) => (turn === 0 ? Array(50).fill(flap).flat() : undefined));
  // A hundred direct messages with the sender's metadata, six changes, and at the tick nothing.
  expect(bytesOut).toBeLessThanOrEqual((100 + CHANGES_MAX + 1) * CHANGE_MAX_BYTES);
});
