/**
 * Readers of a channel, each on a raw socket, so that thousands of them cost the load little: over Server-Sent Events of /v1/stream, over a
 * WebSocket, and over a connection without WebSocket (/v1/events). They count messages by a character that stands in each once.
 */
import type { Socket } from "bun";
import { connectToken } from "../lib/token.ts";
import { WebSocketLine } from "../lib/websocket.ts";

/** In each message once, and in nothing else that arrives. */
export const MARK = "~";
const MARK_BYTE = MARK.charCodeAt(0);
const LIFE_SECONDS = 3600;
/** One peer may have a hundred readers. */
const READERS_PER_PEER = 100;

export interface Server {
  readonly port: number;
  readonly secretKey: string;
}

/** What all readers of a group have received together. */
export class Tally {
  count = 0;
  #awaited = Number.POSITIVE_INFINITY;
  #reached: (() => void) | undefined;

  add(count: number): void {
    this.count += count;
    if (this.count >= this.#awaited) this.#reached?.();
  }

  async until(count: number, withinMs: number): Promise<void> {
    if (this.count >= count) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#awaited = count;
    this.#reached = resolve;
    const late = (): void => reject(new Error(`${this.count} of ${count} messages arrived within ${withinMs} ms`));
    const timer = setTimeout(late, withinMs);
    await promise.finally(() => clearTimeout(timer));
    this.#awaited = Number.POSITIVE_INFINITY;
  }
}

export interface Line {
  /** Resolves when the socket is closed. */
  leave(): Promise<unknown>;
}

const marksIn = (chunk: Uint8Array): number => {
  let count = 0;
  for (let at = chunk.indexOf(MARK_BYTE); at >= 0; at = chunk.indexOf(MARK_BYTE, at + 1)) count++;
  return count;
};

const tokenOf = ({ secretKey }: Server, peerId: string): string =>
  connectToken(secretKey, { peerId, peerMetadata: {}, lifeSeconds: LIFE_SECONDS });

/** Whom the reader with this number belongs to. */
export const readerToken = (server: Server, group: string, at: number): string =>
  tokenOf(server, `${group}-${Math.floor(at / READERS_PER_PEER)}`);

export const streamHead = (server: Server, channel: string, token: string): string =>
  `GET /v1/stream/${channel}?offset=now&live=sse HTTP/1.1\r\nHost: localhost:${server.port}\r\nAuthorization: Bearer ${token}\r\n\r\n`;

/** Resolves when `isOpen` holds of what has arrived. */
async function openRaw(server: Server, head: string, isOpen: (text: string) => boolean, tally: Tally) {
  const opened = Promise.withResolvers<string>();
  const closed = Promise.withResolvers<void>();
  let text: string | undefined = "";
  const socket = await Bun.connect<undefined>({
    hostname: "127.0.0.1",
    port: server.port,
    data: undefined,
    socket: {
      open: (one: Socket<undefined>) => void one.write(head),
      data: (_one: Socket<undefined>, chunk: Buffer) => {
        if (text === undefined) return tally.add(marksIn(chunk));
        text += chunk.toString("latin1");
        if (!isOpen(text)) return;
        opened.resolve(text);
        text = undefined;
      },
      close: () => {
        opened.reject(new Error(`the server closed a reader: ${(text ?? "").slice(0, 300)}`));
        closed.resolve();
      },
    },
  });
  const leave = (): Promise<void> => {
    socket.terminate();
    return closed.promise;
  };
  return { text: await opened.promise, leave };
}

/** A reader of /v1/stream by Server-Sent Events. */
export const streamReader = (server: Server, channel: string, token: string, tally: Tally): Promise<Line> =>
  openRaw(server, streamHead(server, channel, token), (text) => text.includes("event: control"), tally);

/** A WebSocket that has subscribed. */
export async function socketReader(server: Server, channel: string, peerId: string, tally: Tally): Promise<Line> {
  const acked = Promise.withResolvers<void>();
  const received = (payload: Buffer): void => {
    if (payload.includes('"ack"')) acked.resolve();
    tally.add(marksIn(payload));
  };
  const address = { host: "127.0.0.1", port: server.port, source: "127.0.0.1" };
  const line = await WebSocketLine.connect(address, `/v1?token=${tokenOf(server, peerId)}`, received, () =>
    acked.reject(new Error("the server closed a subscriber")),
  );
  line.send({ type: "subscribe", channel, requestId: "s", presence: false, occupancy: true });
  await acked.promise;
  return { leave: () => line.leave("reset") };
}

/** A connection without WebSocket that has subscribed. */
export async function eventsReader(server: Server, channel: string, peerId: string, tally: Tally): Promise<Line> {
  const head = `GET /v1/events?token=${tokenOf(server, peerId)} HTTP/1.1\r\nHost: localhost:${server.port}\r\n\r\n`;
  const { text, leave } = await openRaw(server, head, (found) => found.includes('"session":"'), tally);
  const session = /"session":"([^"]+)"/.exec(text)?.[1];
  const frame = JSON.stringify({ type: "subscribe", channel, requestId: "s", presence: false, occupancy: true });
  const answer = await fetch(`http://127.0.0.1:${server.port}/v1/events?session=${session}&n=1`, {
    method: "POST",
    body: frame,
  });
  if (answer.status !== 204) throw new Error(`a subscribe over HTTP was answered with ${answer.status}`);
  return { leave };
}

const IN_FLIGHT = 64;

/** Opens that many, some at a time. */
export async function opened(count: number, open: (at: number) => Promise<Line>): Promise<readonly Line[]> {
  const lines: Line[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) lines.push(await open(next++));
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return lines;
}

export const closed = (lines: readonly Line[]): Promise<unknown> => Promise.all(lines.map((line) => line.leave()));
