/** How fresh the page is: what it follows, how often, and whether that works at the moment. */
import { computed, signal } from "@preact/signals";
import { nowSeconds } from "../api/now.ts";

interface Followed {
  /** Absent: loaded once. */
  readonly everyMs: number | undefined;
  /** Unix seconds: when it was loaded. */
  readonly at?: number;
  readonly isFailing: boolean;
  readonly reload: () => Promise<unknown>;
}

export type Freshness =
  | { readonly state: "followed"; readonly everySec: number }
  | { readonly state: "once"; readonly at: number; readonly reload: () => void }
  | { readonly state: "lost"; readonly at: number | undefined };

/** Bound: one per call that the page makes. */
const followed = signal<ReadonlyMap<object, Followed>>(new Map());

/** undefined: the page shows nothing of the service, or not yet. */
export const freshness = computed<Freshness | undefined>(() => freshnessOf([...followed.value.values()]));

export function freshnessOf(all: readonly Followed[]): Freshness | undefined {
  const oldest = Math.min(...all.flatMap(({ at }) => at ?? []));
  const at = Number.isFinite(oldest) ? oldest : undefined;
  if (all.some(({ isFailing }) => isFailing)) return { state: "lost", at };
  const everyMs = all.flatMap((one) => one.everyMs ?? []);
  // The slowest part: no other is older.
  if (everyMs.length > 0) return { state: "followed", everySec: Math.max(...everyMs) / 1000 };
  if (at === undefined) return undefined;
  return { state: "once", at, reload: () => void Promise.all(all.map(({ reload }) => reload())) };
}

export interface Following {
  loaded(): void;
  /** It is tried again. */
  failed(): void;
  /** For good: there is nothing to follow. */
  refused(): void;
  end(): void;
}

export function follow(everyMs: number | undefined, reload: () => Promise<unknown>): Following {
  const id = {};
  const set = (now: Followed | undefined): void => {
    const next = new Map(followed.peek());
    if (now) next.set(id, now);
    else next.delete(id);
    followed.value = next;
  };
  let isFollowed = true;
  const update = (change: Partial<Followed>): void => {
    const before = followed.peek().get(id) ?? { everyMs, isFailing: false, reload };
    if (isFollowed) set({ ...before, ...change });
  };
  update({});
  return {
    loaded: () => update({ at: nowSeconds.peek(), isFailing: false }),
    failed: () => update({ isFailing: true }),
    refused: () => set(undefined),
    end: () => {
      isFollowed = false;
      set(undefined);
    },
  };
}
