import { useCallback, useMemo, useSyncExternalStore } from "react";
import type { Channel } from "../channel.ts";
import type { Gap, Message } from "../events/message.ts";
import type { history } from "../history.ts";
import type { Parley } from "../parley.ts";
import { type UseChannelOptions, type UsedChannel, useChannel } from "./channel.ts";
import { useParley } from "./provider.ts";
import { shared } from "./shared.ts";

/** A message, or the place where some are missing. */
export type Entry<T, M = unknown> = { readonly key: number } & (
  | { readonly message: Message<T, M>; readonly isOwn: boolean; readonly gap?: undefined }
  | { readonly gap: Gap; readonly message?: undefined }
);

export interface UseMessagesOptions<T, M = unknown> extends UseChannelOptions<T, M> {
  /** How many newer ones are kept besides those that `earlier` has loaded; 500 by default. The largest of a channel counts. */
  readonly limit?: number;
  /** From parley-client/history: for `earlier`. */
  readonly history?: typeof history;
}

export interface UsedMessages<T, M> extends UsedChannel<T, M> {
  /** From the oldest to the newest, those that this client has published included. All components have the same list. */
  readonly entries: readonly Entry<T, M>[];
  /** The list may begin later than the history of the channel. */
  readonly hasEarlier: boolean;
  /** Loads earlier messages, 50 by default. */
  readonly earlier: (limit?: number) => Promise<void>;
}

const LIMIT = 500;

interface List<T, M> {
  readonly entries: readonly Entry<T, M>[];
  readonly hasEarlier: boolean;
}

const EMPTY: List<never, never> = { entries: [], hasEarlier: true };

/** The messages of a channel while a component shows them. */
class Messages<T, M> {
  list: List<T, M> = EMPTY;
  private loaded = 0;
  private lastKey = 0;
  private firstKey = 0;
  /** Who shows it, with the limit of each. */
  private readonly shown = new Map<() => void, number>();
  private stops: readonly (() => void)[] = [];

  constructor(
    private readonly parley: Parley,
    private readonly channel: Channel<T, M>,
  ) {}

  subscribe(changed: () => void, limit: number): () => void {
    const release = this.acquire();
    this.shown.set(changed, limit);
    return () => {
      this.shown.delete(changed);
      release();
    };
  }

  publish: Channel<T, M>["publish"] = async (data, options) => {
    const published = await this.channel.publish(data, options);
    const { name: channel } = this.channel;
    const { duplicate: _, ...place } = published;
    // The service does not send it back to the connection that has published it.
    if (this.stops.length > 0) this.add({ channel, from: this.parley.peerId ?? "", data, time: Date.now(), ...place });
    return published;
  };

  async earlier(ask: typeof history, limit = 50): Promise<void> {
    const before = this.list.entries.find(({ message }) => message)?.message?.pos;
    const { messages, more } = await ask(this.channel, { limit, ...(before !== undefined && { before }) });
    if (this.stops.length === 0) return;
    const known = new Set(this.list.entries.map(({ message }) => message?.pos));
    const older = messages.filter(({ pos }) => !known.has(pos)).map((message) => this.entry(message, --this.firstKey));
    this.loaded += older.length;
    this.show({ entries: [...older.reverse(), ...this.list.entries], hasEarlier: more });
  }

  private readonly acquire = shared(
    () => {
      this.stops = [
        this.channel.on("message", (message) => this.add(message)),
        this.channel.on("subscribed", ({ recovered, replay }) => this.began(recovered, replay)),
        this.channel.on("gap", (gap) => this.push({ key: ++this.lastKey, gap })),
      ];
    },
    () => {
      for (const stop of this.stops) stop();
      this.stops = [];
      this.loaded = 0;
      this.list = EMPTY;
    },
  );

  private entry = (message: Message<T, M>, key: number): Entry<T, M> => ({
    key,
    message,
    isOwn: message.from === this.parley.peerId,
  });

  /** A rewind that brought fewer messages than it asked for has brought the oldest one too. */
  private began(recovered: boolean | undefined, replay: number): void {
    const { entries, hasEarlier } = this.list;
    const isWhole = recovered === true && replay < Number(this.channel.options.rewind);
    if (entries.length === 0) this.show({ entries, hasEarlier: recovered === false || (hasEarlier && !isWhole) });
  }

  private add(message: Message<T, M>): void {
    this.push(this.entry(message, ++this.lastKey));
  }

  private push(entry: Entry<T, M>): void {
    const { entries, hasEarlier } = this.list;
    const limit = Math.max(...this.shown.values());
    const over = Math.max(0, entries.length + 1 - limit - this.loaded);
    // A message without a position is of a channel that keeps none.
    const isKept = entry.gap || entry.message.pos;
    this.show({ entries: [...entries.slice(over), entry], hasEarlier: !!isKept && (hasEarlier || over > 0) });
  }

  private show(list: List<T, M>): void {
    this.list = list;
    for (const changed of this.shown.keys()) changed();
  }
}

const made = /* @__PURE__ */ new WeakMap<object, Messages<never, never>>();

function messagesOf<T, M>(parley: Parley, channel: Channel<T, M>): Messages<T, M> {
  const messages = (made.get(channel) as unknown as Messages<T, M> | undefined) ?? new Messages(parley, channel);
  made.set(channel, messages as unknown as Messages<never, never>);
  return messages;
}

/** The messages of a channel as a list that is bounded, and in which gaps are marked. */
export function useMessages<T = unknown, M = unknown>(
  name: string,
  { limit = LIMIT, history: ask, ...options }: UseMessagesOptions<T, M> = {},
): UsedMessages<T, M> {
  const { channel } = useChannel<T, M>(name, options);
  const messages = messagesOf(useParley(), channel);
  const list = useSyncExternalStore(
    useCallback((changed) => messages.subscribe(changed, limit), [messages, limit]),
    () => messages.list,
    () => EMPTY,
  );
  const earlier = useCallback(
    async (count?: number) => {
      if (!ask) throw new TypeError("parley: pass useMessages the option `history` from parley-client/history");
      await messages.earlier(ask, count);
    },
    [messages, ask],
  );
  return useMemo(
    () => ({ ...list, hasEarlier: !!ask && list.hasEarlier, channel, publish: messages.publish, earlier }),
    [list, ask, channel, messages, earlier],
  );
}
