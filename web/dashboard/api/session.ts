/** Who is signed in, and what that person may do. */
import { computed, signal } from "@preact/signals";
import type { Session } from "./types.ts";

/** undefined: not known yet; null: signed out. */
export const session = signal<Session | null | undefined>(undefined);
/** Why the page shows the sign-in form, if there is a reason. */
export const signedOutReason = signal("");
export const mayChange = computed(() => session.value?.role === "admin");

const REMEMBERED = "parley-signed-in";
/** What find/recent.ts keeps. */
export const RECENT = "parley-recent";

/**
 * Whether this browser has signed in before. The cookie itself is invisible here; without this the page would have to ask the
 * service at every first visit, and the browser would report the refusal as an error.
 */
export function hasSignedIn(): boolean {
  try {
    return localStorage.getItem(REMEMBERED) !== null;
  } catch {
    return true;
  }
}

export function signedIn(as: Session): void {
  try {
    localStorage.setItem(REMEMBERED, "1");
  } catch {
    // Without storage the page asks the service.
  }
  session.value = as;
}

export function signedOut(reason = ""): void {
  try {
    localStorage.removeItem(REMEMBERED);
    localStorage.removeItem(RECENT);
  } catch {
    // Nothing was stored.
  }
  signedOutReason.value = reason;
  session.value = null;
}

/** Signing out in one tab ends the session of all, and what they show may be secret. Browsers report a change of the storage to the other tabs only. */
export function followOtherTabs(page: Pick<EventTarget, "addEventListener">): void {
  page.addEventListener("storage", (event) => {
    const { key, newValue } = event as Event & { readonly key?: string; readonly newValue?: string | null };
    if (key === REMEMBERED && newValue === null && session.value) signedOut("You signed out in another tab.");
  });
}
