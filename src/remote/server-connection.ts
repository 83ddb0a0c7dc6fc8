/**
 * A worker's connection to the server of the stores. It connects again by itself; what was under way is then rejected, because the server may have done it
 * or not. The calls of a turn travel in one frame.
 */
import { randomUUID } from "node:crypto";
import type { Appended, Batch } from "../history/contract/history.ts";
import { StoreError, StoreUnreachable } from "../store/contract/store.ts";
import { VERSION } from "../version.ts";
import { maxBytesOfBatch, numbered, readResults, writeBatch } from "./append-frames.ts";
import { decodeError, type WireError } from "./errors.ts";
import { APPEND, CALLS, decode, encode, FrameReader, FrameWriter } from "./frames.ts";
import {
  PING_EVERY_MS,
  PINGS_UNANSWERED_MAX,
  PROBE_MAX_MS,
  RECONNECT_MAX_MS,
  RECONNECT_MIN_MS,
  REQUEST_MAX_BYTES,
  RESPONSE_MAX_BYTES,
  START_WAIT_MS,
} from "./limits.ts";
import { HELLO, IS_HISTORY, isProbe, METHODS, PING, type Welcome } from "./methods.ts";
import { CHANGED, FAILED, REWOUND } from "./responses.ts";
import { Unanswered, unreachable } from "./unanswered.ts";

interface Connected {
  readonly socket: { terminate(): unknown };
  readonly writer: FrameWriter;
}

const APPEND_METHOD = METHODS.findIndex(({ part, name }) => part === "history" && name === "append");
const IS_PROBE = METHODS.map(isProbe);

export class ServerConnection {
  /** How often it has been connected. What the server holds for this worker ends with a connection. */
  connection = 0;
  private readonly worker = randomUUID();
  private connected: Connected | undefined;
  /** The server has answered the first call of this connection. */
  private isUp = false;
  private isConnecting = false;
  private isClosed = false;
  private welcome: Welcome | undefined;
  private reason = "";
  private readonly unanswered = new Unanswered();
  /** Calls of this turn: number, method and arguments of each. Bound: UNANSWERED_MAX_CALLS, further ones are refused. */
  private calls: unknown[] = [];
  private isFlushing = false;
  private unansweredPings = 0;
  private readonly pinging: Timer;
  /** Bound: the listeners of one node. */
  private readonly rewound: (() => void)[] = [];
  /** Bound: the listeners of one node. */
  private readonly changed: (() => void)[] = [];

  private constructor(private readonly path: string) {
    // No boundary: a call that fails is rejected.
    this.pinging = setInterval(() => this.ping(), PING_EVERY_MS);
    this.pinging.unref();
  }

  /** Waits for a server that is about to start. Throws StoreError. */
  static async connect(path: string, waitMs = START_WAIT_MS): Promise<ServerConnection> {
    const connection = new ServerConnection(path);
    const until = performance.now() + waitMs;
    for (;;) {
      const error = await connection.tryConnect();
      if (!error) return connection;
      if (error instanceof StoreError || performance.now() > until) {
        connection.close();
        throw error instanceof StoreError ? error : new StoreError(`the stores cannot be reached: ${error.message}`);
      }
      await Bun.sleep(RECONNECT_MIN_MS);
    }
  }

  onRewound(listener: () => void): void {
    this.rewound.push(listener);
  }

  /** Another worker has changed something, or the connection was lost or is up again. */
  onChanged(listener: () => void): void {
    this.changed.push(listener);
  }

  call(method: number, args: readonly unknown[]): Promise<unknown> {
    const isHistory = IS_HISTORY[method] === true;
    const refusal = !this.isUp && method !== HELLO ? this.whyDown() : this.unanswered.whyFull;
    if (refusal !== undefined) return Promise.reject(unreachable(isHistory, refusal));
    const nr = this.unanswered.nextNr();
    const answer = this.unanswered.wait(nr, isHistory);
    this.calls.push(nr, method, args);
    if (!this.isFlushing) {
      this.isFlushing = true;
      // No boundary: it catches what sending throws.
      setImmediate(() => {
        this.isFlushing = false;
        this.flush();
      });
    }
    return IS_PROBE[method] || method === HELLO ? this.withTimeout(nr, answer) : answer;
  }

  /** Sent at once: the batch has waited for what arrived in this turn. */
  append(batch: Batch): Promise<readonly Appended[]> {
    const refusal = this.isUp ? this.unanswered.whyFull : this.whyDown();
    if (refusal !== undefined) return Promise.reject(unreachable(true, refusal));
    const one = numbered(this.unanswered.nextNr(), batch);
    const maxBytes = one ? maxBytesOfBatch(one) : 0;
    if (!one || maxBytes > REQUEST_MAX_BYTES) return this.call(APPEND_METHOD, [batch]) as Promise<readonly Appended[]>;
    // In the order of the calls.
    this.addCalls();
    const bytes = this.connected?.writer.addWritten(APPEND, maxBytes, one, writeBatch) ?? 0;
    const answer = this.unanswered.wait(one.nr, true);
    this.unanswered.sent(one.nr, bytes);
    this.connected?.writer.flush();
    return answer as Promise<readonly Appended[]>;
  }

  /** What is under way is rejected. */
  close(): void {
    this.isClosed = true;
    clearInterval(this.pinging);
    this.lost("the store is closed");
  }

  private whyDown(): string {
    return this.isClosed ? "the store is closed" : `the connection to the stores is down: ${this.reason}`;
  }

  private async withTimeout(nr: number, answer: Promise<unknown>): Promise<unknown> {
    // No boundary: it rejects a promise.
    const timer = setTimeout(
      () =>
        this.unanswered
          .take(nr)
          ?.reject(new StoreUnreachable(`it has not answered for ${PROBE_MAX_MS / 1000} seconds`)),
      PROBE_MAX_MS,
    );
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  }

