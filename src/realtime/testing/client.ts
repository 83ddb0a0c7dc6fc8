/** For tests: a client that sends frames and reads what was written to it. */
import { Connection } from "../state/connection.ts";
import type { FakeSocket } from "./fake-socket.ts";
import type { TestNode } from "./node.ts";

export interface Entry {
  readonly peerId: string;
  readonly metadata?: unknown;
}

/** A server frame, as a client reads it. */
export interface Received {
  readonly type: string;
  readonly requestId?: string;
  readonly code?: string;
  readonly channel?: string;
  readonly from?: string;
  readonly fromMetadata?: unknown;
  readonly data?: unknown;
  readonly joined?: readonly Entry[];
  readonly left?: readonly Entry[];
  readonly snapshot?: true;
  readonly [field: string]: unknown;
}

const names = (entries: readonly Entry[] | undefined): string =>
  (entries ?? [])
    .map(({ peerId, metadata }) => (metadata === undefined ? peerId : `${peerId}${JSON.stringify(metadata)}`))
    .sort()
    .join(" ");

/** A frame in short: "ack r1", "error missing_data r2", "roster: ann ben", "joined: cat left: ann", "message ann 1". */
export function inShort(frame: Received): string {
  const { type, requestId, code, from, data, joined, left, snapshot } = frame;
  const parts: unknown[] = [];
  if (type !== "presence") parts.push(type, code, requestId, from, data && JSON.stringify(data));
  else if (snapshot) parts.push(`roster: ${names(joined)}`.trim());
  else parts.push(joined?.length && `joined: ${names(joined)}`, left?.length && `left: ${names(left)}`);
  return parts.filter(Boolean).join(" ");
}

export class Client {
  private taken = 0;
  private requests = 0;

  constructor(
    readonly socket: FakeSocket,
    readonly node: TestNode,
  ) {}

  get connection(): Connection {
    if (this.socket.data instanceof Connection) return this.socket.data;
    throw new Error("this socket has no connection");
  }

  get closeCode(): number | undefined {
    return this.socket.closed?.code;
  }

  text(text: string): void {
    this.socket.message(text);
  }

  /** Sends a frame with a request id of its own: r1, r2, … */
  request(frame: Readonly<Record<string, unknown>>): string {
    const requestId = `r${++this.requests}`;
    this.text(JSON.stringify({ ...frame, requestId }));
    return requestId;
  }

  subscribe(channel: string, more: Readonly<Record<string, unknown>> = {}): string {
    return this.request({ type: "subscribe", channel, ...more });
  }

  unsubscribe(channel: string): string {
    return this.request({ type: "unsubscribe", channel });
  }

  publish(channel: string, data: unknown): string {
    return this.request({ type: "publish", channel, data });
  }

  send(to: string, data: unknown): string {
    return this.request({ type: "send", to, data });
  }

  /** Its network connection breaks, and the node notices. */
  vanish(): void {
    this.socket.terminate();
  }

  /** From now on pings wait until `socket.pong`. */
  withholdPongs(): this {
    this.socket.pongAfterMs = undefined;
    return this;
  }

  get received(): Received[] {
    return this.socket.written.map((text) => JSON.parse(text) as Received);
  }

  /** The frames that came since the last look. */
  take(): Received[] {
    const frames = this.received.slice(this.taken);
    this.taken += frames.length;
    return frames;
  }

  /** The frames that came since the last look, in short. */
  newFrames(): string[] {
    return this.take().map(inShort);
  }
}
