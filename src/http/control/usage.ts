/** Control plane: what an application has used in this period and in earlier ones. */
import { z } from "zod";
import type { Operator } from "../../access/operators/operator.ts";
import { type AppId, roomSpaceOf, spaceOf, streamSpaceOf } from "../../base/ids.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import { USAGE_PERIODS } from "../../durable/limits.ts";
import { type HistoryStore, HistoryUnavailable } from "../../history/contract/history.ts";
import { Problem } from "../../protocol/codes.ts";
import { periodOf } from "../../realtime/counting/usage.ts";
import type { AppRow, Store } from "../../store/contract/store.ts";
import type { Call } from "../request/call.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import { wholeNumber } from "../shared/schemas.ts";
import {
  concurrentNow,
  periodUsage,
  plan,
  planOf,
  type UsageSources,
  usageIn,
  usageNow,
} from "../shared/usage-schemas.ts";
import type { AppIn } from "./app-in.ts";

const PERIODS_DEFAULT = 12;

const response = lazily(() =>
  z
    .object({
      appId: z.string(),
      concurrentNow: concurrentNow(),
      plan: plan(),
      data: z.array(periodUsage()).describe("Newest period first; none from before the application was created"),
      history: z
        .object({ streams: z.int().describe("Channels with stored messages"), messages: z.int(), bytes: z.int() })
        .optional()
        .describe("What is stored now, in channels and in rooms; absent while that cannot be read"),
      streams: z
        .object({ count: z.int().describe("Streams that exist"), messages: z.int(), bytes: z.int() })
        .optional()
        .describe("Its streams and what they hold now; absent while that cannot be read"),
    })
    .meta({ id: "UsageOfPeriods" }),
);

interface AdminUsageParts extends UsageSources {
  readonly appIn: AppIn;
  readonly store: Pick<Store, "usageOf">;
  /** A deleted application by its id, while its usage is kept. */
  readonly deletedApp: (id: string) => Promise<AppRow | undefined>;
  readonly history: Pick<HistoryStore, "usage">;
}

export function adminUsageEndpoints(guard: Guard<Operator>, parts: AdminUsageParts): Endpoint[] {
  const { store, history, gather } = parts;
  return [
    endpoint({
      method: "GET",
      path: "/api/internal/v1/apps/:app/usage",
      tag: "usage",
      summary:
        "An application's usage per period, a calendar month in UTC; for a deleted application, by its id, for 400 days",
      guard,
      scope: "app",
      query: () =>
        z.object({
          periods: wholeNumber(1, USAGE_PERIODS)
            .optional()
            .transform((value) => value ?? PERIODS_DEFAULT)
            .describe("How many periods, including the current one"),
        }),
      response,
      problems: ["not_found"],
      handle: async (call, { query }): Promise<Infer<typeof response>> => {
        const app = await usedApp(call, parts);
        await gather(app.id);
        const { concurrentNow: now, ...current } = usageNow(app.id, parts);
        const earlier = await earlierUsage(app, current.periodStartUnix, query.periods - 1, store);
        const stored = await storedNow(app.id, history);
        return {
          appId: app.id,
          concurrentNow: now,
          plan: planOf(app),
          data: [current, ...earlier],
          ...stored,
        };
      },
    }),
  ];
}

/** Also a deleted one, by its id, while its usage is kept: the last months may still have to be billed. */
async function usedApp(call: Call, { appIn, deletedApp }: AdminUsageParts): Promise<AppRow> {
  try {
    return await appIn(call);
  } catch (error) {
    const isMissing = error instanceof Problem && error.code === "not_found";
    const deleted = isMissing ? await deletedApp(call.params.app ?? "") : undefined;
    if (!deleted) throw error;
    return deleted;
  }
}

/** Rooms have their history within the limit of the channels. While history cannot be read, the rest is still shown. */
async function storedNow(
  app: AppId,
  history: Pick<HistoryStore, "usage">,
): Promise<Pick<Infer<typeof response>, "history" | "streams"> | undefined> {
  try {
    const [own, rooms] = [await history.usage(spaceOf(app)), await history.usage(roomSpaceOf(app))];
    const streams = await history.usage(streamSpaceOf(app));
    return {
      history: {
        streams: own.filled + rooms.filled,
        messages: own.messages + rooms.messages,
        bytes: own.bytes + rooms.bytes,
      },
      streams: { count: streams.streams, messages: streams.messages, bytes: streams.bytes },
    };
  } catch (error) {
    if (error instanceof HistoryUnavailable) return undefined;
    throw error;
  }
}

/** A period in which nothing was counted has no row. */
async function earlierUsage(
  app: AppRow,
  currentStart: number,
  count: number,
  store: Pick<Store, "usageOf">,
): Promise<Infer<typeof periodUsage>[]> {
  const periods = [];
  for (let start = currentStart; periods.length < count; ) {
    // The period of the millisecond before this one began.
    const period = periodOf(start * 1000 - 1);
    if (period.endSeconds * 1000 <= app.created) break;
    periods.push(period);
    start = period.startSeconds;
  }
  const oldest = periods.at(-1);
  if (!oldest) return [];
  const rows = new Map((await store.usageOf(app.id, oldest.startSeconds)).map((row) => [row.period, row]));
  return periods.map((period) => {
    const { messages = 0, peakConnections = 0 } = rows.get(period.startSeconds) ?? {};
    return usageIn(period, messages, peakConnections);
  });
}
