/**
 * Stays end with the generation of the application's secret key that they began under (meetings.md 6), as tokens do: a secret that has leaked may have signed
 * what made an admin. Every node looks after the people on it, so it is enough that each of them knows of the rotation.
 */
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { refOf } from "../notices/notices.ts";
import type { Exits } from "./exits.ts";
import type { Present } from "./present.ts";

/** Whether the generation that a token of a room names still works. Synchronous: it is asked before each act. */
export type IsLive = (claims: Pick<RoomClaims, "app" | "gen">) => boolean;

interface GenerationParts {
  readonly present: Present;
  readonly exits: Pick<Exits, "endStaysOf">;
  readonly isLive: IsLive;
  readonly failed: (error: unknown) => void;
}

export class Generations {
  constructor(private readonly parts: GenerationParts) {}

  /** Every second: after a rotation without a grace period, and when a grace period ends. */
  async tick(): Promise<void> {
    const { present, exits, isLive, failed } = this.parts;
    // All rooms at once: none of them waits for the nodes that are asked about another one.
    const ending = [...present.all()].map(async ({ row, stays }) => {
      const over = [...stays.values()].filter(({ seat }) => !isLive(seat.claims)).map(({ seat }) => seat.claims.id);
      if (over.length > 0) await exits.endStaysOf(refOf(row), over).catch(failed);
    });
    await Promise.all(ending);
  }
}
