/** A raw client: connects with a token, asks, and counts what it gets. */
import { type Address, WebSocketLine } from "../lib/websocket.ts";

interface Frame {
  readonly type: string;
  readonly snapshot?: boolean;
  readonly requestId?: string;
}

/** The frames that are counted and waited for. */
type Kind = "welcome" | "ack" | "roster" | "message";

interface Wanted {
  readonly kind: Kind;
  readonly count: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class Client {
  private line: WebSocketLine | undefined;
  private readonly seen: Record<Kind, number> = { welcome: 0, ack: 0, roster: 0, message: 0 };
  /** At most one per kind and count that the benchmark waits for. */
  private wanted: Wanted[] = [];
  private failure: Error | undefined;
  private isLeaving = false;
  private asked = 0;

  /** Resolves with the welcome. */
  async connect(address: Address, token: string): Promise<void> {
    this.line = await WebSocketLine.connect(
      address,
      `/v1?token=${token}`,
      (payload) => this.received(JSON.parse(payload.toString()) as Frame),
      () => this.isLeaving || this.failed(new Error("the server ended a connection")),
    );
    await this.until("welcome", 1);
  }

  /** Resolves with the ack. */
  ask(frame: object): Promise<void> {
    this.line?.send({ ...frame, requestId: String(++this.asked) });
    return this.until("ack", this.asked);
  }

  /** Resolves when that number has come since the connection was opened. */
  until(kind: Kind, count: number): Promise<void> {
    if (this.failure) return Promise.reject(this.failure);
    if (this.seen[kind] >= count) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.wanted.push({ kind, count, resolve, reject });
    return promise;
  }

  /** Says goodbye: a stay in a room ends with it. */
  async leave(): Promise<void> {
    this.isLeaving = true;
    await this.line?.leave("close");
  }

  private received(frame: Frame): void {
    const kind = kindOf(frame);
    if (kind === undefined) return this.failed(new Error(`the server sent ${JSON.stringify(frame)}`));
    if (kind === "change") return;
    this.seen[kind]++;
    const met = this.wanted.filter((one) => this.seen[one.kind] >= one.count);
    if (met.length === 0) return;
    this.wanted = this.wanted.filter((one) => !met.includes(one));
    for (const { resolve } of met) resolve();
  }

  private failed(error: Error): void {
    this.failure ??= error;
    for (const { reject } of this.wanted) reject(error);
    this.wanted = [];
  }
}

function kindOf({ type, snapshot }: Frame): Kind | "change" | undefined {
  if (type === "presence") return snapshot ? "roster" : "change";
  return type === "welcome" || type === "ack" || type === "message" ? type : undefined;
}
