/** Shapes of usage, and how it is read: for an application's backend and for operators. */
import { z } from "zod";
import type { AppId } from "../../base/ids.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import type { Period, Usage } from "../../realtime/counting/usage.ts";
import type { Occupancy } from "../../realtime/presence/occupancy.ts";
import type { AppRow } from "../../store/contract/store.ts";
import { unixSeconds } from "./schemas.ts";

const cap = lazily(() => z.int().nullable());

/** What was used in one period. */
export const periodUsage = lazily(() =>
  z.object({
    periodStartUnix: unixSeconds(),
    periodEndUnix: unixSeconds(),
    peakConcurrent: z.int(),
    messagesUsed: z.int(),
    overageMessages: z.literal(0),
    overageConnections: z.literal(0),
  }),
);

export const concurrentNow = lazily(() => z.int());

export const plan = lazily(() =>
  z.object({
    name: z.string(),
    maxConcurrentConnections: cap(),
    maxMessagesPerPeriod: cap(),
    overagesAllowed: z.literal(false),
    overagesEnabled: z.literal(false),
  }),
);

export const planOf = (app: AppRow): Infer<typeof plan> => ({
  name: app.planName,
  maxConcurrentConnections: app.maxConcurrentConnections,
  maxMessagesPerPeriod: app.maxMessagesPerPeriod,
  overagesAllowed: false,
  overagesEnabled: false,
});

export const usageIn = (
  { startSeconds, endSeconds }: Period,
  messagesUsed: number,
  peakConcurrent: number,
): Infer<typeof periodUsage> => ({
  periodStartUnix: startSeconds,
  periodEndUnix: endSeconds,
  peakConcurrent,
  messagesUsed,
  overageMessages: 0,
  overageConnections: 0,
});

export interface UsageSources {
  readonly occupancy: Pick<Occupancy, "connectionsOf">;
  readonly usage: Pick<Usage, "current" | "of" | "recordConnections">;
  /** Adds up what other nodes have counted but not stored yet. To be awaited before `usageNow`. */
  readonly gather: (app: AppId) => Promise<void>;
}

/** Usage of the current period, and the connections at this moment. */
export function usageNow(
  app: AppId,
  { occupancy, usage }: Pick<UsageSources, "occupancy" | "usage">,
): Infer<typeof periodUsage> & { readonly concurrentNow: number } {
  const period = usage.current();
  const now = occupancy.connectionsOf(app);
  usage.recordConnections(app, now);
  const { messages, peak } = usage.of(app);
  return { ...usageIn(period, messages, peak), concurrentNow: now };
}
