/** Data that pages show: loaded, kept fresh while the page is visible, and kept on screen when a refresh fails. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ApiError, get } from "../api/client.ts";
import type { Storage } from "../api/room-types.ts";
import type { List } from "../api/types.ts";
import { follow } from "./freshness.ts";
import { refreshed } from "./sorted-rows.ts";
import { reloaded } from "./whole-list.ts";

export interface Live<T> {
  readonly data: T | undefined;
  /** The last refresh failed; `data` is what was known before. */
  readonly error: ApiError | undefined;
  readonly reload: () => Promise<void>;
}

interface Options {
  /** How often to load it anew; absent: only until it is there. */
  readonly everyMs?: number;
}

/** How soon a list shows what was changed elsewhere: by another operator, the command line, a backend. */
export const CHANGES_EVERY_MS = 5000;
/** How soon something that could not be loaded is tried again. */
const RETRY_MS = 3000;

export const asApiError = (error: unknown): ApiError =>
  error instanceof ApiError ? error : new ApiError(0, "internal_error", String(error));

/** Loads `path` of the control plane; undefined loads nothing. Another path starts afresh. */
export function useLive<T>(path: string | undefined, { everyMs }: Options = {}): Live<T> {
  const data = useSignal<T | undefined>(undefined);
  const error = useSignal<ApiError | undefined>(undefined);
  const reload = async (signal?: AbortSignal): Promise<ApiError | undefined> => {
    if (path === undefined) return undefined;
    try {
      const found = await get<T>(path, signal);
      if (signal?.aborted) return undefined;
      data.value = found;
      error.value = undefined;
    } catch (caught) {
      if (!signal?.aborted) error.value = asApiError(caught);
    }
    return error.value;
  };
  useEffect(() => {
    data.value = undefined;
    error.value = undefined;
    return path === undefined ? undefined : repeatedOnPage(everyMs, reload);
  }, [path, everyMs]);
  return { data: data.value, error: error.value, reload: async () => void (await reload()) };
}

/** What `repeated` waits for, so that a button can end the wait. Bound: one per call that the page makes. */
const waiting = new Set<() => void>();

/** Everything that the page waits to load again is loaded now. */
export function retryNow(): void {
  for (const one of [...waiting]) one();
}

/**
 * Runs now and then again and again, but never twice at once, and not while the page is hidden. Without `everyMs` it runs until it has
 * succeeded, or was refused for good: `run` returns why it has failed. Returns how to stop it.
 */
export function repeated(
  everyMs: number | undefined,
  run: (signal: AbortSignal) => Promise<ApiError | undefined>,
): () => void {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const next = async (): Promise<void> => {
    clearTimeout(timer);
    waiting.delete(next);
    const isHidden = document.hidden;
    const error = isHidden ? undefined : await run(controller.signal);
    const isRunAgain = everyMs !== undefined || isHidden || (error && isPassing(error));
    if (controller.signal.aborted || !isRunAgain) return;
    waiting.add(next);
    timer = setTimeout(next, error ? Math.min(everyMs ?? RETRY_MS, RETRY_MS) : (everyMs ?? RETRY_MS));
  };
  const shown = (): void => {
    if (!document.hidden && waiting.has(next)) void next();
  };
  document.addEventListener("visibilitychange", shown);
  addEventListener("online", shown);
  void next();
  return () => {
    controller.abort();
    clearTimeout(timer);
    waiting.delete(next);
    document.removeEventListener("visibilitychange", shown);
    removeEventListener("online", shown);
  };
}

/** As `repeated`, and the page says how fresh it is. */
function repeatedOnPage(
  everyMs: number | undefined,
  run: (signal?: AbortSignal) => Promise<ApiError | undefined>,
): () => void {
  const noted = async (signal?: AbortSignal): Promise<ApiError | undefined> => {
    const error = await run(signal);
    if (!error) following.loaded();
    else if (isPassing(error)) following.failed();
    else following.refused();
    return error;
  };
  const following = follow(everyMs, () => noted());
  const stop = repeated(everyMs, noted);
  return () => {
    stop();
    following.end();
  };
}

export interface LiveList<T> extends Live<readonly T[]> {
  /** Says which rows are in view: of a list with keys only these are loaded anew. */
  readonly look: (from: number, to: number) => void;
  readonly hasMore: boolean;
  readonly loadMore: () => Promise<void>;
  /** The list to its end, or as far as `max` rows. */
  readonly all: (max: number) => Promise<WholeList<T>>;
  /** false: a node has not responded, and its part of the list is missing. */
  readonly isComplete: boolean;
  /** How many there are in all, where the call says it. */
  readonly total: number | undefined;
  /** What all recordings of the application take. */
  readonly storage: Storage | undefined;
}

export interface WholeList<T> {
  readonly rows: readonly T[];
  /** There are more. */
  readonly isCut: boolean;
}

const PAGE = 100;
/** The most rows that most calls answer at once. */
const ANSWERED_MAX = 1000;

interface ListOptions<T, A> extends Options {
  /** Where the rows are in an answer that is no plain list. */
  readonly rowsOf?: (answer: A) => readonly T[];
  /** The most rows that the call answers at once. */
  readonly limitMax?: number;
  /** What the list is sorted by, and `after` takes: only the rows in view are loaded anew. */
  readonly keyOf?: ((row: T) => string) | undefined;
  /** What `after` takes in a list that has the service's own order. With neither, more than `limitMax` rows are not loaded anew. */
  readonly idOf?: (row: T) => string;
}