  /** One write for everything that was called. */
  private flush(): void {
    this.addCalls();
    this.connected?.writer.flush();
  }

  /** One frame for all calls so far. */
  private addCalls(): void {
    const { calls, connected } = this;
    if (calls.length === 0) return;
    this.calls = [];
    // Without a connection they were rejected when it was lost.
    if (!connected) return;
    try {
      const payload = encode(calls);
      if (payload.length <= REQUEST_MAX_BYTES) return this.add(connected, calls, payload);
    } catch {
      // One of them cannot be encoded, or all together are too long: each by itself.
    }
    for (let at = 0; at < calls.length; at += 3) this.addAlone(connected, calls.slice(at, at + 3));
  }

  private addAlone(connected: Connected, call: readonly unknown[]): void {
    try {
      const payload = encode(call);
      if (payload.length <= REQUEST_MAX_BYTES) return this.add(connected, call, payload);
      throw new StoreError(`a request to the store has ${payload.length} bytes, and ${REQUEST_MAX_BYTES} are allowed`);
    } catch (error) {
      this.unanswered.take(call[0] as number)?.reject(error);
    }
  }

  private add({ writer }: Connected, calls: readonly unknown[], payload: Buffer): void {
    const bytes = payload.length / (calls.length / 3);
    for (let at = 0; at < calls.length; at += 3) this.unanswered.sent(calls[at] as number, bytes);
    writer.add(CALLS, payload);
  }

  private receive(kind: number, payload: Buffer): void {
    this.unansweredPings = 0;
    if (kind === APPEND) {
      const { nr, results } = readResults(payload);
      this.unanswered.take(nr)?.resolve(results);
      return;
    }
    const responses = decode(payload) as unknown[];
    for (let at = 0; at < responses.length; at += 3) {
      const kind = responses[at + 1];
      if (kind === REWOUND) this.noteRewound();
      else if (kind === CHANGED) this.noteChanged();
      else if (kind === FAILED)
        this.unanswered.take(responses[at] as number)?.reject(decodeError(responses[at + 2] as WireError));
      else this.unanswered.take(responses[at] as number)?.resolve(responses[at + 2]);
    }
  }

  private noteRewound(): void {
    if (this.welcome) this.welcome = { ...this.welcome, rewinds: this.welcome.rewinds + 1 };
    for (const listener of this.rewound) listener();
  }

  private noteChanged(): void {
    for (const listener of this.changed) listener();
  }

  private ping(): void {
    if (!this.isUp) return;
    // Counted, and not timed: when this process itself was frozen, the timer comes before the answers are read.
    if (this.unansweredPings++ >= PINGS_UNANSWERED_MAX) return this.lost("the server does not answer");
    this.call(PING, []).catch(() => undefined);
  }

  /** The error; `undefined`: it is connected. */
  private async tryConnect(): Promise<Error | undefined> {
    const connection = ++this.connection;
    const reader = new FrameReader(RESPONSE_MAX_BYTES, (kind, payload) => this.receive(kind, payload));
    const isThis = (): boolean => connection === this.connection;
    this.isConnecting = true;
    try {
      const socket = await Bun.connect({
        unix: this.path,
        socket: {
          data: (_, chunk) => {
            if (!isThis()) return;
            try {
              reader.read(chunk);
            } catch (error) {
              this.lost(error instanceof Error ? error.message : String(error));
            }
          },
          drain: () => {
            if (isThis()) this.connected?.writer.drained();
          },
          close: () => {
            if (isThis()) this.lost("the server has closed it");
          },
          // The socket has failed, or a function above has thrown.
          error: (broken, { message }) => {
            broken.terminate();
            if (isThis()) this.lost(message);
          },
        },
      });
      if (!isThis()) {
        socket.terminate();
        return new StoreUnreachable("the store is closed");
      }
      this.connected = { socket, writer: new FrameWriter(socket) };
      this.unansweredPings = 0;
      this.welcomed((await this.call(HELLO, [VERSION, this.worker])) as Welcome);
      return undefined;
    } catch (error) {
      if (isThis()) this.drop(error as Error);
      return error as Error;
    } finally {
      this.isConnecting = false;
    }
  }

  private welcomed(welcome: Welcome): void {
    const earlier = this.welcome;
    this.welcome = welcome;
    this.isUp = true;
    const isSame = earlier?.incarnation === welcome.incarnation && earlier.rewinds === welcome.rewinds;
    if (earlier) this.noteChanged();
    // A server that was started anew may have found its file damaged, and have begun another.
    if (earlier && !isSame) for (const listener of this.rewound) listener();
  }

  private lost(reason: string): void {
    this.drop(new StoreUnreachable(reason));
    // An attempt that is under way fails with it, and is followed by the next.
    if (!this.isClosed && !this.isConnecting) this.reconnectLater(RECONNECT_MIN_MS);
  }

  /** Ends this connection, and rejects what is under way. */
  private drop({ message }: Error): void {
    this.reason = message;
    this.connection++;
    const wasUp = this.isUp;
    this.isUp = false;
    this.connected?.socket.terminate();
    this.connected = undefined;
    this.calls = [];
    this.unanswered.rejectAll(this.isClosed ? message : `the connection to the stores was lost: ${message}`);
    if (wasUp && !this.isClosed) this.noteChanged();
  }

  private reconnectLater(ms: number): void {
    // No boundary: a failed connect is an answer, not an exception.
    const timer = setTimeout(async () => {
      if (!this.isClosed && (await this.tryConnect()) && !this.isClosed)
        this.reconnectLater(Math.min(2 * ms, RECONNECT_MAX_MS));
    }, ms);
    timer.unref();
  }
}
