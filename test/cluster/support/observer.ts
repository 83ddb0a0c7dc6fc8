/** A raw connection in one channel that records what it receives and when, to check how many times and how soon. */
import { readFrame } from "../../../src/verify/frames.ts";
import type { SecretKey } from "../../support/admin.ts";
import { selfSigned } from "../../support/jwt.ts";
import type { Server } from "../../support/parley.ts";
import { until } from "../../support/wait.ts";
import { welcomed } from "../../support/wire/connect.ts";
import type { Wire, WireEvent } from "../../support/wire/wire.ts";

export interface Change {
  readonly atMs: number;
  readonly joined: readonly string[];
  readonly left: readonly string[];
}

/** The connection ended without a close frame. */
const WITHOUT_CLOSE = 1006;

export class Observer {
  /** Presence changes since the roster, or since `forget`. */
  changes: Change[] = [];
  readonly roster = new Set<string>();
  /** Error codes by request id, "" for acks. */
  readonly answers = new Map<string, string>();
  readonly heard: string[] = [];
  closeCode: number | undefined;
  private requests = 0;
  private wire: Wire | undefined;

  private constructor(
    readonly peer: string,
    readonly channel: string,
  ) {}

  /** Resolves when it has its roster. */
  static async join(node: Server, key: SecretKey, peer: string, channel: string): Promise<Observer> {
    const token = selfSigned(key.keyId, key.secret, { sub: peer });
    const observer = new Observer(peer, channel);
    observer.wire = await welcomed(node.url, `token=${token}`, { heard: (event) => observer.hear(event) });
    await observer.wire.join(channel);
    return observer;
  }

  /** Returns the request's id. */
  ask(frame: object): string {
    const requestId = String(++this.requests);
    this.wire?.send({ ...frame, requestId });
    return requestId;
  }

  /** The code with which a publish was refused; "": it was accepted. */
  async say(data: string): Promise<string> {
    const requestId = this.ask({ type: "publish", channel: this.channel, data });
    await until(`${this.peer} got no answer`, () => this.answers.has(requestId));
    return this.answers.get(requestId) ?? "";
  }

  knows(peers: readonly string[]): boolean {
    const others = peers.filter((peer) => peer !== this.peer);
    return others.length === this.roster.size && others.every((peer) => this.roster.has(peer));
  }

  forget(): void {
    this.changes = [];
  }

  leave(): void {
    this.wire?.close();
  }

  private hear(event: WireEvent): void {
    if (event.kind === "close") this.closeCode = event.code;
    if (event.kind === "end") this.closeCode ??= WITHOUT_CLOSE;
    if (event.kind !== "text") return;
    const frame = readFrame(event.text);
    if (frame.type === "ack") this.answers.set(frame.requestId, "");
    if (frame.type === "error") this.answers.set(frame.requestId, frame.code);
    if (frame.type === "message") this.heard.push(String((JSON.parse(event.text) as { data: unknown }).data));
    if (frame.type !== "presence") return;
    for (const peer of frame.left) this.roster.delete(peer);
    for (const peer of frame.joined) this.roster.add(peer);
    if (!frame.snapshot) this.changes.push({ atMs: performance.now(), joined: frame.joined, left: frame.left });
  }
}
