/** For tests, as a process of its own: fills a flight recorder to its bounds and prints {counted, taken} in bytes. */
import { heapStats } from "bun:jsc";
import { systemClock } from "../../base/clock.ts";
import { RING_ENTRIES_MAX } from "../events/event-ring.ts";
import { Recorder } from "../events/recorder.ts";
import { APP, World } from "./kit.ts";

const heapBytes = (): number => {
  Bun.gc(true);
  return heapStats().heapSize;
};

/** A text of its own, of 8-bit characters. */
const textOf = (bytes: number, i: number): string => Buffer.alloc(bytes, `${i} `.padEnd(bytes, "x")).toString("latin1");

const world = new World();
const { connection } = world.connect("ann");
const recorder = new Recorder(systemClock, world.node.hub.spaces);
const before = heapBytes();
for (let i = 0; i < 150_000; i++) recorder.subscribed(connection, textOf(256, i));
for (let i = 0; i < 20_000; i++) recorder.refused("token_expired", { app: APP, keyId: "k", peerId: textOf(128, i) });
for (let i = 0; i < 2 * RING_ENTRIES_MAX; i++) recorder.connected(connection);
for (let i = 0; i < 150_000; i++) recorder.subscribed(connection, textOf(256, i));
const taken = heapBytes() - before;
console.log(JSON.stringify({ counted: recorder.bytes, taken }));
