/** The service's time, ticking once a second for everything that shows how long ago something was. */
import { signal } from "@preact/signals";

/** How far the browser's clock is behind the service's. */
let behindMs = 0;
/** `Date` headers have whole seconds, and an answer takes a moment. */
const TOLERATED_MS = 5000;

const serviceSeconds = (): number => (Date.now() + behindMs) / 1000;

export const nowSeconds = signal(serviceSeconds());

/** Called once, by the page: tests that import this have no document. */
export function startTicking(): void {
  setInterval(() => {
    if (!document.hidden) nowSeconds.value = serviceSeconds();
  }, 1000);
}

/** Notes the time at which the service answered: the header `Date`. */
export function noteServiceTime(date: string | null): void {
  const at = Date.parse(date ?? "");
  if (Number.isNaN(at) || Math.abs(at - Date.now() - behindMs) < TOLERATED_MS) return;
  behindMs = at - Date.now();
  nowSeconds.value = serviceSeconds();
}
