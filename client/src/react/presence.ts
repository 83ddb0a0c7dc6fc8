import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { Member } from "../events/types.ts";
import type { MemberState, stateOf } from "../state.ts";
import { useParley } from "./provider.ts";

const NO_MEMBERS: readonly never[] = [];
const NO_STATES = /* @__PURE__ */ new Map<string, never>();

/** The other members of the channel, which is subscribed to meanwhile. The same array until something changes. */
export function usePresence<M = unknown>(name: string): readonly Member<M>[] {
  const { presence } = useParley().channel<unknown, M>(name);
  return useSyncExternalStore(
    useCallback((changed) => presence.on("changed", changed), [presence]),
    () => presence.members,
    () => NO_MEMBERS,
  );
}

export interface UsedStates<S> {
  /** The states of other members, by peer id. */
  readonly states: ReadonlyMap<string, MemberState<S>>;
  /** One's own; it is removed when the component is. If several components of a channel set one, the last one counts. */
  readonly set: (state: S | null) => Promise<void>;
}

/**
 * What members say about themselves. The function comes from parley-client/state, so that it is loaded only where it is used:
 *
 *     const { states, set } = useMemberStates<{ typing: boolean }>("chat/1", stateOf);
 */
export function useMemberStates<S extends object>(name: string, of: typeof stateOf): UsedStates<S> {
  const all = of<S>(useParley().channel(name));
  const states = useSyncExternalStore(
    useCallback((changed) => all.on("changed", changed), [all]),
    () => all.all,
    () => NO_STATES,
  );
  const [part] = useState({});
  const set = useCallback((state: S | null) => all.say(part, state), [all, part]);
  useEffect(() => () => void set(null).catch(() => undefined), [set]);
  return useMemo(() => ({ states, set }), [states, set]);
}
