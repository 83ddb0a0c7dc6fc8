/** Quotas of plans that are used up: reported once per application, kind and period of usage. */
import type { AppId } from "../../base/ids.ts";

export type QuotaKind = "messages" | "connections";

/** Rejects if it could not be reported; then it is reported again with the next refusal. `period`: Unix seconds of its beginning. */
export type QuotaListener = (app: AppId, kind: QuotaKind, limit: number, period: number) => Promise<void>;

export class ReachedQuotas {
  /** `undefined` while no one wants to know. */
  listener: QuotaListener | undefined;
  /** By kind, then by application: the last period that was reported. Bound: applications. */
  private readonly reported = { messages: new Map<AppId, number>(), connections: new Map<AppId, number>() };

  constructor(private readonly period: () => number) {}

  /** Something was refused because of the quota: this may happen with every message. */
  refused(app: AppId, kind: QuotaKind, limit: number): void {
    const { listener } = this;
    if (!listener) return;
    const reported = this.reported[kind];
    const period = this.period();
    if (reported.get(app) === period) return;
    reported.set(app, period);
    listener(app, kind, limit, period).catch(() => reported.delete(app));
  }
}
