import { useEffect, useInsertionEffect, useRef } from "react";
import type { Emitter } from "../events/emitter.ts";

/** The value of the newest render that was shown, for functions that are called later. */
export function useNewest<T>(value: T): { readonly current: T } {
  const newest = useRef(value);
  // Before all other effects, so that none of them calls an old function.
  useInsertionEffect(() => {
    newest.current = value;
  });
  return newest;
}

/**
 * Listens to a client, a channel, its presence or its states while the component is shown. The newest function is called; a new
 * one costs nothing.
 *
 *     useListener(useParley(), "direct", ({ from, data }) => …);
 */
// biome-ignore lint/suspicious/noExplicitAny: as in Emitter.
export function useListener<Events extends Record<keyof Events, any>, K extends keyof Events>(
  emitter: Emitter<Events>,
  event: K,
  listener: (value: Events[K]) => void,
): void {
  const newest = useNewest(listener);
  useEffect(() => emitter.on(event, (value) => newest.current(value)), [emitter, event, newest]);
}
