/**
 * `parley-client/state`: what members say about themselves, such as "typing".
 *
 *     const typing = stateOf<{ typing: boolean }>(chat);
 *     await typing.set({ typing: true });
 *     typing.on("changed", ({ peerId, state }) => …);
 */
import type { Channel } from "./channel.ts";
import { Emitter } from "./events/emitter.ts";
import { ParleyError } from "./events/errors.ts";
import type { Entry, Frame } from "./events/frames.ts";
import type { MemberState, StateEvents } from "./events/types.ts";

export type { MemberState, StateEvents };

/** A roster comes at most half a second after its subscribe, and later if many are sent. */
const AGAIN_MS = 200;
const TRIES_MAX = 10;
/** The service takes ten states per second: those of many channels are set again one after another. */
const LIMITED_MS = 1000;

const codeOf = (error: unknown): string => (error instanceof ParleyError ? error.code : "");
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class States<S extends object> extends Emitter<StateEvents<S>> {
  private readonly byId = new Map<string, MemberState<S>>();
  /** What parts of the application say, by part: each may take back its own. The last one counts. */
  private readonly said = new Map<object, S>();
  /** What the service is asked to show. */
  private own: S | null = null;
  /** Calls of `set` that wait for the subscription, and send the state themselves. */
  private settings = 0;
  private end: (() => void) | undefined;
  private view: ReadonlyMap<string, MemberState<S>> | undefined;
  /** One's own state is to be set again with the roster. */
  private isRosterAwaited = false;
  /** Subscriptions that have set the state again: the last one counts. */
  private repeats = 0;

  constructor(private readonly channel: Channel) {
    super("stateOf(channel)");
  }

  /** States of other members. The same map until something changes. */
  get all(): ReadonlyMap<string, MemberState<S>> {
    this.view ??= new Map(this.byId);
    return this.view;
  }

  get(peerId: string): S | null {
    return this.byId.get(peerId)?.state ?? null;
  }

  /** At most 4 KiB; `null` removes it. It is set again after a reconnect. */
  set(state: S | null): Promise<void> {
    return this.say(this, state);
  }

  /** @internal Several components may use one channel: one that takes back its state must not take back that of another. */
  async say(part: object, state: S | null): Promise<void> {
    this.said.delete(part);
    if (state !== null) this.said.set(part, state);
    const shown = [...this.said.values()].at(-1) ?? null;
    if (state === null && shown === this.own) return;
    this.own = shown;
    this.changed();
    if (shown !== null) {
      this.settings++;
      // A subscription that was refused is tried again: to wait for it without asking could take forever.
      await this.channel.subscribe().finally(() => {
        this.settings--;
        this.channel.unsubscribe();
      });
      // A later call sends its own.
      if (this.own !== shown) return;
    }
    await this.send();
  }

  /** Removes one's own state, without waiting for it. */
  close(): void {
    this.set(null).catch(() => undefined);
  }

  private get isUsed(): boolean {
    return this.own !== null || this.has("changed");
  }

  /** The channel is subscribed to with states while something listens to them, or one's own is set. */
  protected override changed(): void {
    if (this.isUsed) this.end ??= this.begin();
    // At the end of the turn: a listener that is replaced by another costs no new subscription.
    else queueMicrotask(() => this.isUsed || this.stop());
  }

  private begin(): () => void {
    const ends = [
      this.channel.extend({
        fields: { state: true },
        // A new connection has no state, and may have one when its roster is there: what is refused before counts, too.
        subscribed: () => {
          this.isRosterAwaited = this.own !== null && this.settings === 0;
        },
        received: (frame) => this.received(frame),
      }),
      // Presence decides who has left, because a long roster comes in several parts.
      this.channel.presence.on("left", ({ peerId }) => this.put({ peerId })),
    ];
    return () => {
      for (const end of ends) end();
    };
  }

  private stop(): void {
    this.end?.();
    this.end = undefined;
    this.byId.clear();
    this.view = undefined;
  }

  private async repeat(state: S, nr: number): Promise<void> {
    while (this.own === state && this.repeats === nr)
      try {
        return await this.send();
      } catch (error) {
        // Other errors are reported by the channel, or end with the connection.
        if (codeOf(error) !== "rate_limited") return;
        await pause(LIMITED_MS * (1 + Math.random()));
      }
  }

  /** A subscription has a state from its announcement on, which follows its roster. */
  private async send(): Promise<void> {
    for (let tries = 1; ; tries++)
      try {
        await this.channel.request({ type: "state", state: this.own });
        return;
      } catch (error) {
        const code = codeOf(error);
        // A state ends with its connection.
        if (this.own === null && (code === "not_connected" || code === "connection_lost")) return;
        if (tries === TRIES_MAX || code !== "channel_not_authorized") throw error;
        await pause(AGAIN_MS);
      }
  }

  private received({ joined = [], changed = [], snapshot }: Frame): void {
    if (snapshot && this.isRosterAwaited) {
      this.isRosterAwaited = false;
      if (this.own !== null) void this.repeat(this.own, ++this.repeats);
    }
    // New metadata comes as a join without a state, and changes no state.
    for (const entry of joined) if (snapshot || entry.state !== undefined) this.put(entry);
    for (const entry of changed) this.put(entry);
  }

  private put({ peerId, state = null, lost }: Entry): void {
    // The service sends changes of one's own state, too.
    if (peerId === this.channel.peerId) return;
    const before = this.byId.get(peerId);
    if (state === null && !lost) {
      if (!this.byId.delete(peerId)) return;
    } else this.byId.set(peerId, { peerId, state: state as S | null, ...(lost && { lost }) });
    if (before?.state === state && before?.lost === lost) return;
    this.view = undefined;
    this.emit("changed", { peerId, state: state as S | null, ...(lost && { lost }) });
  }
}

const made = new WeakMap<object, States<object>>();

/** The same object for the same channel. It asks for states while something listens to it, or a state is set. */
export function stateOf<S extends object>(channel: Channel<never, never> | Channel): States<S> {
  const states = made.get(channel) ?? new States<object>(channel as Channel);
  made.set(channel, states);
  return states as unknown as States<S>;
}
