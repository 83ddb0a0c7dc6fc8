/** A raw connection in one channel that records what it receives and when, to check how many times and how soon. */
import { readFrame } from "../../../src/verify/frames.ts";
import type { SecretKey } from "../../support/admin.ts";
import { selfSigned } from "../../support/jwt.ts";
import type { Server } from "../../support/parley.ts";
import { until } from "../../support/wait.ts";

export interface Change {
  readonly atMs: number;
  readonly joined: readonly string[];
  readonly left: readonly string[];
}

export class Observer {
  /** Presence changes since the roster, or since `forget`. */
  changes: Change[] = [];
  readonly roster = new Set<string>();
  /** Error codes by request id, "" for acks. */
  readonly answers = new Map<string, string>();
  readonly heard: string[] = [];
  closeCode: number | undefined;
  private hasRoster = false;
  private requests = 0;

  private constructor(
    readonly peer: string,
    readonly channel: string,
    private readonly socket: WebSocket,
  ) {
    socket.onmessage = ({ data }) => this.hear(String(data));
    socket.onclose = ({ code }) => {
      this.closeCode = code;
    };
    socket.onerror = () => undefined;
  }

  /** Resolves when it has its roster. */
  static async join(node: Server, key: SecretKey, peer: string, channel: string): Promise<Observer> {
    const token = selfSigned(key.keyId, key.secret, { sub: peer });
    const socket = new WebSocket(`${node.url.replace(/^http/, "ws")}/v1?token=${token}`);
    const observer = new Observer(peer, channel, socket);
    socket.onopen = () => observer.ask({ type: "subscribe", channel });
    await until(`${peer} has no roster of ${channel}`, () => observer.hasRoster);
    return observer;
  }

  /** Returns the request's id. */
  ask(frame: object): string {
    const requestId = String(++this.requests);
    this.socket.send(JSON.stringify({ ...frame, requestId }));
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
    this.socket.close(1000);
  }

  private hear(text: string): void {
    const frame = readFrame(text);
    if (frame.type === "ack") this.answers.set(frame.requestId, "");
    if (frame.type === "error") this.answers.set(frame.requestId, frame.code);
    if (frame.type === "message") this.heard.push(String((JSON.parse(text) as { data: unknown }).data));
    if (frame.type !== "presence") return;
    for (const peer of frame.left) this.roster.delete(peer);
    for (const peer of frame.joined) this.roster.add(peer);
    if (frame.snapshot) this.hasRoster = true;
    else this.changes.push({ atMs: performance.now(), joined: frame.joined, left: frame.left });
  }
}
