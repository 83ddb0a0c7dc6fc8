/** Logs changes by the operator: one line per change, with the request's id and the caller's address, never a secret. */
import type { Log } from "../telemetry/log.ts";
import type { Call } from "./call.ts";

export type Audit = (call: Call, what: string, fields: Readonly<Record<string, string>>) => void;

export const makeAudit =
  (log: Log): Audit =>
  (call, what, fields) =>
    log.info(
      {
        audit: what,
        ...fields,
        requestId: call.requestId,
        from: call.client.join(call.client.length === 4 ? "." : ":"),
      },
      what,
    );
