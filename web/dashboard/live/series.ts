/** Series over time, fetched together. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type ApiError, get, query } from "../api/client.ts";
import type { Metric, Range, Series } from "../api/types.ts";
import { asApiError, repeated } from "./live.ts";

/** As often as a new value can be there. */
export const REFRESH_MS: Readonly<Record<Range, number>> = { "15m": 5000, "3h": 30_000, "24h": 60_000 };

/** Parameters of GET /series, beside the range. */
export interface AskedSeries {
  readonly metric: Metric;
  readonly app?: string | undefined;
  readonly key?: string | undefined;
  readonly credentials?: "unknown";
}

interface LiveSeries<Name extends string> {
  /** The range that `data` covers: another one may just be loading. */
  readonly range: Range;
  readonly data: Readonly<Record<Name, Series>> | undefined;
  readonly error: ApiError | undefined;
}

/** What is shown stays until another range has been loaded. */
export function useSeries<Name extends string>(
  asked: Readonly<Record<Name, AskedSeries>>,
  range: Range,
): LiveSeries<Name> {
  const loaded = useSignal<{ readonly range: Range; readonly data?: Readonly<Record<Name, Series>> }>({ range });
  const error = useSignal<ApiError | undefined>(undefined);
  useEffect(
    () =>
      repeated(REFRESH_MS[range], async (signal) => {
        try {
          const found = await Promise.all(
            Object.entries<AskedSeries>(asked).map(
              async ([name, one]) => [name, await get<Series>(`/series${query({ ...one, range })}`, signal)] as const,
            ),
          );
          if (signal.aborted) return undefined;
          loaded.value = { range, data: Object.fromEntries(found) as Record<Name, Series> };
          error.value = undefined;
        } catch (caught) {
          if (!signal.aborted) error.value = asApiError(caught);
        }
        return error.value;
      }),
    [JSON.stringify(asked), range],
  );
  return { range: loaded.value.range, data: loaded.value.data, error: error.value };
}
