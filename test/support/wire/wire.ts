/**
 * A raw WebSocket client that records every event in order, including pings, pongs and closes; pongs can be withheld and reading
 * can be paused. To prove that nothing more arrives, use `sync`: it sends a frame that must be acked, and returns everything that
 * came before that ack.
 */
import type { Socket } from "bun";
import { jointOf } from "../nodes.ts";
import { WORKERS } from "../workers.ts";
import { closePayload, encodeFrame, type FrameOptions, FrameReader, OPCODE } from "./frames.ts";
import type { AnyFrame, Frame, FrameType } from "./shapes.ts";

export type WireEvent =
  | { readonly kind: "text"; readonly text: string; readonly at: number }
  | { readonly kind: "binary" | "pong"; readonly payload: string; readonly at: number }
  | { readonly kind: "ping"; readonly payload: string; readonly at: number }
  | { readonly kind: "close"; readonly code: number; readonly reason: string; readonly at: number }
  /** The TCP connection is over. */
  | { readonly kind: "end"; readonly at: number };

export type TextEvent = Extract<WireEvent, { kind: "text" }>;

/** With several nodes, messages of another node can arrive at any time: no frame of ours can prove that they have. */
const UNDER_WAY_MS = jointOf(process.env) || WORKERS > 1 ? 150 : 0;

/** Long enough for a busy machine; a test that passes never waits this long. */
export const PATIENCE_MS = 30_000;

let requests = 0;

export class Wire {
  /** All events so far, in order. */
  readonly events: WireEvent[] = [];
  /** From the handshake's response. */
  headers = new Headers();
  bytesReceived = 0;
  answersPings: boolean;
  /** Events before this index have been read by the test. */
  private readTo = 0;
  /** Events after it that were responses and have been read already. */
  private readonly readAhead = new Set<WireEvent>();
  private readonly reader = new FrameReader();
  private readonly wakers = new Set<() => void>();
  private readonly decoder = new TextDecoder("utf-8", { fatal: true });
  private unsent: Buffer = Buffer.alloc(0);
  private deaf = false;
  private ended = false;
  private broken: unknown;

  /** `heard` is called with each event as it arrives. */
  constructor(
    private readonly socket: Socket<unknown>,
    answersPings: boolean,
    private readonly heard: (event: WireEvent) => void = () => undefined,
  ) {
    this.answersPings = answersPings;
  }

  // Called by the socket's handlers.

  received(bytes: Uint8Array): void {
    this.bytesReceived += bytes.length;
    try {
      for (const { opcode, payload } of this.reader.push(bytes)) this.take(opcode, payload);
    } catch (error) {
      this.broken ??= error;
    }
    this.wake();
  }

  flush(): void {
    if (this.unsent.length === 0 || this.ended) return;
    const written = this.socket.write(this.unsent);
    this.unsent = this.unsent.subarray(Math.max(0, written));
  }

  over(): void {
    if (this.ended) return;
    this.ended = true;
    this.record({ kind: "end", at: performance.now() });
    this.wake();
  }

  private record(event: WireEvent): void {
    this.events.push(event);
    this.heard(event);
  }

  private take(opcode: number, payload: Buffer): void {
    if (this.deaf && opcode !== OPCODE.close) {
      if (opcode === OPCODE.ping && this.answersPings) this.pong(payload.toString("latin1"));
      return;
    }
    const at = performance.now();
    switch (opcode) {
      case OPCODE.text:
        this.record({ kind: "text", text: this.decoder.decode(payload), at });
        return;
      case OPCODE.close: {
        const code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
        this.record({ kind: "close", code, reason: payload.toString("utf8", 2), at });
        return;
      }
      case OPCODE.ping:
        this.record({ kind: "ping", payload: payload.toString("latin1"), at });
        if (this.answersPings) this.pong(payload.toString("latin1"));
        return;
      case OPCODE.pong:
        this.record({ kind: "pong", payload: payload.toString("latin1"), at });
        return;
      default:
        this.record({ kind: "binary", payload: payload.toString("latin1"), at });
    }
  }

  // Sending.

