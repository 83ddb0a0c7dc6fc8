/** Looks at the connection every two seconds, and notices that the network, the page or the machine is back. */
const LOOK_EVERY_MS = 2000;
/** A timer that is late by this much was asleep; a busy page is late by less. */
const ASLEEP_MS = 10_000;

/** As much of a browser's page as is used: the service's command line is compiled without the types of browsers. */
interface Page {
  readonly visibilityState: string;
  addEventListener(event: "visibilitychange", listener: () => void, options: { readonly signal: AbortSignal }): void;
}

/**
 * A look that comes late only wakes: what came meanwhile has not been read yet, so nothing can be said about the connection.
 * Returns a function that stops it.
 */
export function onWake(look: () => void, awake: () => void): () => void {
  // The clock on the wall: others stand still while the machine sleeps.
  let lastMs = Date.now();
  const timer = setInterval(() => {
    const nowMs = Date.now();
    const isLate = nowMs - lastMs > LOOK_EVERY_MS + ASLEEP_MS;
    lastMs = nowMs;
    if (isLate) awake();
    else look();
  }, LOOK_EVERY_MS);
  const { document: page } = globalThis as { document?: Page };
  const visible = (): void => {
    if (page?.visibilityState === "visible") awake();
  };
  const until = new AbortController();
  globalThis.addEventListener?.("online", awake, until);
  page?.addEventListener("visibilitychange", visible, until);
  return () => {
    clearInterval(timer);
    until.abort();
  };
}
