/** Whether the service is ready, small, beside its version. */
import { $ } from "./dom.ts";

const EVERY_MS = 30_000;
const WITHIN_MS = 5000;

interface Readiness {
  readonly ready: boolean;
  /** Names of checks that fail while the service can still answer. */
  readonly degraded: readonly string[];
}

export function watchHealth(): void {
  lookNow();
  setInterval(lookNow, EVERY_MS);
  document.addEventListener("visibilitychange", lookNow);
}

/** Also when a connection of the demo is lost or comes back. */
export function lookNow(): void {
  if (!document.hidden) void look();
}

async function look(): Promise<void> {
  const response = await fetch("/readyz", { cache: "no-store", signal: AbortSignal.timeout(WITHIN_MS) }).catch(
    () => undefined,
  );
  const body: Readiness | undefined = await response?.json().catch(() => undefined);
  if (!body) show("bad", "Not responding");
  else if (!body.ready) show("bad", "Not ready");
  else if (body.degraded.length > 0) show("warn", `Degraded: ${body.degraded.join(", ")}`);
  else show("good", "Healthy");
}

function show(kind: string, text: string): void {
  const place = $("health");
  place.className = `dot ${kind}`;
  if (place.textContent !== text) place.textContent = text;
}
