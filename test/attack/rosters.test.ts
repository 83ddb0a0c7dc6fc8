/** More rosters at once than a connection's buffers hold: a client that reads gets all of them. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { connect } from "../support/wire/connect.ts";
import type { Frame } from "../support/wire/shapes.ts";
import type { Wire } from "../support/wire/wire.ts";
import { type CrowdedNode, startCrowded } from "./support/crowded.ts";

setDefaultTimeout(60_000);

const KIB = 1024;
/** A roster of about 800 kB. */
const CROWD = { members: 200, metadataBytes: 4096 };
/** Enough channels to exceed the kernel's buffer, up to 4 MiB at the sender's end, plus the service's own. */
const CHANNELS = Array.from({ length: 12 }, (_, i) => `room/${i}`);

/** After the timeout for a pong: by then the rosters are sent without it. */
const PONG_TIMEOUT_OVER_MS = 700;

let node: CrowdedNode;
const wires: Wire[] = [];
afterEach(async () => {
  for (const wire of wires.splice(0)) wire.drop();
  await node.stop();
});

async function reader(): Promise<Wire> {
  const wire = await connect(node.url);
  wires.push(wire);
  await wire.frame("welcome");
  return wire;
}

/** Subscribes to all channels at once, as clients do when they reconnect. */
const subscribeToAll = (wire: Wire, channels: readonly string[]): void =>
  wire.send(...channels.map((channel) => ({ type: "subscribe", channel })));

/** Reads until the roster of each of these channels is complete. */
async function rosters(wire: Wire, channels: readonly string[]): Promise<void> {
  const missing = new Map(channels.map((channel) => [channel, CROWD.members]));
  while (missing.size > 0) {
    const { channel, joined } = await wire.until("presence", (frame: Frame<"presence">) => frame.snapshot === true);
    const left = (missing.get(channel) ?? 0) - joined.length;
    if (left > 0) missing.set(channel, left);
    else missing.delete(channel);
  }
}

test("a client that subscribes to twelve channels with 800 kB of roster each gets all of them and stays connected", async () => {
  node = startCrowded({ ...CROWD, maxPendingBytes: 1024 * KIB });
  const wire = await reader();
  subscribeToAll(wire, CHANNELS);
  await rosters(wire, CHANNELS);
  expect(await wire.sync()).toEqual([]);
  expect(node.hub.connections.count).toBe(1);
});

test("with a limit of 64 KiB per connection, the same rosters come in parts and no connection is closed", async () => {
  node = startCrowded({ ...CROWD, maxPendingBytes: 64 * KIB });
  const channels = CHANNELS.slice(0, 3);
  const wire = await reader();
  subscribeToAll(wire, channels);
  await rosters(wire, channels);
  expect(await wire.sync()).toEqual([]);
  for (const { type, snapshot, ...frame } of wire.frames as Frame<"presence">[])
    if (type === "presence") expect([snapshot, JSON.stringify(frame).length <= 64 * KIB]).toEqual([true, true]);
});

test("a client that reads only occasionally gets them as it reads, and stays connected", async () => {
  node = startCrowded({ ...CROWD, maxPendingBytes: 1024 * KIB });
  const wire = await reader();
  wire.stopReading();
  subscribeToAll(wire, CHANNELS);
  await Bun.sleep(PONG_TIMEOUT_OVER_MS);
  expect([node.hub.connections.count, wire.bytesReceived < 10_000]).toEqual([1, true]);
  wire.goOnReading();
  await rosters(wire, CHANNELS);
  expect(await wire.sync()).toEqual([]);
});
