/** Data that pages show: loaded, kept fresh while the page is visible, and kept on screen when a refresh fails. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ApiError, get } from "../api/client.ts";
import type { Storage } from "../api/room-types.ts";
import type { List } from "../api/types.ts";
import { refreshed } from "./sorted-rows.ts";

export interface Live<T> {
  readonly data: T | undefined;
  /** The last refresh failed; `data` is what was known before. */
  readonly error: ApiError | undefined;
  readonly reload: () => Promise<void>;
}

interface Options {
  /** How often to load it anew; absent: only once. */
  readonly everyMs?: number;
}

export const asApiError = (error: unknown): ApiError =>
  error instanceof ApiError ? error : new ApiError(0, "internal_error", String(error));

/** Loads `path` of the control plane; undefined loads nothing. Another path starts afresh. */
export function useLive<T>(path: string | undefined, { everyMs }: Options = {}): Live<T> {
  const data = useSignal<T | undefined>(undefined);
  const error = useSignal<ApiError | undefined>(undefined);
  const reload = async (signal?: AbortSignal): Promise<void> => {
    if (path === undefined) return;
    try {
      const found = await get<T>(path, signal);
      if (signal?.aborted) return;
      data.value = found;
      error.value = undefined;
    } catch (caught) {
      if (!signal?.aborted) error.value = asApiError(caught);
    }
  };
  useEffect(() => {
    data.value = undefined;
    error.value = undefined;
    return repeated(everyMs, reload);
  }, [path, everyMs]);
  return { data: data.value, error: error.value, reload: () => reload() };
}

/** Runs now and then again and again, but never twice at once, and not while the page is hidden. Returns how to stop it. */
export function repeated(everyMs: number | undefined, run: (signal: AbortSignal) => Promise<void>): () => void {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const next = async (): Promise<void> => {
    if (!document.hidden) await run(controller.signal);
    if (everyMs !== undefined && !controller.signal.aborted) timer = setTimeout(next, everyMs);
  };
  const shown = (): void => {
    if (document.hidden || everyMs === undefined) return;
    clearTimeout(timer);
    void next();
  };
  document.addEventListener("visibilitychange", shown);
  void next();
  return () => {
    controller.abort();
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", shown);
  };
}

export interface LiveList<T> extends Live<readonly T[]> {
  /** Says which rows are in view: of a list with keys only these are loaded anew. */
  readonly look: (from: number, to: number) => void;
  readonly hasMore: boolean;
  readonly loadMore: () => Promise<void>;
  /** false: a node has not responded, and its part of the list is missing. */
  readonly isComplete: boolean;
  /** How many there are in all, where the call says it. */
  readonly total: number | undefined;
  /** What all recordings of the application take. */
  readonly storage: Storage | undefined;
}

const PAGE = 100;
/** The most rows that most calls answer at once. */
const ANSWERED_MAX = 1000;

interface ListOptions<T, A> extends Options {
  /** Where the rows are in an answer that is no plain list. */
  readonly rowsOf?: (answer: A) => readonly T[];
  /** The most rows that the call answers at once. */
  readonly limitMax?: number;
  /** What the list is sorted by, and `after` takes. Without it, a list of more than `limitMax` rows is not loaded anew. */
  readonly keyOf?: ((row: T) => string) | undefined;
}

/** A list in pages. `path` has its filters already; this adds `limit` and `after`. */
export function useList<T, A extends Omit<List<T>, "data"> = List<T>>(
  path: string | undefined,
  {
    everyMs,
    rowsOf = (answer) => (answer as unknown as List<T>).data,
    limitMax = ANSWERED_MAX,
    keyOf,
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
  const attempt = async (work: () => Promise<void>, signal?: AbortSignal): Promise<void> => {
    try {
      await work();
      error.value = undefined;
    } catch (caught) {
      if (!signal?.aborted) error.value = asApiError(caught);
    }
  };
  const reload = (signal?: AbortSignal): Promise<void> =>
    attempt(async () => {
      const shown = rows.value ?? [];
      if (path === undefined || (!keyOf && shown.length > limitMax)) return;
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
      isComplete.value = found.isComplete ?? true;
      total.value = found.total;
      storage.value = found.storage;
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
    return repeated(everyMs, reload);
  }, [path, everyMs]);
  return {
    data: rows.value,
    look: (from, to) => {
      view.current = { from, to };
    },
    error: error.value,
    reload: () => reload(),
    hasMore: next.value !== null,
    loadMore,
    isComplete: isComplete.value,
    total: total.value,
    storage: storage.value,
  };
}

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
