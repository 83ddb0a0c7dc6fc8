/**
 * CPU of one page of each live list, on a node with 50,000 connections and 10,000 channels. Sockets are stand-ins: a list reads what
 * the node knows of its connections, and never their sockets.
 */
import type { ServerWebSocket } from "bun";
import { Blocks } from "../src/access/admission/blocks.ts";
import { Throttle } from "../src/base/throttle.ts";
import { Exchange } from "../src/engine/local.ts";
import { assembleRealtime } from "../src/realtime/build.ts";
import { NO_ROOMS } from "../src/realtime/connections/room-hooks.ts";
import type { SocketData } from "../src/realtime/frames/socket-handlers.ts";
import type { Hub } from "../src/realtime/hub.ts";
import { LIVE_MEMBERS_MAX, LIVE_PAGE_MAX } from "../src/realtime/operators/live/limits.ts";
import { Live } from "../src/realtime/operators/live/live.ts";
import { APP, World } from "../src/realtime/testing/kit.ts";
import { noFaults, noHistory } from "../src/realtime/testing/stubs.ts";
import { keep, machine, median, table } from "./lib/report.ts";

const CONNECTIONS = 50_000;
const CHANNELS = 10_000;
const TARGET_MS = 100;
const RUNS = 15;

interface Row {
  readonly list: string;
  readonly read: () => Promise<unknown>;
}

interface Figures {
  readonly list: string;
  readonly bytes: number;
  readonly medianMs: number;
  readonly worstMs: number;
}

export async function lists(): Promise<boolean> {
  const { hub, live } = crowd();
  console.log(`${hub.connections.count} connections, ${hub.spaces.channelCount} channels, one of them with everyone\n`);
  const figures: Figures[] = [];
  for (const row of rowsOf(live)) figures.push(await measure(row));
  const cells = figures.map(({ list, bytes, medianMs, worstMs }) => [
    list,
    bytes.toLocaleString("en"),
    medianMs.toFixed(1),
    worstMs.toFixed(1),
  ]);
  console.log(table(["a page of", "bytes of JSON", "CPU ms, median", "worst"], cells));
  const isMet = figures.every(({ worstMs }) => worstMs <= TARGET_MS);
  console.log(`\nTarget: at most ${TARGET_MS} ms of CPU per page: ${isMet ? "holds" : "MISSED"}`);
  console.log(`Written to ${await keep("lists", { ...machine(), figures })}`);
  return isMet;
}

function rowsOf({ channels, peers }: Live): Row[] {
  const all = { app: APP, prefix: "", after: undefined, limit: 100 };
  const members = { app: APP, channel: "everyone", after: undefined, limit: 100 };
  const last = { ...all, after: "peer-49" };
  return [
    { list: "channels by name", read: () => channels.page(all) },
    {
      list: `channels by name, ${LIVE_PAGE_MAX} per page`,
      read: () => channels.page({ ...all, limit: LIVE_PAGE_MAX }),
    },
    { list: "channels by name, the last page", read: () => channels.page({ ...all, after: "room/99" }) },
    { list: "channels with a prefix", read: () => channels.page({ ...all, prefix: "room/42" }) },
    { list: "the busiest channels", read: () => channels.busiest(all) },
    { list: `the busiest channels, ${LIVE_PAGE_MAX}`, read: () => channels.busiest({ ...all, limit: LIVE_PAGE_MAX }) },
    { list: "members of one channel", read: () => channels.one(members) },
    {
      list: `members, ${LIVE_MEMBERS_MAX} per page`,
      read: () => channels.one({ ...members, limit: LIVE_MEMBERS_MAX }),
    },
    { list: "members, the last page", read: () => channels.one({ ...members, after: "peer-49" }) },
    { list: "peers", read: () => peers.page(all) },
    { list: `peers, ${LIVE_PAGE_MAX} per page`, read: () => peers.page({ ...all, limit: LIVE_PAGE_MAX }) },
    { list: "peers with a prefix", read: () => peers.page({ ...all, prefix: "peer-7" }) },
    { list: "peers, the last page", read: () => peers.page(last) },
    { list: "one peer", read: () => peers.one({ app: APP, peerId: "peer-7" }) },
  ];
}

async function measure({ list, read }: Row): Promise<Figures> {
  const times: number[] = [];
  let bytes = 0;
  for (let run = 0; run <= RUNS; run++) {
    const before = process.cpuUsage();
    bytes = Buffer.byteLength(JSON.stringify(await read()));
    const { user, system } = process.cpuUsage(before);
    // The first one warms up.
    if (run > 0) times.push((user + system) / 1000);
  }
  return { list, bytes, medianMs: median(times), worstMs: Math.max(...times) };
}

/** Everyone is in one channel, and in one of CHANNELS - 1 others. Time stands still: no roster is written. */
function crowd(): { hub: Hub; live: Live } {
  // Its own node is not used: only keys, usage and metrics are taken from it.
  const world = new World();
  const { clock } = world;
  const { usage, metrics } = world.node;
  const { hub, handlers } = assembleRealtime({
    id: "node",
    clock,
    engine: new Exchange().engine(),
    keyring: world.keys.keyring,
    blocks: new Blocks(),
    usage,
    metrics,
    faults: noFaults,
    history: noHistory,
    broadcast: () => 1,
    presenceTickMs: 10,
    rates: { framesPerSecond: 0, framesBurst: 500 },
    maxPendingBytes: 1 << 20,
    invalidated: async () => {},
    roomHooks: NO_ROOMS,
    connects: new Throttle(0, 0, clock.monotonicMs),
    keyRate: new Throttle(0, 0, clock.monotonicMs),
    storeFollower: undefined,
    room: { hasRoom: () => true },
  });
  for (let i = 0; i < CONNECTIONS; i++) {
    const metadata = { name: `Person ${i}`, avatar: `https://example.com/${i}.png` };
    const socket = standIn({ grant: world.keys.grant(`peer-${i}`, { metadata }), client: [127, 0, 0, 1] });
    void handlers.open?.(socket);
    for (const channel of ["everyone", `room/${i % (CHANNELS - 1)}`])
      void handlers.message?.(socket, JSON.stringify({ type: "subscribe", channel, requestId: "r" }));
  }
  return { hub, live: new Live(hub, clock, "node-1") };
}

const standIn = (data: SocketData): ServerWebSocket<SocketData> =>
  ({
    data,
    send: () => 1,
    publish: () => 1,
    ping: () => 1,
    subscribe: () => undefined,
    unsubscribe: () => undefined,
    close: () => undefined,
    terminate: () => undefined,
    getBufferedAmount: () => 0,
  }) as unknown as ServerWebSocket<SocketData>;
