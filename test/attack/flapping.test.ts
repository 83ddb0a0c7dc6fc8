/** A member that joins and leaves all the time: how much each of its bytes makes the service write to a channel of a hundred. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { fresh, join } from "../conformance/raw/support/world.ts";
import type { Wire } from "../support/wire/wire.ts";
import { crowd, Siege } from "./support/siege.ts";

setDefaultTimeout(60_000);

/** Longer than the pause between two ticks of a channel of this size, so that each state can be announced. */
const BETWEEN_TICKS_MS = 80;

const SEEN = { permissions: ["publish", "subscribe", "send", "presence"] };
const MEMBERS = 100;
/** One of the members. */
const FRIEND = "friend";
/** The flapping peer's metadata has the maximum size, because every change carries it. */
const PEER_METADATA = { about: "m".repeat(4096 - '{"about":""}'.length) };
/** The size of a presence frame about this peer alone: its metadata and the frame around it. */
const CHANGE_MAX_BYTES = 4096 + 300;
/** The limit within 10 s: five changes, and one join that has to precede a message. */
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
  // All members know each other by now, so every later frame is about the flapping peer.
  await received();
});
afterAll(() => siege.stop());

/** All bytes that the members have received so far. */
async function received(): Promise<number> {
  for (const wire of members) await wire.sync();
  return members.reduce((sum, { bytesReceived }) => sum + bytesReceived, 0);
}

/** The size of the acks that `received` itself causes. */
const SYNC_MAX_BYTES = MEMBERS * 100;

interface Cost {
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** `attack` returns the frames to send at once, and is called until it returns none. */
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
    await Bun.sleep(BETWEEN_TICKS_MS);
  }
  const bytesOut = (await received()) - before - SYNC_MAX_BYTES;
  wire.drop();
  return { bytesIn, bytesOut };
}

const subscribe = (): object => ({ type: "subscribe", channel });
const unsubscribe = (): object => ({ type: "unsubscribe", channel });
const sendToMissingPeer = { type: "send", to: "no-such-peer", data: 1 };

test("joining and leaving with direct messages to a missing peer in between costs at most one change", async () => {
  const flap = [subscribe(), sendToMissingPeer, unsubscribe(), sendToMissingPeer];
  const { bytesIn, bytesOut } = await costOf((turn) => (turn === 0 ? Array(50).fill(flap).flat() : undefined));
  expect(bytesIn).toBeGreaterThan(9000);
  // No peer receives a message, so nothing is announced before its tick, and at the tick nothing has changed.
  expect(bytesOut).toBeLessThanOrEqual(MEMBERS * CHANGE_MAX_BYTES);
});

test("joining and leaving slowly enough to be announced costs five changes within 10 s", async () => {
  const { bytesOut } = await costOf((turn) => (turn < 12 ? [turn % 2 === 0 ? subscribe() : unsubscribe()] : undefined));
  expect(bytesOut).toBeGreaterThan(2 * MEMBERS * 4096);
  expect(bytesOut).toBeLessThanOrEqual(CHANGES_MAX * MEMBERS * CHANGE_MAX_BYTES);
});

test("joining and leaving with messages in between costs those messages and six changes", async () => {
  const publish = { type: "publish", channel, data: 1 };
  const flap = [subscribe(), publish, unsubscribe(), publish];
  const { bytesOut } = await costOf((turn) => (turn === 0 ? Array(50).fill(flap).flat() : undefined));
  const messagesMaxBytes = 100 * MEMBERS * 200;
  expect(bytesOut).toBeLessThanOrEqual(messagesMaxBytes + CHANGES_MAX * MEMBERS * CHANGE_MAX_BYTES);
});

test("joining and leaving with direct messages to one member is announced to that member alone", async () => {
  const send = { type: "send", to: FRIEND, data: 1 };
  const flap = [subscribe(), send, unsubscribe(), send];
  const { bytesOut } = await costOf((turn) => (turn === 0 ? Array(50).fill(flap).flat() : undefined));
  // A hundred direct messages with the sender's metadata, six changes, and nothing at the tick.
  expect(bytesOut).toBeLessThanOrEqual((100 + CHANGES_MAX + 1) * CHANGE_MAX_BYTES);
});
