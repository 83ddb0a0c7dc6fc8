/** What becomes of a place in the lobby. */
import type { Declined, LobbyConnection } from "../room/contract.ts";
import type { Closed, Session, Stage } from "../session/session.ts";

/** Without a host's decision: what the visitor is shown then. */
const ENDS: Readonly<Record<string, Closed>> = {
  time: "waiting_over",
  room_not_found: "missing",
  token_required: "invitation",
};

export interface LobbyOutcome {
  admitted(): void;
  /** A host has declined: the ticket has to wait. */
  declined(): void;
  /** The page waits no more; called before the stage changes. */
  over(): void;
}

/** `isOurs`: the visit still waits at this place. */
export function waitIn(session: Session, lobby: LobbyConnection, isOurs: () => boolean, outcome: LobbyOutcome): void {
  let place: Extract<Stage, { readonly at: "waiting" }> = { at: "waiting", sinceMs: Date.now() };
  session.stage.value = place;
  const show = (news: Partial<typeof place>): void => {
    if (!isOurs()) return;
    place = { ...place, ...news };
    session.stage.value = place;
  };
  const close = (why: Closed, more: { readonly text?: string; readonly timeMs?: number } = {}): void => {
    outcome.over();
    session.stage.value = { at: "closed", why, ...more };
  };
  lobby.on("hosts", (hasHost) => show({ hasHost }));
  lobby.on("online", (isOnline) => show({ isLost: !isOnline }));
  lobby.on("admitted", () => {
    if (isOurs()) outcome.admitted();
  });
  lobby.on("declined", ({ text, reason = "", retryAfterSec }: Declined) => {
    if (!isOurs()) return;
    const end = Object.hasOwn(ENDS, reason) ? ENDS[reason] : undefined;
    if (end) return close(end);
    outcome.declined();
    close("declined", {
      ...(text !== undefined && { text }),
      ...(retryAfterSec !== undefined && { timeMs: Date.now() + retryAfterSec * 1000 }),
    });
  });
  lobby.on("ended", () => {
    if (isOurs()) close("waiting_over");
  });
}
