/** Control plane: the blocked peers of an application, and the end of a block. */
import { z } from "zod";
import { lazily } from "../../../base/lazily.ts";
import { PEER_ID_MAX_CHARS } from "../../../protocol/limits.ts";
import type { Kicks } from "../../../realtime/control/kicks.ts";
import type { Store } from "../../../store/contract/store.ts";
import type { Guards } from "../../guards/realtime.ts";
import { peerIn } from "../../request/path-names.ts";
import { type Endpoint, endpoint } from "../../server/endpoint.ts";
import type { Audit } from "../../shared/audit.ts";
import { type BlockReads, block, blocksOf } from "../../shared/blocks.ts";
import { limit } from "../../shared/schemas.ts";
import type { AppIn } from "../app-in.ts";
import { pageOf } from "../paging.ts";

const PAGE_DEFAULT = 100;
const PAGE_MAX = 1000;

const listed = lazily(() => block().extend({ peerId: z.string() }).meta({ id: "BlockedPeer" }));

interface BlockParts extends BlockReads {
  readonly kicks: Pick<Kicks, "unblock">;
  readonly store: Pick<Store, "removeBlock">;
  readonly appIn: AppIn;
  readonly audit: Audit;
}

export function blockEndpoints({ admin, operator }: Pick<Guards, "admin" | "operator">, parts: BlockParts): Endpoint[] {
  const { blocks, nowMs, kicks, store, appIn, audit } = parts;
  const root = "/api/internal/v1/apps/:app/blocks";
  return [
    endpoint({
      tag: "live",
      guard: operator,
      scope: "app",
      method: "GET",
      path: root,
      summary: "Blocked peers, by id",
      query: () =>
        z.object({
          contains: z
            .string()
            .max(PEER_ID_MAX_CHARS)
            .describe("Only peers with this in their id, in upper or lower case.")
            .optional(),
          limit: limit(PAGE_MAX, PAGE_DEFAULT),
          after: z.string().max(PEER_ID_MAX_CHARS).describe("`next` of the previous page.").optional(),
        }),
      response: () => z.object({ data: z.array(listed()), next: z.string().nullable() }),
      problems: ["not_found"],
      handle: async (call, { query }) => {
        const { id } = await appIn(call);
        const rows = await blocksOf(parts, id, query);
        return pageOf(
          rows,
          query.limit,
          ({ peerId }) => peerId,
          (row) => row,
        );
      },
    }),
    endpoint({
      tag: "live",
      guard: admin,
      scope: "app",
      method: "DELETE",
      path: `${root}/:peerId`,
      summary: "Unblock a peer, on all nodes",
      response: () => z.object({ peerId: z.string(), unblocked: z.boolean().describe("false: it was not blocked") }),
      problems: ["invalid_request", "not_found"],
      handle: async (call, { caller }) => {
        const peerId = peerIn(call);
        const { id } = await appIn(call);
        // Another node may have made it a moment ago: then only the store knows it.
        const isBlocked = blocks.endOf(id, peerId, nowMs()) !== undefined;
        const unblocked = (await store.removeBlock(id, peerId, nowMs())) || isBlocked;
        await kicks.unblock(id, peerId);
        if (unblocked) await audit(call, caller, { what: "peer unblocked", on: peerId, app: id });
        return { peerId, unblocked };
      },
    }),
  ];
}
