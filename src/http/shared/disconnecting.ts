/** Closing all connections of a peer, and blocking it for a while, for backends and for operators. */
import { z } from "zod";
import type { Blocks } from "../../access/admission/blocks.ts";
import { BLOCK_MAX_SECONDS, BLOCKS_PER_APP_MAX } from "../../access/limits.ts";
import type { AppId } from "../../base/ids.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import { Problem } from "../../protocol/codes.ts";
import type { Kicks } from "../../realtime/control/kicks.ts";
import type { Store } from "../../store/contract/store.ts";
import { wholeNumber } from "./schemas.ts";

export const disconnectQuery = lazily(() =>
  z.object({
    blockSec: wholeNumber(0, BLOCK_MAX_SECONDS)
      .describe("How many seconds its connects are refused. Absent: 0.")
      .optional(),
  }),
);

export const disconnected = lazily(() => z.object({ peerId: z.string(), closed: z.int() }));

/** What the audit calls it. */
export const PEER_BLOCKED = "peer blocked";

export interface DisconnectParts {
  readonly kicks: Pick<Kicks, "kick">;
  readonly store: Store;
  readonly blocks: Blocks;
  readonly nowMs: () => number;
}

export async function disconnectPeer(
  { kicks, store, blocks, nowMs }: DisconnectParts,
  app: AppId,
  peerId: string,
  blockSec: number | undefined,
): Promise<Infer<typeof disconnected>> {
  if (!blockSec) return { peerId, closed: await kicks.kick(app, peerId) };
  const untilMs = nowMs() + blockSec * 1000;
  if (!blocks.hasRoomFor(app, peerId, nowMs()))
    throw new Problem("conflict", `An application has at most ${BLOCKS_PER_APP_MAX} blocked peers at a time.`);
  await store.putBlock({ app, peerId, untilMs }, nowMs());
  return { peerId, closed: await kicks.kick(app, peerId, untilMs) };
}
