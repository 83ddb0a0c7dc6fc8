/** Series over time, fetched together. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type ApiError, get, query } from "../api/client.ts";
import type { Metric, Range, Series } from "../api/types.ts";
import { asApiError, repeated } from "./live.ts";

/** As often as a new value can be there. */
const REFRESH_MS: Readonly<Record<Range, number>> = { "15m": 5000, "3h": 30_000, "24h": 60_000 };

export type AllSeries = Readonly<Record<Metric, Series>>;

interface LiveSeries {
  /** The range that `data` covers: another one may just be loading. */
  readonly range: Range;
  readonly data: AllSeries | undefined;
  readonly error: ApiError | undefined;
}

const METRICS = [
  "connections",
  "connects",
  "refusals",
  "messages",
  "deliveries",
  "bytesOut",
  "p50Ms",
  "p99Ms",
  "errors",
] as const satisfies readonly Metric[];

/** All metrics of an application or of the service. What is shown stays until another range has been loaded. */
export function useSeries(app: string | undefined, range: Range): LiveSeries {
  const loaded = useSignal<{ readonly range: Range; readonly data?: AllSeries }>({ range });
  const error = useSignal<ApiError | undefined>(undefined);
  useEffect(
    () =>
      repeated(REFRESH_MS[range], async (signal) => {
        try {
          const found = await Promise.all(
            METRICS.map(
              async (metric) => [metric, await get<Series>(`/series${query({ metric, app, range })}`, signal)] as const,
            ),
          );
          if (signal.aborted) return undefined;
          loaded.value = { range, data: Object.fromEntries(found) as AllSeries };
          error.value = undefined;
        } catch (caught) {
          if (!signal.aborted) error.value = asApiError(caught);
        }
        return error.value;
      }),
    [app, range],
  );
  return { range: loaded.value.range, data: loaded.value.data, error: error.value };
}
