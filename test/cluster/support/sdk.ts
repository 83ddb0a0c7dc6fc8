/** Clients of the public SDK, unmodified, whose sockets report everything to the checker. */
import { SignallingClient } from "@metered-ca/realtime";
import { isObject } from "../../../src/protocol/json.ts";
import type { Checker } from "../../../src/verify/checker.ts";
import { readFrame, type ServerFrame } from "../../../src/verify/frames.ts";
import type { SecretKey } from "../../support/admin.ts";
import { selfSigned } from "../../support/jwt.ts";

type Asked =
  | { readonly kind: "subscribe" }
  | { readonly kind: "publish"; readonly channel: string; readonly number: number };

export class SdkPeer {
  readonly client: SignallingClient;
  /** How long it was without its subscription, for each interruption. */
  readonly absencesMs: number[] = [];
  readonly closes: number[] = [];
  acked = 0;
  private connection: number | undefined;
  private isSubscribed = false;
  private lostMs: number | undefined;
  private isClosing = false;

  constructor(
    url: string,
    key: SecretKey,
    readonly peer: string,
    readonly channel: string,
    private readonly checker: Checker,
  ) {
    this.client = new SignallingClient({
      url,
      tokenProvider: async () => selfSigned(key.keyId, key.secret, { sub: peer }),
      webSocketFactory: (address) => this.open(address),
    });
  }

  get isListening(): boolean {
    return this.isSubscribed;
  }

  async join(): Promise<void> {
    await this.client.connect();
    await this.client.subscribe(this.channel);
  }

  publish(channel = this.channel): void {
    if (this.connection === undefined || !this.isSubscribed) return;
    const number = this.checker.publishing(this.connection, channel);
    // The outcome is read from the socket.
    this.client.publish(channel, [this.connection, number]).catch(() => undefined);
  }

  close(): Promise<void> {
    this.isClosing = true;
    return this.client.close();
  }

  private open(address: string): WebSocket {
    const socket = new WebSocket(address);
    const asked = new Map<string, Asked>();
    const send = socket.send.bind(socket);
    socket.send = (text: string): void => {
      this.sending(text, asked);
      send(text);
    };
    // Registered before the SDK's own listener, which may respond at once.
    socket.addEventListener("message", ({ data }) => this.hear(readFrame(String(data)), asked));
    socket.addEventListener("close", ({ code }) => this.ended(code));
    socket.addEventListener("error", () => undefined);
    return socket;
  }

  private sending(text: string, asked: Map<string, Asked>): void {
    const frame: unknown = JSON.parse(text);
    if (!isObject(frame) || typeof frame.requestId !== "string" || this.connection === undefined) return;
    if (frame.type === "subscribe") {
      asked.set(frame.requestId, { kind: "subscribe" });
      this.checker.subscribing(this.connection, this.channel);
    } else if (frame.type === "publish" && Array.isArray(frame.data))
      asked.set(frame.requestId, { kind: "publish", channel: String(frame.channel), number: Number(frame.data[1]) });
  }

  private hear(frame: ServerFrame, asked: Map<string, Asked>): void {
    if (frame.type === "welcome") this.connection = this.checker.opened(this.peer);
    if (this.connection === undefined) return;
    if (frame.type === "message") this.checker.message(this.connection, frame.channel, frame.from, frame.mark);
    if (frame.type === "presence") this.checker.presence(this.connection, frame.channel, frame);
    if (frame.type !== "ack" && frame.type !== "error") return;
    const question = asked.get(frame.requestId);
    if (question?.kind === "subscribe" && frame.type === "ack") return this.subscribed(this.connection);
    if (question?.kind !== "publish") return;
    if (frame.type === "ack") this.acked++;
    this.checker.published(
      this.connection,
      question.channel,
      question.number,
      frame.type === "ack" ? "acked" : "refused",
    );
  }

  private subscribed(connection: number): void {
    this.isSubscribed = true;
    this.checker.subscribed(connection, this.channel);
    if (this.lostMs !== undefined) this.absencesMs.push(performance.now() - this.lostMs);
    this.lostMs = undefined;
  }

  private ended(code: number): void {
    if (this.connection !== undefined) {
      this.checker.closed(this.connection);
      if (!this.isClosing) this.closes.push(code);
    }
    this.connection = undefined;
    this.isSubscribed = false;
    this.lostMs ??= performance.now();
  }
}
