/** What a subscribe costs that recovers messages from the ring, against a plain one: CPU of the server, in turns on one node. */
import { cpuSeconds } from "../lib/process.ts";
import { connectToken } from "../lib/token.ts";
import { WebSocketLine } from "../lib/websocket.ts";
import { type HistoryNode, KEPT } from "./node.ts";

const CONNECTIONS = 100;
const RECOVERED = 10;
const TURN_MS = 1000;

interface Frame {
  readonly type: string;
  readonly snapshot?: boolean;
  readonly replay?: boolean | number;
  readonly recovered?: boolean;
  readonly pos?: string;
}

/** A client that subscribes and unsubscribes, again and again. */
class Subscriber {
  private line: WebSocketLine | undefined;
  private awaited: ((frame: Frame) => boolean) | undefined;
  private resolve: () => void = () => undefined;

  async connect(node: HistoryNode, peerId: string): Promise<void> {
    const token = connectToken(node.secretKey, { peerId, peerMetadata: {}, lifeSeconds: 3600 });
    const address = { host: "127.0.0.1", port: node.port, source: "127.0.0.1" };
    const welcomed = this.until(({ type }) => type === "welcome");
    this.line = await WebSocketLine.connect(
      address,
      `/v1?token=${token}`,
      (payload) => this.received(JSON.parse(payload.toString()) as Frame),
      () => undefined,
    );
    await welcomed;
  }

  /** Resolves with all frames up to the roster. */
  async subscribe(channel: string, fields: object = {}): Promise<Frame[]> {
    const frames: Frame[] = [];
    const done = this.until((frame) => {
      frames.push(frame);
      return frame.snapshot === true;
    });
    this.line?.send({ type: "subscribe", channel, requestId: "s", ...fields });
    await done;
    return frames;
  }

  async request(frame: object): Promise<Frame> {
    let answer: Frame = { type: "" };
    const done = this.until((found) => {
      answer = found;
      return found.type === "ack";
    });
    this.line?.send({ ...frame, requestId: "r" });
    await done;
    return answer;
  }

  async leave(): Promise<void> {
    await this.line?.leave("reset");
  }

  private until(holds: (frame: Frame) => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.awaited = holds;
    this.resolve = resolve;
    return promise;
  }

  private received(frame: Frame): void {
    if (frame.type === "error") throw new Error(`the server sent ${JSON.stringify(frame)}`);
    if (!this.awaited?.(frame)) return;
    this.awaited = undefined;
    this.resolve();
  }
}

/** Each in a channel of its own, which another peer holds open. */
interface Place {
  readonly channel: string;
  readonly fields: object;
  readonly client: Subscriber;
}

export interface Subscribed {
  readonly name: string;
  readonly usPerSubscribe: number;
}

export const PLAIN = "a plain subscribe";
export const RECOVERING = `a recovery of ${RECOVERED} from the ring`;

export async function subscribed(node: HistoryNode, turns: number): Promise<Subscribed[]> {
  const plain = await places(node, "open", async () => ({}));
  const recovering = await places(node, `${KEPT}-ring-`, async (holder, channel) => {
    let position: string | undefined;
    for (let at = 0; at <= RECOVERED; at++) {
      const { pos } = await holder.request({ type: "publish", channel, data: "x".repeat(128) });
      position ??= pos;
    }
    return { recover: position };
  });
  const found = [];
  for (const [name, all, replayed] of [
    [PLAIN, plain, 0],
    [RECOVERING, recovering, RECOVERED],
  ] as const)
    found.push({ name, all, replayed, seconds: 0, count: 0 });
  for (let turn = 0; turn <= turns; turn++) {
    found.reverse();
    for (const one of found) {
      const before = cpuSeconds(node.pids[0]);
      const count = await cycles(one.all, one.replayed);
      // The first turn warms up.
      if (turn === 0) continue;
      one.seconds += cpuSeconds(node.pids[0]) - before;
      one.count += count;
    }
  }
  await Promise.all([...plain, ...recovering].map(({ client }) => client.leave()));
  return found.map(({ name, seconds, count }) => ({ name, usPerSubscribe: (seconds / count) * 1e6 }));
}

async function places(
  node: HistoryNode,
  prefix: string,
  prepare: (holder: Subscriber, channel: string) => Promise<object>,
): Promise<Place[]> {
  const all: Place[] = [];
  for (let at = 0; at < CONNECTIONS; at++) {
    const channel = `${prefix}${at}`;
    const [holder, client] = [new Subscriber(), new Subscriber()];
    await holder.connect(node, `holder-${channel}`);
    await holder.subscribe(channel);
    await client.connect(node, `client-${channel}`);
    all.push({ channel, client, fields: await prepare(holder, channel) });
  }
  return all;
}

/** Every client subscribes and unsubscribes for the duration of a turn; returns how often. */
async function cycles(all: readonly Place[], replayed: number): Promise<number> {
  const end = performance.now() + TURN_MS;
  let count = 0;
  const cycle = async ({ channel, fields, client }: Place): Promise<void> => {
    while (performance.now() < end) {
      const frames = await client.subscribe(channel, fields);
      if (frames.filter(({ type }) => type === "message").length !== replayed)
        throw new Error(`not ${replayed} messages were replayed: ${JSON.stringify(frames).slice(0, 1000)}`);
      await client.request({ type: "unsubscribe", channel });
      count++;
    }
  };
  await Promise.all(all.map(cycle));
  return count;
}
