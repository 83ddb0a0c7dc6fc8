/** What a publish costs with history and without, in turns on one node. */
import { payload } from "../contenders/contender.ts";
import { cpuOf, type Deliveries, open, type Plan, type Session, together } from "../lib/loader.ts";
import { type HistoryNode, KEPT } from "./node.ts";
import type { Stalls } from "./watched.ts";

const BYTES = 128;
const SLICE_MS = 600;
const SETTLE_MS = 200;
const STALLS_MS = 400;
const WARM_UP_SLICES_MAX = 50;

export interface Load {
  readonly name: string;
  /** With history. */
  readonly isKept: boolean;
  readonly channels: number;
  /** Messages in flight per channel. */
  readonly inFlight: number;
}

export interface Published {
  readonly usPerPublish: number;
  readonly perSecond: number;
  readonly stalls: Stalls;
}

const NONE: Stalls = { longestMs: 0, longestWithMachineMs: 0 };

const worse = (one: Stalls, other: Stalls): Stalls => ({
  longestMs: Math.max(one.longestMs, other.longestMs),
  longestWithMachineMs: Math.max(one.longestWithMachineMs, other.longestWithMachineMs),
});

/** One publisher and one subscriber per channel. */
function planOf({ dialect }: HistoryNode, { isKept, channels, inFlight }: Load, first: number): Plan {
  const all = Array.from({ length: channels }, (_, at) => {
    const channel = `${isKept ? KEPT : "plain"}${first + at}`;
    const subscriber = dialect.subscriber(first + 2 * at, channel, { metadata: false });
    return {
      connections: [{ script: subscriber, hears: at }, { script: dialect.publisher(first + 2 * at + 1, channel) }],
      publisher: { connection: 2 * at + 1, receivers: 1, frame: dialect.publish(channel, payload(BYTES), true) },
    };
  });
  return {
    connections: all.flatMap(({ connections }) => connections),
    publishers: all.map(({ publisher }) => publisher),
    inFlight,
  };
}

/** All loads, many short turns each, so that all get the same conditions. */
export async function published(
  node: HistoryNode,
  loads: readonly Load[],
  { warmUp, turns }: { readonly warmUp: number; readonly turns: number },
): Promise<Map<string, Published>> {
  await using stack = new AsyncDisposableStack();
  const sessions = new Map<Load, Session>();
  for (const [at, load] of loads.entries())
    sessions.set(load, stack.use(await open(planOf(node, load, at * 1000), node)));
  // By messages, not by time: on a busy machine the runtime has compiled nothing after a second.
  for (const session of sessions.values())
    for (let sent = 0, slices = 0; sent < warmUp && slices < WARM_UP_SLICES_MAX; slices++)
      sent += (await session.slice(SLICE_MS)).messages;
  const windows = new Map<Load, Deliveries[]>(loads.map((load) => [load, []]));
  const stalls = new Map<Load, Stalls>();
  const order = [...loads];
  for (let turn = 0; turn < turns; turn++) {
    // Forwards and backwards, so that no load always follows the same one.
    order.reverse();
    for (const load of order) {
      const session = sessions.get(load);
      await session?.slice(SETTLE_MS);
      const window = await session?.slice(SLICE_MS);
      const found = await node.stalls(async () => session?.slice(STALLS_MS));
      if (!window) continue;
      windows.get(load)?.push(window);
      stalls.set(load, worse(stalls.get(load) ?? NONE, found));
    }
  }
  return new Map(
    loads.map((load) => {
      const sum = together(windows.get(load) ?? []);
      const usPerPublish = (cpuOf(sum) / sum.messages) * 1e6;
      return [load.name, { usPerPublish, perSecond: sum.messages / sum.seconds, stalls: stalls.get(load) ?? NONE }];
    }),
  );
}