  raw(bytes: Uint8Array): void {
    this.unsent = this.unsent.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.unsent, bytes]);
    this.flush();
  }

  /** A text frame: objects as their JSON, strings as they are. */
  send(...frames: (object | string)[]): void {
    this.raw(
      Buffer.concat(
        frames.map((one) =>
          encodeFrame(OPCODE.text, Buffer.from(typeof one === "string" ? one : JSON.stringify(one), "utf8")),
        ),
      ),
    );
  }

  frameOf(opcode: number, payload: Uint8Array | string, options?: FrameOptions): void {
    this.raw(encodeFrame(opcode, Buffer.from(payload as string, "latin1"), options));
  }

  ping(payload = ""): void {
    this.frameOf(OPCODE.ping, payload);
  }

  pong(payload = ""): void {
    this.frameOf(OPCODE.pong, payload);
  }

  close(code = 1000, reason = ""): void {
    this.frameOf(OPCODE.close, closePayload(code, reason));
  }

  /** Ends like a client whose process or network has failed: without a close frame. */
  drop(): void {
    this.socket.terminate();
    this.over();
  }

  /** Stops reading: what the service sends stays in buffers, first in the kernel's. */
  stopReading(): void {
    this.socket.pause();
  }

  goOnReading(): void {
    this.socket.resume();
  }

  /** Keeps reading and answering pings, but discards everything up to the close: for members of a crowd. */
  stopLooking(): void {
    this.deaf = true;
  }

  [Symbol.dispose](): void {
    if (!this.ended) this.close();
  }

  // Waiting.

  /** The first unread event for which `fits` holds. Events before it count as read. */
  async next<E extends WireEvent>(fits: (event: WireEvent) => event is E, ms?: number): Promise<E>;
  async next(fits: (event: WireEvent) => boolean, ms?: number): Promise<WireEvent>;
  async next(fits: (event: WireEvent) => boolean, ms = PATIENCE_MS): Promise<WireEvent> {
    const at = await this.find((event) => !this.readAhead.has(event) && fits(event), ms);
    this.readTo = at + 1;
    return this.events[at] as WireEvent;
  }

  /** The very next event, whatever it is. */
  event(ms?: number): Promise<WireEvent> {
    return this.next(() => true, ms);
  }

  /** The next text frame. WebSocket pings and pongs are skipped; an end of the connection throws. */
  async text(ms?: number): Promise<string> {
    const event = await this.next(({ kind }) => kind !== "ping" && kind !== "pong", ms);
    if (event.kind !== "text") throw new Error(`a text frame was expected, not ${show(event)}${this.story()}`);
    return event.text;
  }

  /** The next text frame, parsed. With a type: it must be of that type. */
  async frame(): Promise<AnyFrame>;
  async frame<T extends FrameType>(type: T): Promise<Frame<T>>;
  async frame(type?: FrameType): Promise<AnyFrame> {
    const frame = JSON.parse(await this.text()) as AnyFrame;
    if (type !== undefined && frame.type !== type)
      throw new Error(`${type} was expected, not ${JSON.stringify(frame).slice(0, 300)}${this.story()}`);
    return frame;
  }

  /** Reads until a frame of that type for which `fits` holds. */
  async until<T extends FrameType>(type: T, fits: (frame: Frame<T>) => boolean = () => true): Promise<Frame<T>> {
    const { text } = await this.next((event): event is TextEvent => {
      if (event.kind !== "text") return false;
      const frame = JSON.parse(event.text) as AnyFrame;
      return frame.type === type && fits(frame as Frame<T>);
    });
    return JSON.parse(text) as Frame<T>;
  }

  /** Sends a frame with a requestId and returns its response; events before the response stay unread. */
  async request(frame: object): Promise<Frame<"ack"> | Frame<"error">> {
    const requestId = `r${++requests}`;
    this.send({ ...frame, requestId });
    return (await this.answerTo(requestId)) as Frame<"ack"> | Frame<"error">;
  }

  /** The response to a requestId, wherever it is among the unread events. */
  async answerTo(requestId: string): Promise<AnyFrame> {
    const needle = `"requestId":${JSON.stringify(requestId)}`;
    const at = await this.find((event) => event.kind === "text" && event.text.includes(needle), PATIENCE_MS);
    const event = this.events[at] as TextEvent;
    this.readAhead.add(event);
    return JSON.parse(event.text) as AnyFrame;
  }

  /** The payload of the next ping that a roster waits for. Pings without a payload only check liveness. */
  async rosterPing(): Promise<string> {
    const ping = await this.next(isRosterPing);
    return ping.payload;
  }

  /** Every text frame that was sent to us before now. [] proves that there was none. */
  async sync(): Promise<AnyFrame[]> {
    if (UNDER_WAY_MS > 0) await Bun.sleep(UNDER_WAY_MS);
    const requestId = `s${++requests}`;
    // Needs no action and has no effect; a ping would use its own small rate bucket.
    this.send({ type: "unsubscribe", channel: "never held", requestId });
    const ack = `{"type":"ack","requestId":"${requestId}"}`;
    const frames: AnyFrame[] = [];
    for (let text = await this.text(); text !== ack; text = await this.text()) frames.push(JSON.parse(text));
    return frames;
  }

  /** Subscribes and reads until the roster. */
  async join(channel: string, fields: object = {}): Promise<Frame<"presence">> {
    const answer = await this.request({ type: "subscribe", channel, ...fields });
    if (answer.type !== "ack") throw new Error(`${channel}: ${JSON.stringify(answer)}`);
    return this.until("presence", (frame) => frame.channel === channel && frame.snapshot === true);
  }

  /** Sends a frame and returns every text frame that it causes. */
  async brings(frame: object | string): Promise<AnyFrame[]> {
    this.send(frame);
    return this.sync();
  }

  /** The close frame; text frames before it are skipped. */
  async closed(ms?: number): Promise<{ code: number; reason: string; at: number }> {
    const event = await this.next(({ kind }) => kind === "close" || kind === "end", ms);
    if (event.kind !== "close") throw new Error(`it ended without a close frame${this.story()}`);
    return { code: event.code, reason: event.reason, at: event.at };
  }

  /** The end of the TCP connection. */
  async gone(ms?: number): Promise<void> {
    await this.next(({ kind }) => kind === "end", ms);
  }

  /** All text frames so far, read or not. */
  get frames(): AnyFrame[] {
    return this.events.flatMap((event) => (event.kind === "text" ? [JSON.parse(event.text) as AnyFrame] : []));
  }

  /** The same as they were sent. */
  get texts(): string[] {
    return this.events.flatMap((event) => (event.kind === "text" ? [event.text] : []));
  }

  /** As its welcome says. */
  get peerId(): string {
    const welcome = this.frames.find((frame) => frame.type === "welcome");
    if (!welcome) throw new Error(`there is no welcome${this.story()}`);
    return welcome.peerId;
  }

  get isOver(): boolean {
    return this.ended;
  }

  private async find(fits: (event: WireEvent) => boolean, ms: number): Promise<number> {
    const deadline = performance.now() + ms;
    for (let at = this.readTo; ; at++) {
      while (at >= this.events.length) await this.more(deadline);
      if (fits(this.events[at] as WireEvent)) return at;
    }
  }

  private async more(deadline: number): Promise<void> {
    if (this.broken) throw this.broken;
    if (this.ended) throw new Error(`the connection ended before it came${this.story()}`);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(
      () => reject(new Error(`it did not come in time${this.story()}`)),
      Math.max(0, deadline - performance.now()),
    );
    this.wakers.add(resolve);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.wakers.delete(resolve);
    }
  }

  private wake(): void {
    for (const waker of this.wakers) waker();
  }

  /** The last events, for the failure's text. */
  private story(): string {
    return `; the last events were\n${this.events.slice(-12).map(show).join("\n")}`;
  }
}

export const isRosterPing = (event: WireEvent): event is Extract<WireEvent, { kind: "ping" }> =>
  event.kind === "ping" && event.payload !== "";

function show(event: WireEvent): string {
  switch (event.kind) {
    case "text":
      return event.text.slice(0, 300);
    case "close":
      return `close ${event.code} ${event.reason}`;
    case "end":
      return "end";
    default:
      return `${event.kind} ${JSON.stringify(event.payload)}`;
  }
}
