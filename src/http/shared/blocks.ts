/** Blocks as operators see them: until when, and who has blocked the peer. */
import { z } from "zod";
import type { Blocks } from "../../access/admission/blocks.ts";
import type { AppId } from "../../base/ids.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import type { AuditRow, AuditStore } from "../../store/contract/operators.ts";
import { PEER_BLOCKED } from "./disconnecting.ts";
import { toSeconds, unixSeconds } from "./schemas.ts";

/** The newest entries of the audit among which those of blocks are looked for: a page of blocks must not read all of it. */
const AUDIT_READ_MAX = 500;

export const block = lazily(() =>
  z.object({
    until: unixSeconds(),
    by: z
      .string()
      .describe(
        `Who blocked it, as in the audit log. Absent if that is not among the service's last ${AUDIT_READ_MAX} blocks`,
      )
      .optional(),
  }),
);

export interface BlockReads {
  readonly blocks: Pick<Blocks, "page" | "endOf">;
  readonly auditLog: Pick<AuditStore, "list">;
  readonly nowMs: () => number;
}

interface PageRequest {
  readonly limit: number;
  readonly after?: string | undefined;
  readonly contains?: string | undefined;
}

/** By peer id; one more than `limit` if there are further ones. */
export async function blocksOf(
  { blocks, auditLog, nowMs }: BlockReads,
  app: AppId,
  { limit, ...page }: PageRequest,
): Promise<(Infer<typeof block> & { readonly peerId: string })[]> {
  const rows = blocks.page(app, { ...page, limit: limit + 1 }, nowMs());
  const blockers = rows.length === 0 ? UNKNOWN : await blockersIn(auditLog, app);
  return rows.map(({ peerId, untilMs }) => ({ peerId, ...blockFields(untilMs, blockers.get(peerId)) }));
}

/** The block of one peer; null: it is not blocked. */
export async function blockOf(
  { blocks, auditLog, nowMs }: BlockReads,
  app: AppId,
  peerId: string,
): Promise<Infer<typeof block> | null> {
  const untilMs = blocks.endOf(app, peerId, nowMs());
  if (untilMs === undefined) return null;
  return blockFields(untilMs, (await blockersIn(auditLog, app)).get(peerId));
}

const blockFields = (untilMs: number, who: string | undefined): Infer<typeof block> => ({
  until: toSeconds(untilMs),
  ...(who !== undefined && { by: who }),
});

const UNKNOWN: ReadonlyMap<string, string> = new Map();

/** Who has blocked which peer, as far as the newest entries of the audit say. Blocks are known without the store, and shown without this while it is unavailable. */
async function blockersIn(auditLog: Pick<AuditStore, "list">, app: AppId): Promise<ReadonlyMap<string, string>> {
  const newestFirst = await auditLog
    .list({ what: PEER_BLOCKED, limit: AUDIT_READ_MAX })
    .catch((): readonly AuditRow[] => []);
  const ofApp = newestFirst.filter((row) => row.app === app);
  return new Map(ofApp.toReversed().map(({ on, who }) => [on, who]));
}
