/** Records changes by operators: who, what, on what, from where; never a secret. */
import type { Operator } from "../access/operator.ts";
import type { Log } from "../telemetry/log.ts";
import type { Call } from "./call.ts";

export interface AuditedChange {
  /** In the past tense: `key created`. */
  readonly what: string;
  /** The id or name of what was changed, without the application's: `pk_live_…`, `standup`. */
  readonly on: string;
  /** The id of the application, if the change is about one. */
  readonly app?: string;
  /** The fields that were changed, and nothing secret. */
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
}

/** Called after the change was made. Resolves when it is recorded. */
export type Audit = (call: Call, operator: Operator, change: AuditedChange) => Promise<void>;

export const makeAudit =
  (log: Log): Audit =>
  async (call, operator, { what, on, app }) =>
    log.info(
      {
        audit: what,
        on,
        ...(app !== undefined && { app }),
        operator: operator.name,
        requestId: call.requestId,
        from: call.client.join(call.client.length === 4 ? "." : ":"),
      },
      what,
    );
