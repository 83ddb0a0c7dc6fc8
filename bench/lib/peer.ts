/** A benchmark's peer: connects, subscribes, counts every frame and keeps track of the peers it has seen. */
import type { PeersSeen } from "./peers-seen.ts";
import { connectToken, type Identity } from "./token.ts";
import { type Address, type Ending, WebSocketLine } from "./websocket.ts";

export interface Target extends Address {
  /** `<sk_id>:<sk_secret>` */
  readonly secretKey: string;
}

/** Longer frames may be kept unparsed: parsing thousands of rosters would take CPU time from the server. */
const LATER_BYTES = 512;

interface ServerFrame {
  readonly type: string;
  readonly code?: string;
  readonly joined?: readonly { readonly peerId: string }[];
  readonly left?: readonly unknown[];
  readonly snapshot?: boolean;
}

type Event = "welcome" | "ack" | "roster";

export class Peer {
  /** Text frames of the server, and their bytes. */
  frames = 0;
  bytes = 0;
  /** When the last of them arrived, on a clock that all processes share. */
  lastFrameMs = 0;
  /** Long frames wait until `readKept`. */
  keepsLongFrames = false;
  private kept: Buffer[] = [];
  private readonly seen: Record<Event, number> = { welcome: 0, ack: 0, roster: 0 };
  private awaited: { event: Event; count: number; resolve: () => void; reject: (error: Error) => void } | undefined;
  private failure: Error | undefined;
  private line: WebSocketLine | undefined;
  private isLeaving = false;

  constructor(
    private readonly identity: Identity,
    private readonly peersSeen?: PeersSeen,
  ) {}

  get peerId(): string {
    return this.identity.peerId;
  }

  /** Resolves with the welcome. */
  async connect(target: Target): Promise<void> {
    const token = connectToken(target.secretKey, this.identity);
    this.line = await WebSocketLine.connect(
      target,
      `/v1?token=${token}`,
      (payload) => this.received(payload),
      () => this.ended(),
    );
    await this.until("welcome", 1);
  }

  /** Returns without waiting. */
  ask(type: "subscribe" | "unsubscribe", channel: string): void {
    this.line?.send({ type, channel, requestId: "r" });
  }

  async subscribe(channel: string, awaitRoster = true): Promise<void> {
    const { ack, roster } = this.seen;
    this.ask("subscribe", channel);
    await this.until("ack", ack + 1);
    if (awaitRoster) await this.until("roster", roster + 1);
  }

  async unsubscribe(channel: string): Promise<void> {
    const { ack } = this.seen;
    this.ask("unsubscribe", channel);
    await this.until("ack", ack + 1);
  }

  async leave(how: Ending): Promise<void> {
    this.isLeaving = true;
    await this.line?.leave(how);
  }

  readKept(): void {
    const { kept } = this;
    this.kept = [];
    for (const payload of kept) this.read(payload);
  }

  /** Whether it knows all others, saw nothing twice or wrong, and is still connected. */
  get isContent(): boolean {
    return this.failure === undefined && this.peersSeen?.isComplete === true && this.peersSeen.mistakes === 0;
  }

  get problem(): string | undefined {
    if (this.failure) return this.failure.message;
    const { isComplete = true, mistakes = 0 } = this.peersSeen ?? {};
    if (mistakes > 0) return `it saw ${mistakes} wrong or repeated announcements`;
    return isComplete ? undefined : "it has not seen every peer";
  }

  private received(payload: Buffer): void {
    this.frames++;
    this.bytes += payload.length;
    this.lastFrameMs = sharedMs();
    if (this.keepsLongFrames && payload.length > LATER_BYTES) this.kept.push(payload);
    else this.read(payload);
  }

  private read(payload: Buffer): void {
    const frame = JSON.parse(payload.toString()) as ServerFrame;
    if (frame.type === "presence") {
      for (const { peerId } of frame.joined ?? []) this.peersSeen?.joined(peerId);
      for (const _entry of frame.left ?? []) this.peersSeen?.left();
      if (frame.snapshot) this.happened("roster");
    } else if (frame.type === "welcome" || frame.type === "ack") this.happened(frame.type);
    else this.failed(new Error(`the server sent ${payload.toString().slice(0, 200)}`));
  }

  private happened(event: Event): void {
    this.seen[event]++;
    if (!this.awaited || this.seen[this.awaited.event] < this.awaited.count) return;
    const { resolve } = this.awaited;
    this.awaited = undefined;
    resolve();
  }

  private until(event: Event, count: number): Promise<void> {
    if (this.failure) return Promise.reject(this.failure);
    if (this.seen[event] >= count) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.awaited = { event, count, resolve, reject };
    return promise;
  }

  private ended(): void {
    if (!this.isLeaving) this.failed(new Error("the server ended the connection"));
  }

  private failed(error: Error): void {
    this.failure ??= error;
    this.awaited?.reject(error);
    this.awaited = undefined;
  }
}

/** Comparable between processes of a machine, finer than a millisecond. */
export const sharedMs = (): number => performance.timeOrigin + performance.now();
