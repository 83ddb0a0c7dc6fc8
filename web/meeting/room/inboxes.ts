/** Signals between pages, through the inboxes of the room's channels. They wait while this page has no connection to the service. */
import { ParleyError } from "../../../client/src/events/errors.ts";
import type { Message } from "../../../client/src/events/message.ts";
import type { Parley } from "../../../client/src/parley.ts";
import { inboxChannel } from "../../../src/protocol/room-channels.ts";
import { Listeners } from "../call/listeners.ts";
import type { Signal, Signalling } from "../call/signalling.ts";
import { randomId } from "./ids.ts";

interface InboxEvents {
  others: [];
  signal: [from: string, data: Readonly<Record<string, unknown>>];
}

/** Signals that wait for a connection, or for an answer of the service. */
const WAITING_MAX = 300;
const AGAIN_MS = 500;
const TRIES_MAX = 5;
/** The connection ended before the answer. An inbox stores a signal with the same id once, so it can be sent again. */
const IS_UNKNOWN: readonly string[] = ["not_connected", "connection_lost", "timeout"];
const MAY_PASS: readonly string[] = ["rate_limited", "backend_error", "internal_error"];

export interface InboxOptions {
  readonly room: string;
  readonly self: string;
  readonly isResumed: boolean;
  others(): readonly string[];
}

export class Inboxes implements Signalling {
  readonly #parley: Parley;
  readonly #options: InboxOptions;
  readonly #listeners = new Listeners<InboxEvents>();
  /** One's own inbox is subscribed to. */
  readonly ready: Promise<void>;
  #waiting = 0;
  #connected: Promise<void> | undefined;

  constructor(parley: Parley, options: InboxOptions) {
    this.#parley = parley;
    this.#options = options;
    const own = parley.channel(inboxChannel(options.room, options.self));
    own.on("message", (message) => this.#received(message));
    this.ready = own.subscribed;
  }

  get self(): string {
    return this.#options.self;
  }

  get isResumed(): boolean {
    return this.#options.isResumed;
  }

  isOnline(): boolean {
    return this.#parley.isConnected;
  }

  others(): readonly string[] {
    return this.#options.others();
  }

  onOthers(listener: () => void): () => void {
    return this.#listeners.on("others", listener);
  }

  onSignal(listener: (from: string, data: Readonly<Record<string, unknown>>) => void): () => void {
    return this.#listeners.on("signal", listener);
  }

  othersChanged(): void {
    this.#listeners.emit("others");
  }

  async send(to: string, data: Signal): Promise<void> {
    if (this.#waiting >= WAITING_MAX) throw new ParleyError("queue_full", `${WAITING_MAX} signals wait already.`);
    this.#waiting++;
    try {
      await this.#deliver({ type: "publish", channel: inboxChannel(this.#options.room, to), data, id: randomId() });
    } finally {
      this.#waiting--;
    }
  }

  /** Sent in this turn if there is a connection: a goodbye is followed by its end. */
  async #deliver(frame: { readonly type: string; readonly [field: string]: unknown }): Promise<void> {
    for (let tries = 1; ; tries++) {
      if (!this.#parley.isConnected) await this.#connection();
      try {
        await this.#parley.request(frame);
        return;
      } catch (error) {
        const { code } = error as ParleyError;
        if (MAY_PASS.includes(code) && tries < TRIES_MAX) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
        else if (!IS_UNKNOWN.includes(code)) throw error;
      }
    }
  }

  /** Resolves when there is a connection; all signals that wait continue in their order. */
  #connection(): Promise<void> {
    this.#connected ??= new Promise<void>((resolve, reject) => {
      const ended = this.#parley.status.state === "closed" ? this.#parley.status.error : undefined;
      if (ended) return reject(ended);
      const end = this.#parley.on("status", ({ state, error }) => {
        if (state === "connected") resolve();
        else if (state === "closed") reject(error);
        else return;
        end();
      });
    }).finally(() => {
      this.#connected = undefined;
    });
    return this.#connected;
  }

  #received({ from, data }: Message): void {
    if (typeof data !== "object" || data === null) return;
    this.#listeners.emit("signal", from, data as Readonly<Record<string, unknown>>);
  }
}
