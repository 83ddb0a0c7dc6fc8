/** Who is signed in, and what that person may do. */
import { computed, signal } from "@preact/signals";
import type { Session } from "../api/types.ts";

/** undefined: not known yet; null: signed out. */
export const session = signal<Session | null | undefined>(undefined);
/** Why the page shows the sign-in form, if there is a reason. */
export const signedOutReason = signal("");
export const mayChange = computed(() => session.value?.role === "admin");

export function signedOut(reason = ""): void {
  signedOutReason.value = reason;
  session.value = null;
}
