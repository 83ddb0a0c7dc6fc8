/** Direct messages between three workers, one of which is stopped for a while (SIGSTOP): each arrives at most once, and in order. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { fresh, type World } from "../conformance/raw/support/world.ts";
import { type Placed, type Places, RULES, roundOf, type Stop, type Stoppable } from "../support/direct-stops.ts";
import { IS_FULL } from "../support/slack.ts";
import { until } from "../support/wait.ts";
import { isRunning, nodesOf, pidOf, startWorkers } from "./support/workers.ts";

setDefaultTimeout(180_000);

let world: World;
beforeAll(async () => {
  world = await startWorkers({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0" } }, 3);
  await world.admin.must("PATCH", `/apps/${world.app._id}`, RULES);
  places = { url: world.url, credential: world.key.credential, connect };
});
afterAll(() => world.stop());

interface LivePeer {
  readonly connections: readonly { readonly nodeId: string }[];
}

/** A worker that was silent for too long is replaced: then there is nothing to continue. */
const stoppable = (pid: number): Stoppable => ({
  pid,
  signal: (name) => {
    if (isRunning(pid)) process.kill(pid, name);
  },
});

/** The kernel decides which worker gets a connection. */
async function connect(sub: string): Promise<Placed> {
  const { wire, welcome } = await world.guest({ sub });
  // The ids of all connections of a process have the same beginning.
  const [beginning = ""] = connectionIdOf(welcome).split("-");
  const pid = pids.get(beginning) ?? (await pidWith(sub));
  pids.set(beginning, pid);
  return { wire, at: stoppable(pid) };
}

const connectionIdOf = (welcome: object): string =>
  "connection" in welcome && typeof welcome.connection === "string" ? welcome.connection : "";

/** The process that the newest connection of a peer is on. */
async function pidWith(peerId: string): Promise<number> {
  const peer = await world.admin.must<LivePeer>("GET", `/apps/${world.app._id}/peers/${peerId}`);
  const row = (await nodesOf(world)).find(({ nodeId }) => nodeId === peer.connections[0]?.nodeId);
  return pidOf(world.server, row?.worker ?? -1);
}
const pids = new Map<string, number>();
let places: Places;

async function judge(isHeld: boolean, stop: Stop): Promise<void> {
  const { faults, received } = await roundOf(places, fresh("peer"), isHeld, stop);
  expect(faults).toEqual([]);
  expect(received).toBeGreaterThan(20);
}

test("the worker of a receiver that was expected back is stopped", () => judge(true, { of: "receiver", ms: 900 }));

test("a direct message right after the welcome of a second connection reaches it, whichever worker it is on", async () => {
  const peer = fresh("peer");
  const first = await world.guest({ sub: peer });
  const senders = await Promise.all(Array.from({ length: 6 }, () => world.guest()));
  const missed: number[] = [];
  for (let n = 0; missed.length === 0 && n < (IS_FULL ? 300 : 60); n++) {
    const second = await world.guest({ sub: peer });
    const sender = senders[n % senders.length]?.wire;
    expect((await sender?.request({ type: "send", to: peer, data: n }))?.type).toBe("ack");
    await first.wire.until("direct", ({ data }) => data === n);
    const has = (): boolean => second.wire.frames.some((frame) => frame.type === "direct" && frame.data === n);
    await until("it reaches the second", has, 3000).catch(() => missed.push(n));
    second.wire.close();
  }
  expect(missed).toEqual([]);
});

const STOPS: readonly Stop["of"][] = ["receiver", "sender", "holder"];
for (const of of STOPS)
  for (const isHeld of [true, false])
    for (const ms of [400, 900, 1400])
      test.if(IS_FULL)(
        `the worker of the ${of} is stopped for ${ms} ms${isHeld ? ", and the receiver was expected back" : ""}`,
        () => judge(isHeld, { of, ms }),
      );
