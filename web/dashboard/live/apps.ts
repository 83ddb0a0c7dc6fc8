/** The applications, and the one that the pages are about. */
import { batch, computed, signal } from "@preact/signals";
import { matchPath, navigate, rawPath } from "../address/router.ts";
import { type ApiError, get } from "../api/client.ts";
import type { App, List } from "../api/types.ts";
import { asApiError, CHANGES_EVERY_MS, repeated } from "./live.ts";

/** undefined: not loaded yet. */
export const apps = signal<readonly App[] | undefined>(undefined);
/** Why the list could not be loaded. */
export const appsError = signal<ApiError | undefined>(undefined);

const PAGE = 1000;

/** Calls that the list took. */
let pages = 1;
let shown = "";

async function allApps(signal?: AbortSignal): Promise<readonly App[]> {
  const all: App[] = [];
  let after: string | null = null;
  do {
    const more: string = after === null ? "" : `&after=${encodeURIComponent(after)}`;
    const page: List<App> = await get(`/apps?limit=${PAGE}${more}`, signal);
    all.push(...page.data);
    after = page.next ?? null;
  } while (after !== null);
  return all;
}

/** Asked for while it is not known yet who is signed in: over a slow line that is a quarter of a second. */
let ahead: Promise<readonly App[]> | undefined;

export function loadAppsAhead(): void {
  ahead = allApps();
  // Who takes it gets the error.
  ahead.catch(() => undefined);
}

export async function loadApps(signal?: AbortSignal): Promise<void> {
  const loading = ahead ?? allApps(signal);
  ahead = undefined;
  const all = await loading;
  if (signal?.aborted) return;
  pages = Math.ceil(all.length / PAGE);
  // What is the same is not drawn again: the switcher may be open.
  const text = JSON.stringify(all);
  if (text !== shown || !apps.value)
    batch(() => {
      const isFirst = !apps.value;
      apps.value = all;
      if (isFirst && isArrival()) navigate(home.value, { replace: true });
    });
  shown = text;
}

/** The overview of the only application, or of all of them: below /dashboard. */
export const home = computed(() => {
  const [only, ...others] = apps.value ?? [];
  return only && others.length === 0 ? `/apps/${encodeURIComponent(only.name)}` : "/";
});

/** The dashboard was opened without a page. Who has chosen "All applications" there, and loads it again or goes back to it, stays there. */
function isArrival(): boolean {
  if (rawPath.value !== "/") return false;
  const [loaded] = performance.getEntriesByType("navigation");
  return !(loaded instanceof PerformanceNavigationTiming) || loaded.type === "navigate";
}

/** Keeps the list fresh: applications are created and changed elsewhere too. Very long lists less often. Returns how to stop it. */
export function followApps(): () => void {
  let turn = 0;
  return repeated(CHANGES_EVERY_MS, async (signal) => {
    if (apps.value && turn++ % Math.max(1, pages) !== 0) return undefined;
    try {
      await loadApps(signal);
      appsError.value = undefined;
    } catch (caught) {
      if (!signal.aborted) appsError.value = asApiError(caught);
    }
    return appsError.value;
  });
}

/** The name of the application in the address; undefined on pages about the whole service. */
export const appName = computed(() => {
  const [, folder, name] = rawPath.value.split("/");
  return folder === "apps" && name ? matchPath("/apps/:app", `/apps/${name}`)?.app : undefined;
});

export const currentApp = computed(() =>
  apps.value?.find(({ name, _id }) => name === appName.value || _id === appName.value),
);

/** The name of an application by its id, as events and rows have it. */
export const nameOfApp = (id: string): string => apps.value?.find(({ _id }) => _id === id)?.name ?? id;
