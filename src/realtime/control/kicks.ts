/** Closes the connections of one peer, and refuses new ones while the peer is blocked; or admits it again. */
import { type Blocks, UNBLOCKED_MS } from "../../access/admission/blocks.ts";
import { type AppId, type SpaceId, spaceOf } from "../../base/ids.ts";
import type { Engine } from "../../engine/engine.ts";
import { type Closing, KICKED } from "../../protocol/close.ts";
import type { Connections } from "../connections/connections.ts";
import type { Spaces } from "../state/spaces.ts";
import type { ExpectedBack } from "./expected-back.ts";

interface KicksParts {
  readonly spaces: Spaces;
  readonly connections: Connections;
  readonly expectedBack: Pick<ExpectedBack, "endPeer">;
  readonly engine: Engine;
  readonly blocks: Blocks;
}

export class Kicks {
  constructor(private readonly parts: KicksParts) {}

  /** Kicks on every node; returns how many connections there were. */
  async kick(app: AppId, peerId: string, blockedUntilMs?: number): Promise<number> {
    const { blocks, engine } = this.parts;
    if (blockedUntilMs !== undefined) {
      // In force on every node before the connections close: otherwise the peer could reconnect in between.
      blocks.add({ app, peerId, untilMs: blockedUntilMs });
      await engine.block(app, peerId, blockedUntilMs);
    }
    const space = spaceOf(app);
    return this.kickHere(space, peerId) + (await engine.kick(space, peerId));
  }

  /** Admits a blocked peer again on every node: those that do not hear it read it from the store. */
  async unblock(app: AppId, peerId: string): Promise<void> {
    this.parts.blocks.remove(app, peerId);
    await this.parts.engine.block(app, peerId, UNBLOCKED_MS);
  }

  /** Kicks on this node; returns how many connections there were. */
  kickHere(spaceId: SpaceId, peerId: string, closing: Closing = KICKED): number {
    const { spaces, connections, expectedBack } = this.parts;
    const toClose = [...(spaces.peer(spaceId, peerId)?.connections ?? [])];
    for (const connection of toClose) connections.close(connection, closing);
    expectedBack.endPeer(spaceId, peerId);
    return toClose.length;
  }
}
