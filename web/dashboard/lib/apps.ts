/** The applications, and the one that the pages are about. */
import { computed, signal } from "@preact/signals";
import { get } from "../api/client.ts";
import type { App, List } from "../api/types.ts";
import { matchPath, rawPath } from "./router.ts";

/** undefined: not loaded yet. */
export const apps = signal<readonly App[] | undefined>(undefined);

export async function loadApps(): Promise<void> {
  const all: App[] = [];
  let after: string | null = null;
  do {
    const page: List<App> = await get(`/apps?limit=1000${after === null ? "" : `&after=${encodeURIComponent(after)}`}`);
    all.push(...page.data);
    after = page.next ?? null;
  } while (after !== null);
  apps.value = all;
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
