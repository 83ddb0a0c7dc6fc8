import { useMemberStates, usePresence } from "parley-client/react";
import { stateOf } from "parley-client/state";
import { useEffect, useRef } from "react";
import type { Activity, Person } from "./wire.ts";

/** After this long without a key, one no longer types. */
const STILL_MS = 3000;

export function Typing({ room }: { room: string }) {
  const members = usePresence<Person>(room);
  const { states } = useMemberStates<Activity>(room, stateOf);
  const names = members.flatMap(({ peerId, metadata }) =>
    states.get(peerId)?.state?.typing ? [metadata?.name ?? peerId] : [],
  );
  const [first, second] = names;
  return (
    <p className="typing" aria-live="polite">
      {names.length === 1 && `${first} is typing…`}
      {names.length === 2 && `${first} and ${second} are typing…`}
      {names.length > 2 && `${names.length} people are typing…`}
    </p>
  );
}

/** Shows the others that one types; for as long as keys are pressed. */
export function useTyping(room: string): (isTyping: boolean) => void {
  const { set } = useMemberStates<Activity>(room, stateOf);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const isShown = useRef(false);
  useEffect(() => () => clearTimeout(timer.current), []);
  const show = (isTyping: boolean) => {
    clearTimeout(timer.current);
    if (isTyping) timer.current = setTimeout(() => show(false), STILL_MS);
    if (isTyping === isShown.current) return;
    isShown.current = isTyping;
    // Without a connection there is no one to show it to.
    set(isTyping ? { typing: true } : null).catch(() => undefined);
  };
  return show;
}
