/** The page that this one is framed by. It gets events only if the application allows its origin. */
import { originAllowed } from "../../../src/protocol/origin.ts";

export type FrameEvent = "joined" | "left" | "recording" | "error";

export interface Framing {
  /** Framed by an allowed origin: every ancestor is one, because the browser enforces the policy `frame-ancestors`. */
  readonly isFramed: boolean;
  post(event: FrameEvent, details?: Readonly<Record<string, unknown>>): void;
}

interface FrameWindow {
  readonly parent: { postMessage(message: unknown, targetOrigin: string): void };
  readonly location: { readonly ancestorOrigins?: ArrayLike<string> };
}

/** `allowed`: origins that the service has written into the page. */
export function framingOf(own: FrameWindow, allowed: readonly string[], roomName: string): Framing {
  const isFramed = (own.parent as unknown) !== own && allowed.length > 0;
  // Where the browser names the parent's origin, only that one. Elsewhere all: the browser delivers to the parent only if the origin matches.
  const parent = own.location.ancestorOrigins?.[0];
  const all = parent === undefined ? allowed.filter((origin) => !origin.includes("*")) : [parent];
  const targets = all.filter((origin) => originAllowed(origin, allowed));
  return {
    isFramed: isFramed && targets.length > 0,
    post: (event, details = {}) => {
      if (!isFramed) return;
      for (const target of targets) own.parent.postMessage({ source: "parley", event, roomName, ...details }, target);
    },
  };
}
