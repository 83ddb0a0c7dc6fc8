/** A guest of a room needs capacity twice: in the share of the guests, and under the cap of the application. */
import { guestShareOf } from "../../access/tokens/guests.ts";
import { type AppId, guestsOf } from "../../base/ids.ts";
import type { Claim, Engine } from "../../engine/engine.ts";

type Claimed = Claim | undefined | Promise<Claim | undefined>;

/** undefined: there is none. The share first: a guest that is over it must not hold capacity of the application, not even while nodes are asked. */
export function claimForGuest(engine: Pick<Engine, "claim">, app: AppId, cap: number): Claimed {
  const inShare = engine.claim(guestsOf(app), guestShareOf(cap));
  if (inShare instanceof Promise) return inShare.then((claim) => claim && underCap(engine, app, cap, claim));
  return inShare && underCap(engine, app, cap, inShare);
}

function underCap(engine: Pick<Engine, "claim">, app: AppId, cap: number, inShare: Claim): Claimed {
  const claim = engine.claim(app, cap);
  return claim instanceof Promise ? claim.then((decided) => both(inShare, decided)) : both(inShare, claim);
}

function both(inShare: Claim, claim: Claim | undefined): Claim | undefined {
  if (!claim) {
    inShare.end();
    return undefined;
  }
  const end = (): void => {
    inShare.end();
    claim.end();
  };
  return { end };
}
