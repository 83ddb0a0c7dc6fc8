/**
 * From HTTP back to a WebSocket while the connection goes on. Only with a token: with a key the new connection would be another peer.
 */
import type { Socket } from "./options.ts";

/** Every five minutes, give or take 20 %. */
const TRY_AFTER_MIN_MS = 240_000;
const TRY_AFTER_MORE_MS = 120_000;
/** From the attempt to a welcome, and a moment in which nothing waits for an answer. */
const TAKE_WITHIN_MS = 15_000;
/** Until then the connection that was left stays open: members would be seen to leave before their new subscriptions are announced. */
const LEAVE_AFTER_MS = 5000;
const GOODBYE = 1000;

interface Traveller {
  /** A new WebSocket; `undefined` if there is none to be had now. */
  dial(): Promise<Socket | undefined>;
  /** Still nothing lets WebSockets through. */
  failed(): void;
  /**
   * Calls `then` when an answer to another request has come and nothing waits for one. Whatever the service had sent before it had the
   * WebSocket has come by then; of direct messages that have come over both, the client takes each once.
   */
  settled(then: () => unknown): void;
  /** The connection goes on with this WebSocket, which has sent these frames. Returns the one that it leaves. */
  take(socket: Socket, frames: readonly string[]): Socket | undefined;
}

export class WayBack {
  readonly #host: Traveller;
  #timer: Timer | undefined;
  /** The one of two that is not in use: the WebSocket that is tried, and then the connection that was left. */
  #other: Socket | undefined;
  /** Goes on with the WebSocket that is tried, if there is one. */
  take: (() => boolean) | undefined;

  constructor(host: Traveller) {
    this.#host = host;
  }

  /** Tries it after a while, and then again. */
  wait(): void {
    this.#waitFor(TRY_AFTER_MIN_MS + Math.random() * TRY_AFTER_MORE_MS, () => void this.go());
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#leave();
  }

  /** Now, if it is waiting for it. */
  async go(): Promise<void> {
    if (this.#other || !this.#timer) return;
    this.wait();
    const timer = this.#timer;
    const socket = await this.#host.dial();
    // Meanwhile the connection has ended, or it was tried again.
    if (!socket || timer !== this.#timer) return socket?.close(GOODBYE);
    this.#other = socket;
    const frames: string[] = [];
    const failed = (): void => {
      if (this.#other !== socket) return;
      this.#leave();
      this.#host.failed();
      this.wait();
    };
    this.#waitFor(TAKE_WITHIN_MS, failed);
    this.take = () => {
      this.take = this.#other = undefined;
      this.#other = this.#host.take(socket, frames);
      this.#waitFor(LEAVE_AFTER_MS, () => this.stop());
      return true;
    };
    socket.onclose = failed;
    socket.onerror = failed;
    socket.onmessage = ({ data }: { readonly data: unknown }) => {
      if (frames.push(String(data)) === 1) this.#host.settled(() => this.#other === socket && this.take?.());
    };
  }

  #waitFor(ms: number, then: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(then, ms);
  }

  #leave(): void {
    this.#other?.close(GOODBYE);
    this.take = this.#other = undefined;
  }
}

type Timer = ReturnType<typeof setTimeout>;
