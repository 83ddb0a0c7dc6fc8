/** Counts what a page has open: sockets, timers, listeners. */
import { Channel } from "../channel.ts";
import { Emitter } from "../events/emitter.ts";

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

/** Listeners and extensions of all clients and channels that have not been taken back. */
export let listeners = 0;

function watch(part: object, method: string): void {
  const methods = part as Record<string, ((...args: unknown[]) => () => void) | undefined>;
  const original = methods[method];
  methods[method] = function (this: unknown, ...args) {
    const end = original?.apply(this, args);
    let isOn = true;
    listeners++;
    return () => {
      if (isOn) listeners--;
      isOn = false;
      end?.();
    };
  };
}
watch(Emitter.prototype, "on");
watch(Channel.prototype, "extend");
