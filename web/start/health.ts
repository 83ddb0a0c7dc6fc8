/** Whether the service is ready, small, beside its version. */
import { $ } from "./dom.ts";

const EVERY_MS = 30_000;
/** While something is wrong. */
const SOON_MS = 3000;
const WITHIN_MS = 5000;

interface Readiness {
  readonly ready: boolean;
  /** Names of checks that fail while the service can still answer. */
  readonly degraded: readonly string[];
}

export function watchHealth(): void {
  lookNow();
  document.addEventListener("visibilitychange", lookNow);
}

let next: ReturnType<typeof setTimeout> | undefined;

/** Also when a connection of the demo is lost or comes back. A page that no one sees does not look. */
export function lookNow(): void {
  clearTimeout(next);
  if (!document.hidden) void look();
}

async function look(): Promise<void> {
  const response = await fetch("/readyz", { cache: "no-store", signal: AbortSignal.timeout(WITHIN_MS) }).catch(
    () => undefined,
  );
  const body: Readiness | undefined = await response?.json().catch(() => undefined);
  const isGood = body?.ready === true && body.degraded.length === 0;
  if (isGood) show("good", "Healthy");
  else if (!body) show("bad", "Not responding");
  else if (!body.ready) show("bad", "Not ready");
  else show("warn", `Degraded: ${body.degraded.join(", ")}`);
  clearTimeout(next);
  next = setTimeout(lookNow, isGood ? EVERY_MS : SOON_MS);
}

function show(kind: string, text: string): void {
  const place = $("health");
  place.className = `dot ${kind}`;
  if (place.textContent !== text) place.textContent = text;
}
