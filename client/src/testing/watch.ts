/** Counts what a page has open: sockets, timers, listeners. */
import type { Parley } from "../index.ts";

export const sockets = new Set<WebSocket>();
/** Frames that were sent, by their type. */
export const sent: Record<string, number> = {};
export let socketsMade = 0;

class WatchedSocket extends WebSocket {
  constructor(url: string | URL) {
    super(url);
    socketsMade++;
    sockets.add(this);
    this.addEventListener("close", () => sockets.delete(this));
  }

  override send(text: string): void {
    const { type } = JSON.parse(text) as { type: string };
    sent[type] = (sent[type] ?? 0) + 1;
    super.send(text);
  }
}
globalThis.WebSocket = WatchedSocket;

export const timers = new Set<unknown>();

for (const kind of ["setTimeout", "setInterval"] as const) {
  const original = globalThis[kind] as (run: () => void, ms?: number) => number;
  const watched = (run: () => void, ms?: number): number => {
    const id = original(() => {
      if (kind === "setTimeout") timers.delete(id);
      run();
    }, ms);
    timers.add(id);
    return id;
  };
  Object.assign(globalThis, { [kind]: watched });
}
for (const kind of ["clearTimeout", "clearInterval"] as const) {
  const original = globalThis[kind];
  const watched = (id: number): void => {
    timers.delete(id);
    original(id);
  };
  Object.assign(globalThis, { [kind]: watched });
}

interface WithListeners {
  readonly listeners: ReadonlyMap<string, ReadonlySet<unknown>>;
}

interface Inside extends WithListeners {
  readonly channels: ReadonlyMap<string, WithListeners & { presence: WithListeners; extensions: ReadonlySet<unknown> }>;
}

const count = ({ listeners }: WithListeners): number =>
  [...listeners.values()].reduce((sum, { size }) => sum + size, 0);

/** All listeners of a client and of its channels. */
export function listenersOf(parley: Parley): number {
  const inside = parley as unknown as Inside;
  const channels = [...inside.channels.values()];
  return channels.reduce(
    (sum, channel) => sum + count(channel) + count(channel.presence) + channel.extensions.size,
    count(inside),
  );
}
