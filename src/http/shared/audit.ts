/** Records changes: who, what, on what, from where; never a secret. Each is in the log and in the store (audit-trail.ts). */
import type { AuditTrail } from "../../access/operators/audit-trail.ts";
import type { Operator } from "../../access/operators/operator.ts";
import { formatAddress } from "../../base/address.ts";
import type { AppId } from "../../base/ids.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Call } from "../request/call.ts";

export interface AuditedChange {
  /** In the past tense: `key created`. */
  readonly what: string;
  /** The id or name of what was changed, without the application's: `pk_live_…`, `standup`. */
  readonly on: string;
  /** The id of the application, if the change is about one. */
  readonly app?: AppId;
  /** The fields that were changed, and nothing secret. */
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
}

/** Called after the change was made. Resolves when it is recorded. */
export type Audit = (call: Call, operator: Operator, change: AuditedChange) => Promise<void>;

export const makeAudit =
  (log: Log, trail: Pick<AuditTrail, "record">): Audit =>
  (call, operator, change) => {
    const { what, on, app } = change;
    const address = formatAddress(call.client);
    log.info(
      {
        audit: what,
        on,
        ...(app !== undefined && { app }),
        operator: operator.name,
        requestId: call.requestId,
        from: address,
      },
      what,
    );
    return trail.record({ ...change, who: operator.name, address });
  };

/** A change that an application made with one of its secret keys. `who` is the key's id, or `application secret`. */
export type AppAudit = (call: Call, who: string, change: AuditedChange & { readonly app: AppId }) => void;

/** For calls of the application API, whose credential is the one secret key of the application. */
export const APPLICATION_SECRET = "application secret";

export const makeAppAudit =
  (trail: Pick<AuditTrail, "recordByApp">): AppAudit =>
  (call, who, change) =>
    trail.recordByApp({ ...change, who, address: formatAddress(call.client) });

/** The fields that an edit has changed, before and after it. */
export function changedFields(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Required<Pick<AuditedChange, "before" | "after">> {
  const names = Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  const of = (whole: Readonly<Record<string, unknown>>): Record<string, unknown> =>
    Object.fromEntries(names.map((name) => [name, whole[name] ?? null]));
  return { before: of(before), after: of(after) };
}
