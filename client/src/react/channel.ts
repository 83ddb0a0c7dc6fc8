import { useEffect, useMemo } from "react";
import type { Channel } from "../channel.ts";
import type { ChannelEvents, ChannelOptions } from "../events/message.ts";
import { useNewest } from "./listener.ts";
import { useParley } from "./provider.ts";

/** Always the newest is called; a new function does not subscribe anew. */
export interface ChannelHandlers<T, M = unknown> {
  readonly onMessage?: ((message: ChannelEvents<T, M>["message"]) => void) | undefined;
  /** Messages were missed, and cannot be got back. */
  readonly onGap?: ((gap: ChannelEvents<T, M>["gap"]) => void) | undefined;
  readonly onSubscribed?: ((subscribed: ChannelEvents<T, M>["subscribed"]) => void) | undefined;
  readonly onOccupancy?: ((occupancy: ChannelEvents<T, M>["occupancy"]) => void) | undefined;
  /** The subscription was refused, or the client has ended. */
  readonly onError?: ((error: ChannelEvents<T, M>["error"]) => void) | undefined;
}

/** The options of a channel count when it is subscribed to next: not while another component has subscribed to it. */
export interface UseChannelOptions<T, M = unknown> extends ChannelOptions, ChannelHandlers<T, M> {}

export interface UsedChannel<T, M> {
  readonly channel: Channel<T, M>;
  /** The same function for the same channel. */
  readonly publish: Channel<T, M>["publish"];
}

const HANDLERS = [
  ["message", "onMessage"],
  ["gap", "onGap"],
  ["subscribed", "onSubscribed"],
  ["occupancy", "onOccupancy"],
  ["error", "onError"],
] as const;

/** Subscribes to the channel while the component is shown. */
export function useChannel<T = unknown, M = unknown>(
  name: string,
  options: UseChannelOptions<T, M> = {},
): UsedChannel<T, M> {
  const parley = useParley();
  const newest = useNewest(options);
  const channel = parley.channel<T, M>(name);
  useEffect(() => {
    const given = Object.entries(newest.current).filter(
      ([, value]) => value !== undefined && !(value instanceof Function),
    );
    parley.channel(name, Object.fromEntries(given));
    const stops = HANDLERS.map(([event, handler]) =>
      channel.on(event, (value) => (newest.current[handler] as ((value: unknown) => void) | undefined)?.(value)),
    );
    return () => {
      for (const stop of stops) stop();
    };
  }, [parley, name, channel, newest]);
  return useMemo(() => ({ channel, publish: (data, sent) => channel.publish(data, sent) }), [channel]);
}
