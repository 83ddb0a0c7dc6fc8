/**
 * People inside to whom this page gets no connection: after a while it says that it still tries, and later why that may be. Networks that block the
 * direct way are not seen in any other way: a tile would stay on "connecting".
 */
import { effect } from "@preact/signals";
import { announce } from "../page/announce.ts";
import { listed, t } from "../texts/texts.ts";
import type { Session } from "./session.ts";

/** Longer than the first attempt of a connection on a busy machine (call/recovery.ts). */
const CONNECT_WITHIN_MS = 15_000;
/** Then also the second attempt, which gets twice the time, has failed. */
const GIVEN_UP_AFTER_MS = 45_000;

/** Returns how to stop. */
export function watchUnreached(session: Session): () => void {
  /** One timer for each person without a connection; it is kept after it has run. */
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  const late = (who: string, isGivenUp: boolean): void => {
    session.unreached.value = new Map(session.unreached.value).set(who, isGivenUp);
    announce(unreachedText(session), true);
    if (!isGivenUp)
      timers.set(
        who,
        setTimeout(() => late(who, true), GIVEN_UP_AFTER_MS - CONNECT_WITHIN_MS),
      );
  };
  const stop = effect(() => {
    const waiting = waitedFor(session);
    for (const [who, timer] of timers)
      if (!waiting.has(who)) {
        clearTimeout(timer);
        timers.delete(who);
      }
    for (const who of waiting)
      if (!timers.has(who))
        timers.set(
          who,
          setTimeout(() => late(who, false), CONNECT_WITHIN_MS),
        );
    const before = session.unreached.peek();
    const still = new Map([...before].filter(([who]) => waiting.has(who)));
    if (still.size < before.size) session.unreached.value = still;
  });
  return () => {
    stop();
    for (const timer of timers.values()) clearTimeout(timer);
    session.unreached.value = new Map();
  };
}

/** While this page or the other one is away itself, the page says that instead. */
function waitedFor({ isOnline, people, qualities }: Session): ReadonlySet<string> {
  const known = qualities.value;
  const waiting = people.value.filter(
    ({ participantSession, isLost }) => !isLost && (known.get(participantSession) ?? "connecting") === "connecting",
  );
  return new Set(isOnline.value ? waiting.map(({ participantSession }) => participantSession) : []);
}

const isRelay = ({ urls }: RTCIceServer): boolean => [urls].flat().some((url) => /^turns?:/i.test(url));

/** Empty if there is nothing to say. */
export function unreachedText({ people, unreached, iceServers }: Session): string {
  const isGivenUp = [...unreached.value.values()].includes(true);
  const names = people.value.filter(({ participantSession: who }) => isGivenUp === unreached.value.get(who));
  if (names.length === 0) return "";
  const name = listed(names.map((one) => one.name));
  if (!isGivenUp) return t("stillConnecting", { name });
  if (iceServers.value.some(isRelay)) return t("unreachedWithRelay", { name });
  return t("unreachedText", { name });
}
