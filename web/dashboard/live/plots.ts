/** Loads what draws the charts, when a page has some: again and again while the service does not respond. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type uPlot from "uplot";
import { ApiError } from "../api/client.ts";
import { repeated } from "./live.ts";

type Plot = typeof uPlot;

/** undefined: not there yet. `isFailing`: the last try was in vain. */
const loaded = signal<{ readonly plot?: Plot; readonly isFailing: boolean }>({ isFailing: false });
let tries = 0;
/** All charts of a page wait for the same try. */
let loading: Promise<ApiError | undefined> | undefined;

export function usePlots(): { readonly plot?: Plot; readonly isFailing: boolean } {
  useEffect(
    () =>
      repeated(undefined, () => {
        loading ??= load().finally(() => {
          loading = undefined;
        });
        return loading;
      }),
    [],
  );
  return loaded.value;
}

async function load(): Promise<ApiError | undefined> {
  if (loaded.peek().plot) return undefined;
  const { plots = "" } = document.body.dataset;
  try {
    // Browsers remember that an address could not be loaded.
    const address = tries++ === 0 ? plots : `${plots}?try=${tries}`;
    loaded.value = { plot: ((await import(address)) as { readonly default: Plot }).default, isFailing: false };
    return undefined;
  } catch {
    loaded.value = { isFailing: true };
    await reloadIfGone(plots);
    return new ApiError(0, "unreachable", "The charts could not be loaded.");
  }
}

/** A release has changed the name of the file: the page is of the one before (web/recover). */
async function reloadIfGone(address: string): Promise<void> {
  const response = await fetch(address, { method: "HEAD", cache: "no-store" }).catch(() => undefined);
  if (response?.status === 404) dispatchEvent(new Event("parley-outdated"));
}
