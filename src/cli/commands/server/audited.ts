/** Writes changes by commands on the store to the audit. */
import { AuditTrail } from "../../../access/operators/audit-trail.ts";
import type { Store } from "../../../store/contract/store.ts";

/** As the audit names changes by these commands. */
const COMMAND_LINE = "command line";

/** Returns a note if it cannot be written: the change was made, and the output of the command must not be lost. */
export async function audit(store: Store, what: string, on: string): Promise<string[]> {
  const notes: string[] = [];
  const failed = (error: unknown): void => void notes.push(`The audit log could not be written: ${String(error)}`);
  const trail = new AuditTrail({ store, nowMs: Date.now, retentionMs: Date.now, failed, dropped: () => undefined });
  await trail.record({ who: COMMAND_LINE, what, on });
  return notes;
}