/** A list in pages. `path` has its filters already; this adds `limit` and `after`. */
export function useList<T, A extends Omit<List<T>, "data"> = List<T>>(
  path: string | undefined,
  {
    everyMs,
    rowsOf = (answer) => (answer as unknown as List<T>).data,
    limitMax = ANSWERED_MAX,
    keyOf,
    idOf,
  }: ListOptions<T, A> = {},
): LiveList<T> {
  const rows = useSignal<readonly T[] | undefined>(undefined);
  const next = useSignal<string | null>(null);
  const isComplete = useSignal(true);
  const total = useSignal<number | undefined>(undefined);
  const storage = useSignal<Storage | undefined>(undefined);
  const error = useSignal<ApiError | undefined>(undefined);
  const isLoading = useSignal(false);
  const view = useRef({ from: 0, to: 0 });
  const page = (limit: number, after?: string, signal?: AbortSignal): Promise<A> => {
    const more = new URLSearchParams({ limit: String(limit), ...(after !== undefined && { after }) });
    return get(`${path}${path?.includes("?") ? "&" : "?"}${more}`, signal);
  };
  const attempt = async (work: () => Promise<void>, signal?: AbortSignal): Promise<ApiError | undefined> => {
    try {
      await work();
      if (!signal?.aborted) error.value = undefined;
    } catch (caught) {
      if (!signal?.aborted) error.value = asApiError(caught);
    }
    return error.value;
  };
  const note = (found: A): void => {
    isComplete.value = found.isComplete ?? true;
    total.value = found.total;
    storage.value = found.storage;
  };
  const reloadWhole = async (ids: (row: T) => string, signal?: AbortSignal): Promise<void> => {
    let first: A | undefined;
    const shown = { rows: rows.value ?? [], next: rows.value ? next.value : "" };
    const fresh = await reloaded({
      shown,
      idOf: ids,
      page: PAGE,
      limitMax,
      load: async (limit, after) => {
        const found = await page(limit, after, signal);
        first ??= found;
        return { rows: rowsOf(found), next: found.next };
      },
    });
    // A page that was added meanwhile is not in it.
    if (signal?.aborted || !first || (rows.value ?? shown.rows) !== shown.rows) return;
    rows.value = fresh.rows;
    next.value = fresh.next;
    note(first);
  };
  const reload = (signal?: AbortSignal): Promise<ApiError | undefined> =>
    attempt(async () => {
      const shown = rows.value ?? [];
      if (path === undefined) return;
      if (idOf) return reloadWhole(idOf, signal);
      if (!keyOf && shown.length > limitMax) return;
      const { from, to } = keyOf ? view.current : { from: 0, to: shown.length };
      const edge = shown[Math.min(from, shown.length) - 1];
      const after = edge && keyOf?.(edge);
      const found = await page(Math.min(Math.max(PAGE, to - from), limitMax), after, signal);
      if (signal?.aborted) return;
      const fresh = rowsOf(found);
      const isLast = found.next === null;
      const all = keyOf ? refreshed({ rows: rows.value ?? [], page: fresh, after, isLast, keyOf }) : fresh;
      // Unless the list goes on behind this page, as it was loaded before.
      if (isLast || all.at(-1) === fresh.at(-1)) next.value = found.next;
      rows.value = all;
      note(found);
    }, signal);
  const loadMore = async (): Promise<void> => {
    const after = next.value;
    if (after === null || isLoading.value) return;
    isLoading.value = true;
    await attempt(async () => {
      const found = await page(PAGE, after);
      // A refresh may have come in between: then this page no longer follows what is shown.
      if (next.value !== after) return;
      rows.value = [...(rows.value ?? []), ...rowsOf(found)];
      next.value = found.next;
    });
    isLoading.value = false;
  };
  useEffect(() => {
    rows.value = undefined;
    next.value = null;
    error.value = undefined;
    return path === undefined ? undefined : repeatedOnPage(everyMs, reload);
  }, [path, everyMs]);
  const all = async (max: number): Promise<WholeList<T>> => {
    const found: T[] = [];
    let after: string | undefined;
    do {
      const answer = await page(Math.min(limitMax, max), after);
      found.push(...rowsOf(answer));
      after = answer.next ?? undefined;
    } while (after !== undefined && found.length < max);
    return { rows: found.slice(0, max), isCut: after !== undefined || found.length > max };
  };
  return {
    data: rows.value,
    all,
    look: (from, to) => {
      view.current = { from, to };
    },
    error: error.value,
    reload: async () => void (await reload()),
    hasMore: next.value !== null,
    loadMore,
    isComplete: isComplete.value,
    total: total.value,
    storage: storage.value,
  };
}

/** It may pass by itself: the service did not respond, or could not. */
export const isPassing = ({ status }: ApiError): boolean => status === 0 || status === 429 || status >= 500;

/** There is something to show, or a refusal that no second try changes, such as that of a filter. */
export const isSettled = (data: unknown, error: ApiError | undefined): boolean =>
  data !== undefined || (error !== undefined && !isPassing(error));

/** The value as it was when it last stayed the same for `delayMs`: searches while one types. */
export function useDelayed(value: { readonly value: string }, delayMs = 200): string {
  const delayed = useSignal(value.value);
  const current = value.value;
  useEffect(() => {
    const timer = setTimeout(() => {
      delayed.value = current;
    }, delayMs);
    return () => clearTimeout(timer);
  }, [current, delayMs]);
  return delayed.value;
}

/** The last value that was not undefined: a list stays on the page while the one for another search loads. */
export function useKept<T>(value: T | undefined): T | undefined {
  const kept = useRef(value);
  if (value !== undefined) kept.current = value;
  return kept.current;
}
