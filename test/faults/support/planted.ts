/**
 * Loaded into a node before its own code (`bun --preload`): makes parts of it throw when a name or a text requests it. The
 * product itself has no such hook.
 */
import { EngineHandler } from "../../../src/realtime/control/engine-handler.ts";
import { Dispatch } from "../../../src/realtime/frames/dispatch.ts";
import { Presence } from "../../../src/realtime/presence/presence.ts";

/** Names and texts that make a node throw. */
export const PLANTED = {
  /** In a frame: its handler throws. */
  message: "planted in a message",
  /** A channel: its tick throws. */
  tick: "planted-in-a-tick",
  /** A channel: delivering another node's message on it throws. */
  deliver: "planted-in-a-delivery",
  /** In a frame: throws repeatedly, outside every boundary. */
  uncaught: "planted where nothing catches it",
} as const;

/** Environment variables that load this file into a node. */
export const PLANTING = { BUN_OPTIONS: `--preload ${import.meta.path}` };

type Method = (this: unknown, ...args: never[]) => unknown;

/** Replaces a method, also a private one, by one that first checks whether to throw. */
function plant(owner: { prototype: object }, method: string, look: (...args: never[]) => void): void {
  const real = Reflect.get(owner.prototype, method) as Method | undefined;
  if (!real) throw new Error(`there is no ${method} to plant a fault in`);
  Reflect.set(owner.prototype, method, function (this: unknown, ...args: never[]): unknown {
    look(...args);
    return real.apply(this, args);
  });
}

function fail(text: string): never {
  throw new Error(text);
}

plant(Dispatch, "text", (_peer: unknown, text: string) => {
  if (text.includes(PLANTED.message)) fail(PLANTED.message);
  if (text.includes(PLANTED.uncaught)) setInterval(() => fail(PLANTED.uncaught), 20);
});
plant(Presence, "tickChannel", ({ name }: { name: string }) => {
  if (name === PLANTED.tick) fail(PLANTED.tick);
});
plant(EngineHandler, "deliver", (_app: string, channel: string) => {
  if (channel === PLANTED.deliver) fail(PLANTED.deliver);
});
