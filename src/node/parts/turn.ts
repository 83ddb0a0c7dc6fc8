/** Builds what makes TURN credentials: for joins, welcomes and the calls of the application API. */
import type { Vault } from "../../access/keys/vault.ts";
import type { Config } from "../../config/settings.ts";
import { TurnKeys } from "../../meetings/turn/keys.ts";
import { Turn } from "../../meetings/turn/turn.ts";

export interface TurnService {
  readonly turn: Turn;
  readonly turnKeys: TurnKeys;
}

export const buildTurn = ({ turnUrls: urls, turnSecret: secrets }: Config, vault: Vault): TurnService => ({
  turn: new Turn({ urls, secrets }),
  turnKeys: new TurnKeys(vault),
});
